"""What is run for one arm: a script as it is, or its function ``npuport_agent``; and with which arguments a seed runs.

``{seed}`` and ``{steps}`` in the script's arguments stand for what differs between runs. Options that the script has
under other names are named by the user; a script that takes no seed is seeded from outside.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from npuport.device.choice import Device
from npuport.sources.errors import UnreadableSource, UsageError
from npuport.sources.reading import read_source
from npuport.sources.text import read_bytes

SEED, STEPS = "{seed}", "{steps}"
# The function that a script may define for what cannot run as a script: npuport_agent(env_id, seed, steps, device).
FUNCTION = "npuport_agent"
RUNNER = "npuport.validate.inside.agent_function"
# Names that a device has for torch, by the kind of device.
TORCH_DEVICES = {"npu": "npu:0", "emulated": "npu:0", "cpu": "cpu"}


@dataclass(frozen=True)
class OptionNames:
    """The script's own names of options that validate fills in; empty where it has none.

    Attributes:
        seed, steps, environment: as typed, for example ``--total-timesteps``.
    """

    seed: str = ""
    steps: str = ""
    environment: str = ""


@dataclass(frozen=True)
class Program:
    """One arm's program.

    Attributes:
        script: path of the script, or a module's name where `module`.
        arguments: the script's own, with ``{seed}`` and ``{steps}`` in them.
        names: options that are appended.
        environment: the environment's id for ``names.environment`` and for ``npuport_agent``; empty for the script's.
        function: the script is not run: its ``npuport_agent`` is called.
    """

    script: str
    arguments: tuple[str, ...]
    device: Device
    module: bool = False
    names: OptionNames = OptionNames()
    environment: str = ""
    function: bool = False

    @property
    def takes_seed(self) -> bool:
        """Whether the script itself gets the seed; it is seeded from outside otherwise."""
        return self.function or bool(self.names.seed) or any(SEED in argument for argument in self.arguments)

    @property
    def takes_steps(self) -> bool:
        """Whether the script itself is told how long to run; it is ended from outside otherwise."""
        return self.function or bool(self.names.steps) or any(STEPS in argument for argument in self.arguments)

    def command(self, seed: int, steps: int | None) -> tuple[str, bool, tuple[str, ...]]:
        """Script or module, whether it is a module, and its arguments for one run.

        Raises:
            UsageError: the arguments hold ``{steps}`` and no steps are given.
        """
        if steps is None and self.takes_steps:
            raise UsageError(f"{self.script}: it is to be told how many steps to run: give --steps")
        if self.function:
            device = TORCH_DEVICES[self.device.kind]
            return RUNNER, True, (self.script, self.environment, str(seed), str(steps), device)
        arguments = [argument.replace(SEED, str(seed)).replace(STEPS, str(steps)) for argument in self.arguments]
        for name, value in (
            (self.names.seed, seed),
            (self.names.steps, steps),
            (self.names.environment, self.environment),
        ):
            if name:
                arguments += [name, str(value)]
        return self.script, self.module, tuple(arguments)


def script_program(
    script: Path,
    arguments: tuple[str, ...],
    device: Device,
    names: OptionNames = OptionNames(),
    environment: str = "",
) -> Program:
    """The program of a script: its function ``npuport_agent`` where it defines one, else the script as it is.

    Raises:
        UsageError: the script cannot be read, or options do not go together.
    """
    function = defines_function(script)
    if function and not environment:
        raise UsageError(f"{script} defines {FUNCTION}: give the environment's id with --env-id")
    if function and (arguments or names != OptionNames()):
        raise UsageError(f"{script} defines {FUNCTION}: arguments after -- and names of options do not reach it")
    if names.environment and not environment:
        raise UsageError("--env-arg needs --env-id, the environment's id")
    return Program(str(script), arguments, device, names=names, environment=environment, function=function)


def defines_function(script: Path) -> bool:
    """Whether a script defines ``npuport_agent`` at its top level; it is read, not run.

    Raises:
        UsageError: it cannot be read or parsed.
    """
    try:
        tree = ast.parse(read_source(script, read_bytes(script)).text, str(script))
    except UnreadableSource as error:
        raise UsageError(f"{script}: {error.fault}") from None
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{script}: {error}") from None
    return any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == FUNCTION for node in tree.body)


def seeds_from(text: str) -> tuple[int, ...]:
    """``10`` is the seeds 1 to 10, ``3,5,8`` and ``11-20`` are those themselves.

    Raises:
        UsageError: it is neither, names a seed twice, or none at all.
    """
    wrong = UsageError(f"--seeds {text}: expected a number (10), a list (3,5,8) or a range (11-20)")
    try:
        if text.strip().isdigit():
            seeds = list(range(1, int(text) + 1))
        else:
            seeds = [seed for part in text.split(",") for seed in _seed_range(part)]
    except ValueError:
        raise wrong from None
    if not seeds or len(set(seeds)) != len(seeds):
        raise wrong
    return tuple(seeds)


def _seed_range(part: str) -> range:
    first, dash, last = part.strip().partition("-")
    return range(int(first), int(last if dash else first) + 1)

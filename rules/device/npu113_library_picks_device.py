from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.module import Module
from npuport.analysis.vocabulary import DEVICE_PICKING_LIBRARIES
from npuport.engine.finding import Severity
from npuport.engine.fix import rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.names import replace_argument, with_argument
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer

_SB3 = {
    "A2C",
    "DDPG",
    "DQN",
    "PPO",
    "SAC",
    "TD3",
    "ARS",
    "CrossQ",
    "MaskablePPO",
    "QRDQN",
    "RecurrentPPO",
    "TQC",
    "TRPO",
}
_SB3_BUFFERS = {"ReplayBuffer", "RolloutBuffer", "DictReplayBuffer", "DictRolloutBuffer", "NStepReplayBuffer"}
# What these libraries do when no device is given, read from their sources: skrl 2.1.
_SKRL = {
    "A2C",
    "AMP",
    "CEM",
    "DDPG",
    "DDQN",
    "DQN",
    "PPO",
    "Q_LEARNING",
    "RPO",
    "SAC",
    "SARSA",
    "TD3",
    "TRPO",
    "RandomMemory",
}


class LibraryPicksDevice(Rule):
    """A library is left to pick the device, and it only knows CUDA.

    What it does
    ------------
    Reports agents of Stable-Baselines3 and sb3-contrib, their ``load`` and their buffers, with
    ``device="auto"`` or without ``device``, and agents and memories of skrl without ``device``. Not reported in the
    library's own files: there ``get_device`` itself is found.

    Why on an NPU
    -------------
    The library asks ``torch.cuda.is_available()``, gets False, and trains on the CPU without a word. Everything
    else in the log looks right.

    Example
    -------
    ::

        model = PPO("MlpPolicy", env, device="auto")

    Use instead
    -----------
    ::

        model = PPO("MlpPolicy", env, device="npu")

    Fix safety
    ----------
    Safe for ``device="auto"``. Unsafe where no device was given: it adds the argument, and small networks may
    well be faster on the CPU.

    Sources
    -------
    - ``get_device`` in stable_baselines3/common/utils.py; PPO, DQN and SAC of 2.9 were trained with
      ``device="npu:0"`` on the emulated device.
    """

    code = "NPU113"
    name = "library-picks-device"
    topic = "device"
    triggers = Triggers(
        ("import stable_baselines3", "sb3_contrib", "skrl"),
        (r"stable_baselines3(?:\.(?:a2c|ddpg|dqn|ppo|sac|td3|her)(?:\.\w+)?|\.common\.buffers)?\s+import",),
        torch=False,
    )

    def check(self, module: Module) -> Iterator[Hit]:
        for call, dotted in module.calls_into(DEVICE_PICKING_LIBRARIES - module.project.own_libraries):
            name = _agent(dotted)
            if name is None or module.knows_npu(call) or any(keyword.arg is None for keyword in call.keywords):
                continue
            given = next((keyword.value for keyword in call.keywords if keyword.arg == "device"), None)
            if given is None:
                reason = "a small network may be faster on the CPU"
                fix = rewrite("Pass the device", call, _added, unsafe_because=reason)
                yield Hit(
                    call,
                    f"{name} picks its device itself, knows only CUDA, and trains on the CPU of an NPU machine",
                    fix,
                    Severity.WARNING,
                )
            elif isinstance(given, ast.Constant) and given.value == "auto":
                fix = rewrite(
                    "Pass the device",
                    call,
                    _replaced,
                )
                yield Hit(
                    given, f'device="auto" of {name} knows only CUDA, and trains on the CPU of an NPU machine', fix
                )


def _agent(dotted: str) -> str | None:
    """The agent, its ``load``, or the buffer that a dotted name means."""
    library, _, rest = dotted.partition(".")
    last = rest.rpartition(".")[2]
    if library in ("stable_baselines3", "sb3_contrib"):
        if last in _SB3 or last in _SB3_BUFFERS:
            return last
        parts = rest.split(".")
        return ".".join(parts[-2:]) if last == "load" and len(parts) >= 2 and parts[-2] in _SB3 else None
    return (
        last if library == "skrl" and last in _SKRL and ("agents.torch" in rest or "memories.torch" in rest) else None
    )


def _added(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
    assert isinstance(node, cst.Call)
    return with_argument(node, writer.argument(writer.device_type(), "device"))


def _replaced(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
    assert isinstance(node, cst.Call)
    return replace_argument(node, "device", writer.device_type(), writer)

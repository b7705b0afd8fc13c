"""Does ``validate`` see faults that ports have? Reference agents with one fault each, held against their stored runs.

    python benchmarks/seeded_faults.py [--agent ppo] [--fault "learning rate / 10"] [--smoke] [--jobs 2]

Each fault is a change of the agent's source, made on a copy. For every one the verdict at 5 and at 10 seeds is printed
with what it must be: no fault may PASS at 10 seeds, the first two must FAIL at 5, and noise of 1e-6 in the weights, a
stand-in for other rounding, must PASS. ``--smoke`` runs 5 seeds only. Runs on the CPU; finished seeds are kept in
``.npuport_cache``. Exit status 1 when a verdict is not as it must be.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from npuport.reference_agents.stored import RUNS_FOLDER, load_stored_run

from npuport.device.choice import choose_device
from npuport.observe.run import watch
from npuport.validate.passes import Runner, available_jobs
from npuport.validate.program import script_program
from npuport.validate.store import run_store
from npuport.validate.validation import Request, Validation, validate
from npuport.validate.verdict import Word

AGENTS = RUNS_FOLDER.parent
ENVIRONMENT = "CartPole-v1"
# Other seeds than those of the stored runs.
FIRST_SEED = 101
SMOKE, FULL = 5, 10


@dataclass(frozen=True)
class Fault:
    """A change of an agent's source.

    Attributes:
        agent: file name without ``.py``.
        changes: (what stands there once, what it becomes).
        smoke: verdicts that are right at 5 seeds; `full` at 10.
    """

    agent: str
    name: str
    changes: tuple[tuple[str, str], ...]
    smoke: tuple[Word, ...] = (Word.FAIL, Word.INCONCLUSIVE)
    full: tuple[Word, ...] = (Word.FAIL, Word.INCONCLUSIVE)


ONLY_FAIL = (Word.FAIL,)
_MASK, _WRONG_MASK = "loss = (live *", "loss = (~live.bool() *"
_NOISE = "self.parameters.data.mul_(1 + 1e-6 * torch.randn_like(self.parameters.data))"
_STEP = "                self.optimizer.step()\n"
_DQN_STEP = "            self.optimizer.step()\n"

FAULTS = (
    Fault(
        "ppo",
        "terminal mask dropped",
        (
            ("gamma * (1 - terminated) * values[1:]", "gamma * values[1:]"),
            ("gamma * gae_lambda * (1 - ended)", "gamma * gae_lambda * torch.ones_like(ended)"),
        ),
        smoke=ONLY_FAIL,
    ),
    Fault(
        "ppo",
        "observation shifted by one",
        (("torch.cat((*flat[:3], logs", "torch.cat((observations[1:].reshape(self.rows, -1), *flat[1:3], logs"),),
        ONLY_FAIL,
    ),
    Fault("ppo", "learning rate / 10", (("learning_rate: float = 2.5e-3", "learning_rate: float = 2.5e-4"),)),
    Fault("ppo", "bool loss mask wrong", ((_MASK, _WRONG_MASK),)),
    Fault(
        "ppo",
        "benign: weight noise of 1e-6",
        ((_STEP, f"{_STEP}                {_NOISE}\n"),),
        smoke=(Word.INCONCLUSIVE,),
        full=(Word.PASS,),
    ),
    Fault(
        "dqn",
        "terminal mask dropped",
        (("np.where(ended, 1 - step.terminated, discounts)", "np.where(ended, 1, discounts)"),),
        ONLY_FAIL,
    ),
    Fault(
        "dqn",
        "observation shifted by one",
        (("np.concatenate((first.observations, later", "np.concatenate((first.next_observations, later"),),
        ONLY_FAIL,
    ),
    Fault("dqn", "learning rate / 10", (("learning_rate: float = 1e-3", "learning_rate: float = 1e-4"),)),
    Fault("dqn", "bool loss mask wrong", ((_MASK, _WRONG_MASK),)),
    Fault(
        "dqn",
        "target network never updated",
        (("            self.target_parameters.data.lerp_(self.parameters.data, self.arguments.target_rate)\n", ""),),
    ),
    Fault(
        "dqn",
        "benign: weight noise of 1e-6",
        ((_DQN_STEP, f"{_DQN_STEP}            {_NOISE}\n"),),
        smoke=(Word.INCONCLUSIVE,),
        full=(Word.PASS,),
    ),
)


def faulty_source(fault: Fault) -> str:
    """The source of the agent with the fault in it.

    Raises:
        ValueError: a place that is changed is not there exactly once.
    """
    source: str = (AGENTS / f"{fault.agent}.py").read_text(encoding="utf-8")
    for before, after in fault.changes:
        if source.count(before) != 1:
            raise ValueError(f"{fault.agent}.py has {before.strip()!r} {source.count(before)} times, not once")
        source = source.replace(before, after)
    return source


def validations(fault: Fault, numbers: Sequence[int], jobs: int, folder: Path) -> list[Validation]:
    """At each number of seeds; the runs of few are part of those of many."""
    script = folder / f"{fault.agent}_{''.join(filter(str.isalnum, fault.name))}.py"
    script.write_text(faulty_source(fault), encoding="utf-8")
    device = choose_device("cpu")
    request = Request(
        program=script_program(script, (), device, environment=ENVIRONMENT),
        seeds=tuple(range(FIRST_SEED, FIRST_SEED + max(numbers))),
        steps=load_stored_run(fault.agent, ENVIRONMENT).total_steps,
        reference=fault.agent,
        environment=ENVIRONMENT,
        same_settings=True,
        throughput=False,
    )
    runner = Runner(watch, run_store(device.python), lambda *told: None, jobs)
    return [validate(replace(request, seeds=request.seeds[:number]), runner) for number in numbers]


def row(fault: Fault, made: Sequence[Validation]) -> str:
    """What came out, and whether it had to."""
    words = [validation.verdict.word for validation in made]
    right = all(word in wanted for word, wanted in zip(words, (fault.smoke, fault.full), strict=False))
    last = made[-1].verdict
    scores = ", ".join(
        f"{comparison.letter} [{comparison.interval.lower:+.0f}, {comparison.interval.upper:+.0f}]"
        for comparison in last.comparisons
    )
    seeds = f"{last.failed.port} of {last.failed.port_seeds}" if last.failed is not None else ""
    verdicts = [words[0].value, words[1].value if len(words) > 1 else ""]
    cells = (fault.agent, fault.name, *verdicts, scores, seeds, "as it must" if right else "WRONG")
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--agent", choices=sorted({fault.agent for fault in FAULTS}))
    parser.add_argument("--fault", choices=sorted({fault.name for fault in FAULTS}))
    parser.add_argument("--smoke", action="store_true", help=f"{SMOKE} seeds only")
    parser.add_argument("--jobs", type=int, default=available_jobs())
    options = parser.parse_args()
    wanted = [fault for fault in FAULTS if options.agent in (None, fault.agent) and options.fault in (None, fault.name)]
    print(f"| agent | fault | {SMOKE} seeds | {FULL} seeds | 90 % intervals | failed seeds | |")
    print("|---|---|---|---|---|---|---|", flush=True)
    wrong = 0
    # One folder and name for every run of this script, so that finished runs are found again.
    folder = Path(tempfile.gettempdir()) / "npuport-seeded-faults"
    folder.mkdir(exist_ok=True)
    for fault in wanted:
        numbers = (SMOKE,) if options.smoke else (SMOKE, FULL)
        line = row(fault, validations(fault, numbers, options.jobs, folder))
        wrong += "WRONG" in line
        print(line, flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

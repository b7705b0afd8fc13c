"""A whole validation with runs that are made up: what is run, kept, resumed, checked and reported."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from npuport.cli import main
from npuport.cli import validate as cli
from npuport.observe.measurement import (
    DOWN,
    UP,
    Count,
    Episode,
    Line,
    LineCount,
    LossInput,
    Measurement,
    NonFiniteLoss,
    Outcome,
)
from npuport.observe.run import RunOptions
from npuport.sources.errors import UsageError
from npuport.validate import arms
from npuport.validate.checks import broken, checks_of
from npuport.validate.program import defines_function, seeds_from
from npuport.validate.throughput import throughput_of, transitions_a_second
from reference_agents.stored import SeedRun, StoredRun, write_stored_run

STEPS = 40_000
SCRIPT = "import sys\n\nprint(sys.argv)\n"
PORTED = SCRIPT + "import torch\n\nx = torch.zeros(3).cuda()\n"


def measured(seed: int, level: float, options: RunOptions | None = None, **changes: object) -> Measurement:
    """A run that learns from 20 to `level` in its first half."""
    generator = random.Random(seed)
    transitions = options.max_steps if options and options.max_steps is not None else STEPS
    episodes, at = [], 0
    while True:
        value = 20.0 + generator.random() if at < transitions / 2 else level + generator.random()
        at += int(max(value, 1))
        if at > transitions:
            break
        episodes.append(Episode(at, 0, value, int(value)))
    measurement = Measurement(
        "train.py",
        [],
        "cpu",
        device_name="CPU",
        outcome=Outcome("finished"),
        seconds=2.0,
        transitions=transitions,
        vector_steps=transitions,
        environments=1,
        updates=40,
        backward_calls=40,
        losses=[1.0 / (number + 1) for number in range(40)],
        episodes=episodes,
        transition_at=[0.1 * number for number in range(1, transitions // 1000 + 1)],
        extra={"validate": {"environments": {"CartPole-v1": {"threshold": 475.0, "steps": 500}}, "checkpoint": {}}},
    )
    return replace(measurement, **changes)  # type: ignore[arg-type]


@dataclass
class Made:
    """Stands for ``watch``: the level of a script's returns is in its name."""

    levels: dict[str, float]
    runs: list[RunOptions] = field(default_factory=list)
    interrupt_after: int | None = None

    def __call__(
        self, options: RunOptions, *, started: Callable[[subprocess.Popen[bytes]], None] | None = None
    ) -> Measurement:
        self.runs.append(options)
        seed = int(options.arguments[options.arguments.index("--seed") + 1]) if "--seed" in options.arguments else 0
        if self.interrupt_after is not None and len(self.runs) > self.interrupt_after:
            return measured(seed, 0.0, options, outcome=Outcome("interrupted", 130))
        # Another script's chance is other chance.
        shift = 0 if Path(options.script).stem == "train" else 1000
        files = [str(Path(options.script).absolute())]
        return measured(seed + shift, self.levels[Path(options.script).stem], options, user_files=files)

    @property
    def learning(self) -> list[RunOptions]:
        return [options for options in self.runs if not options.counting and options.max_steps is None]


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("train", "original"):
        (tmp_path / f"{name}.py").write_text(SCRIPT)
    return tmp_path


ARGUMENTS = ["--device", "cpu", "--against", "original.py", "--steps", str(STEPS), "--jobs", "1", "-q"]
OWN = ["--", "--seed", "{seed}", "--total-timesteps", "{steps}"]


@pytest.fixture
def run(scripts: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, Made]]:
    def run(*options: str, port: float = 490.0, original: float = 490.0, made: Made | None = None) -> tuple[int, Made]:
        made = made or Made({"train": port, "original": original})
        monkeypatch.setattr(cli, "watch", made)
        status = main.run(["validate", "train.py", *ARGUMENTS, *options, *OWN])
        return status, made

    return run


def test_pass_fail_and_inconclusive_by_exit_status(
    run: Callable[..., tuple[int, Made]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run()[0] == 0
    assert capsys.readouterr().out.startswith("PASS  train.py learns as original.py on CartPole-v1 (10 seeds, CPU)")
    assert run("--seeds", "21-25", port=100.0)[0] == 1
    assert capsys.readouterr().out.startswith("FAIL  train.py does not learn as original.py")
    assert run("--seeds", "3")[0] == 3
    assert "3 seeds an arm give no verdict" in capsys.readouterr().out


def test_what_is_run(run: Callable[..., tuple[int, Made]]) -> None:
    _, made = run("--seeds", "2,7")
    assert sorted((options.script, options.arguments[1]) for options in made.learning) == [
        ("original.py", "2"), ("original.py", "7"), ("train.py", "2"), ("train.py", "7"),
    ]  # fmt: skip
    assert all(options.arguments[-1] == str(STEPS) for options in made.runs)
    counting = [options for options in made.runs if options.counting]
    assert [(options.script, options.max_steps) for options in counting] == [("train.py", 2000)] * 2
    assert all(options.device.kind == "cpu" for options in made.runs)


def test_the_counting_pass_goes_on_until_the_script_learns(run: Callable[..., tuple[int, Made]]) -> None:
    class Late(Made):
        def __call__(self, options: RunOptions, **rest: object) -> Measurement:
            measurement = super().__call__(options)
            late = options.max_steps is not None and options.max_steps < 12_000
            return replace(measurement, updates=0) if late else measurement

    _, made = run(made=Late({"train": 490.0, "original": 490.0}))
    assert {options.max_steps for options in made.runs if options.counting} == {2000, 12_000}


def test_finished_runs_are_kept_and_changed_scripts_run_again(
    run: Callable[..., tuple[int, Made]], scripts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run()
    _, made = run()
    assert made.runs == []
    assert "runs were finished before" in capsys.readouterr().out
    (scripts / "train.py").write_text(SCRIPT + "# changed\n")
    _, made = run()
    assert {options.script for options in made.runs} == {"train.py"}


def test_an_imported_file_that_changed_makes_runs_old(run: Callable[..., tuple[int, Made]], scripts: Path) -> None:
    (scripts / "model.py").write_text("WIDTH = 64\n")

    class Imports(Made):
        def __call__(self, options: RunOptions, **rest: object) -> Measurement:
            return replace(super().__call__(options), user_files=[str(scripts / "model.py")])

    levels = {"train": 490.0, "original": 490.0}
    run(made=Imports(levels))
    (scripts / "model.py").write_text("WIDTH = 128\n")
    _, made = run(made=Imports(levels))
    assert made.runs


def test_interrupted_and_resumed(run: Callable[..., tuple[int, Made]], capsys: pytest.CaptureFixture[str]) -> None:
    levels = {"train": 490.0, "original": 490.0}
    # Three runs count, five seeds learn, the sixth is interrupted.
    status, _ = run(made=Made(levels, interrupt_after=8))
    assert status == 130
    assert "8 finished runs are kept; the same command goes on from there" in capsys.readouterr().err
    status, second = run(made=Made(levels))
    assert status == 0
    assert len(second.runs) == 15


def test_interrupted_while_timing(
    scripts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(arms, "load_stored_run", lambda agent, environment: stored(495.0, agent=agent))
    # Two counting runs and that of the reference, then the first that is timed.
    monkeypatch.setattr(cli, "watch", Made({"train": 490.0, "npuport.reference_agents": 490.0}, interrupt_after=3))
    assert main.run([*REFERENCE, "ppo", *OWN]) == 130
    assert "3 finished runs are kept" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["train", "original"])
def test_a_script_that_never_steps_is_told_in_one_line(
    run: Callable[..., tuple[int, Made]], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken(Made):
        broken = name

        def __call__(self, options: RunOptions, **rest: object) -> Measurement:
            if Path(options.script).stem != self.broken:
                return super().__call__(options)
            outcome = Outcome("exited", 2)
            return replace(
                super().__call__(options), transitions=0, outcome=outcome, output="usage\nerror: no option --sed\n"
            )

    levels = {"train": 0.0, "original": 0.0}
    status, _ = run(made=Broken(levels))
    assert status == 2
    assert capsys.readouterr().err == (
        f"npuport: error: {name}.py ended before its first environment step (exited): error: no option --sed\n"
    )


def test_a_script_of_gym_is_told_of_the_alias(
    run: Callable[..., tuple[int, Made]], capsys: pytest.CaptureFixture[str]
) -> None:
    class Old(Made):
        def __call__(self, options: RunOptions, **rest: object) -> Measurement:
            crash = Outcome("crashed", 1, "ModuleNotFoundError: No module named 'gym'")
            return replace(super().__call__(options), transitions=0, outcome=crash)

    status, made = run(made=Old({"train": 0.0, "original": 0.0}))
    assert (status, made.runs[0].gym_alias) == (2, False)
    assert "--gym-alias gives it gymnasium instead" in capsys.readouterr().err
    assert all(options.gym_alias for options in run("--gym-alias")[1].runs)


def test_a_crash_fails_at_ten_seeds(run: Callable[..., tuple[int, Made]], capsys: pytest.CaptureFixture[str]) -> None:
    class Crashing(Made):
        def __call__(self, options: RunOptions, **rest: object) -> Measurement:
            measurement = super().__call__(options)
            place = Line("project/train.py", 12)
            crash = Outcome("crashed", 1, "RuntimeError: no kernel", place)
            return replace(measurement, outcome=crash) if options.script == "train.py" else measurement

    status, _ = run(made=Crashing({"train": 490.0, "original": 490.0}))
    assert status == 1
    assert "RuntimeError: no kernel (train.py:12)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--reference", "ppo"], "either --reference"),
        (["--seeds", "none"], "--seeds none: expected a number"),
        (["--seeds", "3,3"], "--seeds 3,3"),
        (["--return-range", "5", "1"], "lower end 5 is not below"),
        (["--env-arg", "--env"], "--env-arg needs --env-id"),
        (["--against-args", "'"], "--against-args: No closing quotation"),
    ],
)
def test_bad_options_are_one_line(
    run: Callable[..., tuple[int, Made]], options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*options)[0] == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


def test_steps_are_asked_for(scripts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main.run(["validate", "train.py", "--device", "cpu", "--against", "original.py", *OWN])
    assert status == 2
    assert "give --steps" in capsys.readouterr().err


def test_json_has_everything_and_only_json_numbers(
    run: Callable[..., tuple[int, Made]], capsys: pytest.CaptureFixture[str]
) -> None:
    run("--output-format", "json", "--seeds", "5")

    def refuse(name: str) -> float:
        raise AssertionError(f"{name} is no JSON")

    data = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert (data["verdict"], data["exit_status"]) == ("INCONCLUSIVE", 3)
    assert len(data["port"]["runs"]) == len(data["reference"]["runs"]) == 5
    assert data["question"]["final_margin"] == 25.0 and data["question"]["average_margin"] == 100.0
    assert data["counted"]["port"]["transitions"] == 2000
    assert len(data["curves"]["port"]) == len(data["curves"]["reference"]) > 10
    assert data["reasons"]["gates"][0]["name"].startswith("G0")
    assert len(data["reasons"]["comparisons"][0]["bootstrap"]) == 2


def test_html_needs_nothing_else(run: Callable[..., tuple[int, Made]], scripts: Path) -> None:
    class Copying(Made):
        def __call__(self, options: RunOptions, **rest: object) -> Measurement:
            place = Line(str(scripts / "train.py"), 6, "main")
            lines = [LineCount(place, UP, Count(4000, 10)), LineCount(place, "wait.stream", Count(2000))]
            return replace(super().__call__(options), lines=lines)

    (scripts / "train.py").write_text(PORTED)
    run("--output-format", "html", "--output-file", "report.html", made=Copying({"train": 490.0, "original": 490.0}))
    page = (scripts / "report.html").read_text()
    assert not re.search(r"""(?:src|href)=|<script|@import|url\(|https?://(?!www\.w3\.org)""", page)
    svg = ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + len("</svg>")])
    assert len(svg.findall("polyline")) == len(svg.findall("polygon")) == 2
    width, height = map(float, svg.attrib["viewBox"].split()[2:])
    points = " ".join(shape.attrib["points"] for shape in svg.findall("polygon")).split()
    for x, y in (map(float, point.split(",")) for point in points):
        assert 0 <= x <= width and 0 <= y <= height
    assert (
        "torch.zeros(3).cuda()" in page
        and "NPU102 cuda-method" in page
        and '<div class="bar up" style="width:100.0%">' in page
    )
    assert '<div class="bar wait" style="width:50.0%">' in page and '<p class="first">PASS</p>' in page


# Against stored runs ----------------------------------------------------------------------------------------------


def stored(level: float, seeds: int = 20, agent: str = "ppo", environment: str = "CartPole-v1") -> StoredRun:
    runs = [measured(1000 + seed, level) for seed in range(seeds)]
    entries = [
        SeedRun(
            seed,
            [episode.transition for episode in run.episodes],
            [episode.episodic_return for episode in run.episodes],
            greedy_return=500.0,
            seconds=1.0,
        )
        for seed, run in enumerate(runs)
    ]
    return StoredRun(agent, environment, STEPS, "cpu", {"torch": "2.13.0"}, {"gamma": 0.98}, entries)


REFERENCE = ["validate", "train.py", "--device", "cpu", "--steps", str(STEPS), "--jobs", "1", "-q", "--reference"]


def test_a_file_of_stored_runs_is_a_reference_with_settings_of_its_own(
    scripts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_stored_run(stored(495.0, agent="my agent"), scripts / "own.json")
    made = Made({"train": 490.0})
    monkeypatch.setattr(cli, "watch", made)
    assert main.run([*REFERENCE, "own.json", "--output-format", "json", *OWN]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {options.script for options in made.runs} == {"train.py"}
    assert len(data["reference"]["runs"]) == 20
    assert [comparison["counts"] for comparison in data["reasons"]["comparisons"]] == [True, False]
    # The port has no greedy evaluation, so that those of the stored runs are not asked.
    assert data["reasons"]["comparisons"][0]["title"] == "mean return of the last 20 % of steps"
    assert data["throughput"] is None


def test_a_reference_agent_is_run_on_the_device_for_counts_and_speed(
    scripts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(arms, "load_stored_run", lambda agent, environment: stored(495.0, agent=agent))
    made = Made({"train": 490.0, "npuport.reference_agents": 490.0})
    monkeypatch.setattr(cli, "watch", made)
    assert main.run([*REFERENCE, "dqn", "--output-format", "json", *OWN]) == 0
    data = json.loads(capsys.readouterr().out)
    turns = [options.script for options in made.runs if not options.counting and options.max_steps is not None]
    assert turns == ["train.py", "npuport.reference_agents.dqn"] * 2
    assert data["reasons"]["comparisons"][0]["title"] == "best mean of 20 episodes"
    assert data["throughput"]["ratio"] == pytest.approx(1.0)
    assert data["counted"]["reference"]["transitions"] == 2000


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("sac", "--reference sac: expected dqn, ppo or a JSON file"),
        ("none.json", "none.json: not a readable JSON file"),
        ("other.json", "runs of Acrobot-v1, while the script trains on CartPole-v1"),
    ],
)
def test_a_reference_that_is_none_is_one_line(
    scripts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], reference: str, words: str
) -> None:
    write_stored_run(stored(90.0, environment="Acrobot-v1"), scripts / "other.json")
    made = Made({"train": 490.0})
    monkeypatch.setattr(cli, "watch", made)
    assert main.run([*REFERENCE, reference, *OWN]) == 2
    error = capsys.readouterr().err
    assert bool(made.runs) == (reference == "other.json")
    assert words in error and error.count("\n") == 1


# Checks beside the returns ---------------------------------------------------------------------------------------


def states(port: Measurement, **others: Measurement | None) -> dict[str, tuple[str, str]]:
    checks = checks_of(port, others.get("repeated") or port, others.get("reference"), others.get("original"))
    return {check.name: (check.state, check.text) for check in checks}


AT = Line("project/train.py", 7)


def on_device(**changes: object) -> Measurement:
    port = measured(1, 490.0)
    return replace(port, **{"device": "emulated", "device_parameters": True, "device_tensors": True, **changes})  # type: ignore[arg-type]


def test_nothing_is_wrong_with_a_plain_run() -> None:
    port = on_device()
    assert broken(checks_of(port, port, None, None)) == []


@pytest.mark.parametrize(
    ("check", "state", "changes"),
    [
        ("device", "broken", {"device_parameters": False}),
        ("dtypes in the loss", "broken", {"loss_inputs": [LossInput(AT, "mse_loss", ("float32", "bool"), 3)]}),
        ("dtypes in the loss", "broken", {"loss_inputs": [LossInput(AT, "cross_entropy", ("float64", "int64"), 3)]}),
        ("dtypes in the loss", "ok", {"loss_inputs": [LossInput(AT, "cross_entropy", ("float32", "int64"), 3)]}),
        ("dtypes in the loss", "note", {"loss_inputs": [LossInput(AT, "mse_loss", ("float16", "float16"), 3)]}),
        ("float64", "note", {"lines": [LineCount(AT, "float64", Count(5))]}),
        ("float64", "ok", {"lines": [LineCount(AT, "float64", Count(5), setup=True)]}),
        ("CPU fallbacks", "note", {"fallbacks": {"aten::multinomial": 4}}),
        ("finite losses", "broken", {"non_finite": [NonFiniteLoss(AT, 300, "nan", 5)]}),
    ],
)
def test_checks_of_a_counted_run(check: str, state: str, changes: dict[str, object]) -> None:
    assert states(on_device(**changes))[check][0] == state


def test_copies_are_held_against_the_reference() -> None:
    port = on_device(counts={UP: Count(40000), DOWN: Count(500)})
    frugal = on_device(counts={UP: Count(4000), DOWN: Count(500)})
    assert states(port, reference=frugal)["copies and waits"] == (
        "note", "1 up, 0.0125 down, 0 waits a transition; reference 0.1, 0.0125, 0",
    )  # fmt: skip
    assert states(frugal, reference=frugal)["copies and waits"][0] == "ok"


def checkpoint(**found: object) -> Measurement:
    entry = {"of": "script", "tensors": 6, "on_device": 0, "differing": [], "fault": "", **found}
    return on_device(extra={"validate": {"environments": {}, "checkpoint": entry}})


def test_checkpoints() -> None:
    assert states(checkpoint())["checkpoint"][0] == "ok"
    assert states(checkpoint(on_device=6))["checkpoint"][0] == "note"
    assert states(checkpoint(differing=[".weight"]))["checkpoint"][0] == "broken"
    assert states(checkpoint(fault="UnpicklingError"))["checkpoint"][0] == "broken"


def test_first_updates_and_repetition() -> None:
    port = on_device()
    near = replace(port, losses=[*port.losses[:5], *((loss or 0) * (1 + 1e-6) for loss in port.losses[5:])])
    far = replace(port, losses=[2.0, *port.losses[1:]])
    assert states(port, original=port)["first updates"] == (
        "ok", "the first 40 losses are those of the original, bit by bit",
    )  # fmt: skip
    state, text = states(port, original=near)["first updates"]
    assert state == "ok" and text.startswith("losses part at update 6 by 1.0e-06 relative")
    assert states(port, original=far)["first updates"][0] == "note"
    assert states(port, repeated=far)["repeatability"] == ("note", "two runs of one seed differ in their losses")


def test_throughput_is_a_ratio_of_turns() -> None:
    slow = measured(1, 490.0, transition_at=[0.01, 0.02, 1.0, 2.0, 3.0, 4.0], seconds=4.0)
    fast = replace(slow, transition_at=[0.01, 0.02, 0.5, 1.0, 1.5, 2.0])
    assert transitions_a_second(slow) == pytest.approx(1000.0)
    speed = throughput_of([slow, fast, slow, fast])
    assert speed is not None and speed.ratio == pytest.approx(0.5)
    assert throughput_of([slow, replace(fast, transitions=0)]) is None


# The function in the file -----------------------------------------------------------------------------------------


def test_seeds() -> None:
    assert seeds_from("3") == (1, 2, 3)
    assert seeds_from("5,11-13") == (5, 11, 12, 13)
    with pytest.raises(UsageError):
        seeds_from("0")


def test_a_function_at_the_top_level_is_found_without_running_the_file(scripts: Path) -> None:
    (scripts / "train.py").write_text("raise SystemExit\ndef npuport_agent(env_id, seed, steps, device): ...\n")
    assert defines_function(scripts / "train.py")
    (scripts / "train.py").write_text("class A:\n    def npuport_agent(self): ...\n")
    assert not defines_function(scripts / "train.py")
    (scripts / "train.py").write_text("def npuport_agent(\n")
    with pytest.raises(UsageError):
        defines_function(scripts / "train.py")


def test_the_function_is_called_instead_of_the_script(
    scripts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (scripts / "train.py").write_text("def npuport_agent(env_id, seed, steps, device): ...\n")
    command = ["validate", "train.py", "--device", "cpu", "--against", "original.py", "--seeds", "2", "-q"]
    assert main.run(command) == 2
    assert "give the environment's id with --env-id" in capsys.readouterr().err
    made = Made({"agent_function": 490.0, "original": 490.0})
    made.levels["npuport.validate.inside"] = 490.0
    monkeypatch.setattr(cli, "watch", made)
    assert main.run([*command, "--env-id", "CartPole-v1", "--steps", str(STEPS)]) in (0, 3)
    called = [options for options in made.runs if options.module]
    assert called[0].script == "npuport.validate.inside.agent_function"
    assert called[0].arguments == ("train.py", "CartPole-v1", "1", str(STEPS), "cpu")

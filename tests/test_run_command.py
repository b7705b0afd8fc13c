"""``npuport run``: arguments, where output goes, exit statuses, and runs on the emulated device from end to end.

Scripts that need no torch run on "the CPU" in a fraction of a second: the command is the same for all devices.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from docs.build import watched_runs
from npuport.cli import run as run_command
from npuport.cli.main import run as run_in_process
from npuport.device.choice import Device
from npuport.observe.measurement import Measurement, Outcome
from npuport.observe.run import RunOptions
from tests.conftest import Command, Emulator, environment, write_files
from tests.seeming_installation import installed
from tests.watched_run import watched_run

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
ON_CPU = ("run", "--quiet", "--device", "cpu")
SHOW_ARGUMENTS = "import sys\nprint('script:', sys.argv[1:])\n"
# One environment step and one update, on the device that is named first.
TRAIN = """\
import sys
import gymnasium, torch
layer = torch.nn.Linear(4, 2).to(sys.argv[1])
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
environment = gymnasium.make("CartPole-v1")
observation, _ = environment.reset(seed=1)
for step in range(20):
    loss = layer(torch.tensor(observation).to(sys.argv[1])).sum()
    loss.backward()
    optimizer.step()
    observation, _, ended, _, _ = environment.step(0)
    if ended:
        observation, _ = environment.reset()
print("script: trained")
"""


def test_what_follows_the_script_is_its_own(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"show.py": SHOW_ARGUMENTS})
    run = npuport(*ON_CPU, "show.py", "--device", "cuda", "-h", "--max-steps", "x", "--", "-q")
    assert run.status == 0
    assert run.out.startswith("script: ['--device', 'cuda', '-h', '--max-steps', 'x', '--', '-q']\n")


def test_a_module_is_run_by_its_name(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"package/__init__.py": "", "package/show.py": SHOW_ARGUMENTS})
    run = npuport(*ON_CPU, "-m", "package.show", "--seed", "1")
    assert run.status == 0
    assert run.out.startswith("script: ['--seed', '1']\n")


@pytest.mark.parametrize("output_format", ["json", "html"])
def test_stdout_has_the_report_alone_where_programs_read_it(
    npuport: Command, tmp_path: Path, output_format: str
) -> None:
    write_files(tmp_path, {"show.py": SHOW_ARGUMENTS + "import os\nos.system('echo child')\n"})
    run = npuport(*ON_CPU, "--output-format", output_format, "show.py")
    assert run.status == 0
    assert run.out.startswith({"json": "{", "html": "<!doctype html>"}[output_format])
    assert "script: []" in run.stderr
    assert "child" in run.stderr
    if output_format == "json":
        assert json.loads(run.out)["outcome"]["ending"] == "finished"


def test_a_report_in_a_file_leaves_stdout_to_the_script(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"show.py": SHOW_ARGUMENTS, "report.html": "old" * 10_000})
    run = npuport(*ON_CPU, "--output-format", "html", "--output-file", "report.html", "show.py")
    assert run.out == "script: []\n"
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert "old" not in (tmp_path / "report.html").read_text()


def test_a_report_that_cannot_be_written_is_told_before_the_script_runs(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"show.py": SHOW_ARGUMENTS})
    run = npuport(*ON_CPU, "--output-file", "none/report.txt", "show.py")
    assert (run.status, run.out) == (2, "")
    assert run.error == "none/report.txt: cannot be written: No such file or directory"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.py", "no such script: missing.py"),
        ("folder", "folder is a folder without __main__.py; name a script, or a module with -m"),
        ("binary", "binary is no Python source"),
    ],
)
def test_what_is_no_script_is_refused_in_one_line(npuport: Command, tmp_path: Path, name: str, message: str) -> None:
    write_files(tmp_path, {"folder/other.py": "", "binary": b"\x7fELF\0\0"})
    run = npuport("run", "--device", "cpu", name)
    assert (run.status, run.out, run.error) == (2, "", message)


@pytest.mark.parametrize(
    ("text", "status", "told"),
    [
        ("def f(:\n", 1, "It crashed (script.py:1): SyntaxError"),
        ("import not_installed\n", 1, "It crashed (script.py:1): ModuleNotFoundError: No module named 'not_installed'"),
        ("\nraise ValueError('bad seed')\n", 1, "It crashed (script.py:2): ValueError: bad seed"),
        ("raise SystemExit(7)\n", 7, "It ended itself with exit status 7"),
        ("raise SystemExit('no such map')\n", 1, "It ended itself with exit status 1"),
        ("import os\nos.kill(os.getpid(), 9)\n", 137, "SIGKILL"),
    ],
)
def test_a_script_that_fails_has_its_own_status_and_still_a_report(
    npuport: Command, tmp_path: Path, text: str, status: int, told: str
) -> None:
    write_files(tmp_path, {"script.py": text})
    run = npuport(*ON_CPU, "script.py")
    assert run.status == status
    assert told in run.out
    assert "npuport: error" not in run.stderr


def test_the_traceback_is_python_s_own(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"script.py": "def train():\n    raise ValueError('bad')\n\ntrain()\n"})
    plain = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")], capture_output=True, text=True, check=False, env=environment()
    )
    assert npuport(*ON_CPU, "script.py").stderr == plain.stderr


def test_ctrl_c_gives_the_report_up_to_there(tmp_path: Path) -> None:
    write_files(tmp_path, {"script.py": "import time\nprint('ready', flush=True)\ntime.sleep(60)\n"})
    status, out, _ = interrupted(
        [sys.executable, "-m", "npuport", *ON_CPU, "script.py"], tmp_path, environment(), lambda line: "ready" in line
    )
    assert status == 130
    assert "It was interrupted; what follows is up to then." in out


def test_ctrl_c_in_the_build_leaves_nothing_behind(tmp_path: Path) -> None:
    compiler = tmp_path / "compiler"
    compiler.write_text("#!/bin/sh\ncase $1 in --version) echo fake 1.0;; *) sleep 60;; esac\n")
    compiler.chmod(0o755)
    write_files(tmp_path, {"script.py": "print('never')\n"})
    cache = tmp_path / "cache"
    status, out, err = interrupted(
        [sys.executable, "-m", "npuport", "run", "--device", "emulated", "script.py"],
        tmp_path,
        environment(CXX=str(compiler), NPUPORT_CACHE_DIR=str(cache)),
        lambda line: "building the emulated device" in line,
    )
    assert (status, out) == (130, "")
    assert err.splitlines()[-1] == "npuport: interrupted"
    assert [path.suffix for path in (cache / "emulator").iterdir() if path.name != "CACHEDIR.TAG"] == [".lock"]


def interrupted(
    command: list[str], folder: Path, env: dict[str, str], ready: Callable[[str], bool]
) -> tuple[int, str, str]:
    """Run until a line is ready, then press Ctrl-C, which the whole group of processes gets."""
    with (folder / "stdout").open("w") as stdout, (folder / "stderr").open("w") as stderr:
        process = subprocess.Popen(command, cwd=folder, env=env, start_new_session=True, stdout=stdout, stderr=stderr)
    texts = [folder / "stdout", folder / "stderr"]
    end = time.monotonic() + 30
    while not any(ready(text.read_text()) for text in texts):
        assert process.poll() is None and time.monotonic() < end, texts[1].read_text()
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    return process.wait(30), texts[0].read_text(), texts[1].read_text()


def test_without_a_compiler_it_is_one_line(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"script.py": "print('never')\n"})
    run = npuport("run", "--device", "emulated", "script.py", env={"PATH": str(tmp_path), "CXX": ""})
    assert (run.status, run.out) == (2, "")
    assert "there is no g++" in run.error


@pytest.mark.parametrize(
    ("releases", "told"),
    [
        (
            {"torch": "2.13.0+cu130", "cuda": "'13.0'"},
            "is a build for CUDA; torch_npu aborts beside it: install the CPU",
        ),
        ({"torch": "2.12.0+cpu"}, "do not pair; install torch==2.13.0 for this torch_npu"),
    ],
)
def test_a_torch_that_does_not_fit_is_one_line(
    npuport: Command, tmp_path: Path, releases: dict[str, str], told: str
) -> None:
    write_files(tmp_path, {"script.py": "print('never')\n"})
    run = npuport("run", "script.py", env=installed(tmp_path, **releases))
    assert (run.status, run.out) == (2, "")
    assert told in run.error
    assert run.error.endswith("`--device cpu` runs on the CPU")


def test_a_cache_that_cannot_be_made_is_one_line(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"script.py": "print('never')\n", "file": ""})
    run = npuport(
        "run", "--quiet", "--device", "emulated", "script.py", env={"NPUPORT_CACHE_DIR": str(tmp_path / "file")}
    )
    assert (run.status, run.out) == (2, "")
    assert "NPUPORT_CACHE_DIR names another folder" in run.error


Asked: TypeAlias = "list[RunOptions]"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What the command asks ``watch`` for; nothing is run."""
    seen: Asked = []

    def watch(options: RunOptions, progress: object) -> Measurement:
        seen.append(options)
        return watched_run(tmp_path)[0]

    monkeypatch.setattr(run_command, "watch", watch)
    monkeypatch.setattr(run_command, "choose_device", lambda wanted, python: Device("cpu", "", "", python))
    write_files(tmp_path, {"train.py": ""})
    monkeypatch.chdir(tmp_path)
    return seen


def test_options_reach_the_run(asked: Asked) -> None:
    assert run_in_process(["run", "--max-steps", "9", "--gym-alias", "--dtype-checks", "off", "train.py", "-x"]) == 0
    options = asked[0]
    assert (options.max_steps, options.gym_alias, options.dtype_checks) == (9, True, "off")
    assert (options.script, options.arguments, options.module) == ("train.py", ("-x",), False)
    assert options.device.python == sys.executable


def test_dtype_checks_can_be_a_setting(asked: Asked, tmp_path: Path) -> None:
    write_files(tmp_path, {"pyproject.toml": '[tool.npuport]\ndtype-checks = "losses"\n'})
    run_in_process(["run", "train.py"])
    run_in_process(["run", "--dtype-checks", "strict", "train.py"])
    assert [options.dtype_checks for options in asked] == ["losses", "strict"]


def test_the_device_is_told_on_stderr(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    run_in_process(["run", "train.py"])
    assert capsys.readouterr().err.startswith("npuport: train.py on the")
    run_in_process(["run", "--quiet", "train.py"])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("outcome", "on_device", "status"),
    [
        (Outcome("finished"), True, 0),
        (Outcome("steps"), True, 0),
        (Outcome("finished"), False, 1),
        (Outcome("steps"), False, 1),
        (Outcome("crashed", 1), True, 1),
        (Outcome("exited", 3), False, 3),
        (Outcome("interrupted", 130), True, 130),
    ],
)
def test_exit_status(tmp_path: Path, outcome: Outcome, on_device: bool, status: int) -> None:
    """A run that silently stayed on the CPU must not look like success to a script that calls this one."""
    measurement = watched_run(tmp_path)[0]
    run = replace(measurement, outcome=outcome, device_parameters=on_device, device_tensors=on_device)
    assert run_command.exit_status(run) == status
    if not outcome.exit_status:
        assert run_command.exit_status(replace(run, device="cpu")) == 0


def test_training_on_the_emulated_device(npuport: Command, emulator: Emulator, tmp_path: Path) -> None:
    """One copy up and one wait a step, on its line; the update and the loss are seen."""
    write_files(tmp_path, {"train.py": TRAIN})
    run = npuport("run", "--device", "emulated", "--output-format", "json", "train.py", "npu")
    data = json.loads(run.stdout)
    assert run.status == 0, run.stderr
    assert [one["kind"] for one in data["verdict"]] == ["on_device", "claim"]
    assert (data["transitions"], data["updates"]) == (20, 20)
    row = next(row for row in data["lines"] if row["place"]["line"] == 8 and row["event"] == "copy.host_to_device")
    assert not row["setup"]
    assert row["count"]["calls"] in (19, 20)


def test_training_that_stays_on_the_cpu(npuport: Command, emulator: Emulator, tmp_path: Path) -> None:
    write_files(tmp_path, {"train.py": TRAIN})
    run = npuport("run", "--device", "emulated", "--max-steps", "5", "train.py", "cpu")
    assert run.status == 1
    assert "Ran silently on the CPU: 5 transitions" in run.out
    assert "script: trained" not in run.out


def test_reports_of_the_readme_are_what_run_prints(emulator: Emulator) -> None:
    """Numbers of kernels may differ: they are those of the emulated operators."""
    for name, made in watched_runs().items():
        readme = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", README, re.DOTALL)
        assert readme
        assert without_kernels(readme[1]) == without_kernels(made), "out of date: run `make docs`"


def without_kernels(report: str) -> str:
    """The report without its row of kernels, and without the lines that only start some."""
    text = re.sub(r"^kernels .*\n|^ +\. +\. +\. .*\n|^\d+ more lines.*\n", "", report, flags=re.MULTILINE)
    return re.sub(r"^((?: +(?:[\d.]+|\.)){3}) +[\d.]+(?=  \S)", r"\1", text, flags=re.MULTILINE)

"""However a script ends, it ends as under Python itself, and what was counted up to then is there."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from npuport.device.choice import choose_device
from npuport.observe.measurement import Measurement
from npuport.observe.run import RunOptions, watch
from npuport.sources.errors import UsageError

pytest.importorskip("gymnasium")

CPU = choose_device("cpu")
SCRIPT = """\
import os, signal, sys, time
import gymnasium

env = gymnasium.make("CartPole-v1")
env.reset(seed=0)


def step(number):
    end = env.step(number % 2)
    if end[2] or end[3]:
        env.reset()
    if number == 20:
        {how}


for number in range(100):
    step(number)
print("done")
"""
ENDINGS = {
    "pass": ("finished", 0, ""),
    "sys.exit(3)": ("exited", 3, ""),
    "sys.exit('no more')": ("exited", 1, "no more"),
    "{}['a']": ("crashed", 1, "KeyError: 'a'"),
    "env.step(17)": ("crashed", 1, "AssertionError: 17 (<class 'int'>) invalid"),
    "raise RuntimeError('call failed\\n[ERROR] trailer\\nEZ1001: not implemented for DT_BOOL.\\n')": (
        "crashed",
        1,
        "RuntimeError: call failed; EZ1001: not implemented for DT_BOOL.",
    ),
    "raise KeyboardInterrupt": ("interrupted", 130, ""),
    "os._exit(4)": ("killed", 4, "exit status 4"),
    "time.sleep(2); env.step(0); os.kill(os.getpid(), signal.SIGKILL)": ("killed", 137, "SIGKILL"),
}


def script(folder: Path, text: str, name: str = "train.py") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def watched(path: str, *arguments: str, max_steps: int | None = None, max_updates: int | None = None) -> Measurement:
    return watch(
        RunOptions(
            path,
            arguments,
            device=CPU,
            capture_output=True,
            counting=False,
            max_steps=max_steps,
            max_updates=max_updates,
        )
    )


@pytest.mark.parametrize("how", ENDINGS)
def test_endings(how: str, tmp_path: Path) -> None:
    ending, status, error = ENDINGS[how]
    path = script(tmp_path, SCRIPT.replace("{how}", how))
    measured = watched(path)
    outcome = measured.outcome
    assert (outcome.ending, outcome.exit_status, outcome.error) == (ending, status, error)
    assert measured.transitions >= (100 if ending == "finished" else 20)
    if ending in ("crashed", "interrupted"):
        assert (outcome.place.filename, outcome.place.line, outcome.place.function) == (path, 13, "step")


@pytest.mark.parametrize(
    "text",
    [
        SCRIPT.replace("{how}", "env.step(17)"),
        "try:\n    {}['a']\nexcept KeyError as error:\n    raise ValueError('two\\nlines') from error\n",
        "def broken(:\n",
        "import missing_module\n",
        "raise KeyboardInterrupt\n",
        "import sys\nsys.exit('told')\n",
    ],
)
def test_said_and_ended_as_by_python(text: str, tmp_path: Path) -> None:
    path = script(tmp_path, text)
    plain = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    measured = watched(path)
    assert measured.output == plain.stdout + plain.stderr
    assert measured.outcome.exit_status == (plain.returncode if plain.returncode >= 0 else 128 - plain.returncode)


@pytest.mark.parametrize("arguments", [("--seed", "3"), ()])
def test_the_script_sees_what_python_gives_it(arguments: tuple[str, ...], tmp_path: Path) -> None:
    text = (
        "import sys, pickle\n"
        "class Kept: pass\n"
        "print(sys.argv, sys.path, __name__, __file__, sorted(globals()))\n"
        "print(type(pickle.loads(pickle.dumps(Kept()))) is Kept)\n"
    )
    path = script(tmp_path, text)
    plain = subprocess.run([sys.executable, path, *arguments], capture_output=True, text=True, check=True)
    assert watched(path, *arguments).output == plain.stdout


def test_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agent").mkdir()
    script(tmp_path / "agent", "")
    script(tmp_path / "agent", "import sys\nprint(sys.argv, __name__, __spec__.name, sys.path[0])\n", "main.py")
    monkeypatch.chdir(tmp_path)
    plain = subprocess.run([sys.executable, "-m", "agent.main", "x"], capture_output=True, text=True, check=True)
    measured = watch(RunOptions("agent.main", ("x",), module=True, device=CPU, capture_output=True))
    assert measured.output == plain.stdout
    assert measured.script == "-m agent.main"


def test_missing_script(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such script: .*none\.py"):
        watched(str(tmp_path / "none.py"))


@pytest.mark.parametrize("swallow", ["", "    except BaseException:\n        pass"])
def test_max_steps(swallow: str, tmp_path: Path) -> None:
    text = SCRIPT.replace("{how}", "pass")
    if swallow:
        text = text.replace("    step(number)\n", f"    try: step(number)\n{swallow}\n")
    measured = watched(script(tmp_path, text), max_steps=50)
    assert (measured.transitions, measured.outcome.ending, measured.outcome.exit_status) == (50, "steps", 0)
    # Whoever swallows the end is ended at the next step, with what was printed until then.
    assert measured.output == ""


def test_max_steps_runs_what_must_run_at_the_end(tmp_path: Path) -> None:
    text = SCRIPT.replace("{how}", "pass") + "print('never')\n"
    text = text.replace("for number", "import atexit\natexit.register(print, 'at exit')\nfor number")
    assert watched(script(tmp_path, text), max_steps=50).output == "at exit\n"


ENDLESS = """\
import gymnasium

env = gymnasium.make("CartPole-v1")
env.reset(seed=0)
print("ready", flush=True)
while True:
    end = env.step(0)
    if end[2]:
        env.reset()
"""
WATCHING = """\
import sys
from npuport.device.choice import choose_device
from npuport.observe.run import RunOptions, watch

outcome = watch(RunOptions(sys.argv[1], device=choose_device("cpu"), counting=False)).outcome
print(outcome.ending, outcome.exit_status, outcome.error, flush=True)
"""


@pytest.mark.parametrize(
    ("number", "told"), [(signal.SIGINT, "interrupted 130 "), (signal.SIGTERM, "killed 143 SIGTERM")]
)
def test_signals_reach_the_script(number: signal.Signals, told: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WATCHING, script(tmp_path, ENDLESS)]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline() == "ready\n"
        watching.send_signal(number)
        assert watching.stdout.read() == f"{told}\n"
    assert watching.returncode == 0

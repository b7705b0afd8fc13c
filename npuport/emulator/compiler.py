"""The C++ compiler: finding it, and running several at once."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from npuport.emulator.errors import EmulatorError

# What a compiler that reads ATen's headers takes at its peak, with room to spare.
_BYTES_A_COMPILER = 1_500_000_000


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler.

    Attributes:
        command: how it is called, without options.
        version: the first line that it says of itself.
    """

    command: tuple[str, ...]
    version: str

    def file_named(self, library: str) -> Path | None:
        """The file that linking to a library of the system takes; None where there is none."""
        done = subprocess.run(
            [*self.command, f"-print-file-name={library}"], capture_output=True, text=True, check=False
        )
        path = Path(done.stdout.strip())
        return path if path.is_absolute() and path.exists() else None


@dataclass(frozen=True)
class Step:
    """One call of the compiler.

    Attributes:
        what: the file that is made of, for messages.
        arguments: options and files.
    """

    what: str
    arguments: tuple[str, ...]


def find_compiler() -> Compiler:
    """The compiler that ``CXX`` names, else g++; EmulatorError where there is none that runs."""
    command = tuple(shlex.split(os.environ.get("CXX", ""))) or ("g++",)
    if shutil.which(command[0]) is None:
        raise EmulatorError(
            f"the emulated device is compiled on first use, and there is no {command[0]}; "
            "install it (Debian, Ubuntu: apt install g++; Fedora, openEuler: dnf install gcc-c++)"
        )
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EmulatorError(f"cannot run the compiler {command[0]}: {error}") from error
    if done.returncode or not done.stdout.strip():
        raise EmulatorError(f"the compiler {command[0]} does not run: {_last_line(done.stderr)}")
    return Compiler(command, done.stdout.splitlines()[0].strip())


def compilers_at_once() -> int:
    """As many as there are processors for this process and memory for their headers."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(len(os.sched_getaffinity(0)), memory // _BYTES_A_COMPILER))


def run_steps(compiler: Compiler, steps: Iterable[Step], folder: Path, finished: Callable[[], None]) -> None:
    """Run steps that do not depend on each other, several at once; ``finished`` is called after each.

    Raises:
        EmulatorError: a step failed; its output is kept in ``folder``. No compiler is left running.
    """
    waiting = list(steps)[::-1]
    running: list[tuple[Step, subprocess.Popen[bytes], Path]] = []
    try:
        while waiting or running:
            while waiting and len(running) < compilers_at_once():
                running.append(_started(compiler, waiting.pop(), folder))
            done = [one for one in running if one[1].poll() is not None]
            for one in done:
                running.remove(one)
                _raise_if_failed(compiler, *one)
                finished()
            if not done:
                time.sleep(0.02)
    finally:
        for _, process, _ in running:
            process.kill()
            process.wait()


def _started(compiler: Compiler, step: Step, folder: Path) -> tuple[Step, subprocess.Popen[bytes], Path]:
    output = folder / f"{step.what.replace('/', '_')}.log"
    with output.open("wb") as file:
        command: Sequence[str] = [*compiler.command, *step.arguments]
        # TMPDIR: what the compiler writes on the way lies in the folder of the build, and goes with it.
        environment = {**os.environ, "TMPDIR": str(folder), "LC_ALL": "C"}
        return step, subprocess.Popen(command, cwd=folder, stdout=file, stderr=file, env=environment), output


def _raise_if_failed(compiler: Compiler, step: Step, process: subprocess.Popen[bytes], output: Path) -> None:
    if process.returncode == 0:
        return
    text = output.read_text(encoding="utf-8", errors="replace")
    if "No space left on device" in text:
        raise EmulatorError(f"no room left on the device of {output.parent.parent} to build the emulated device")
    if process.returncode < 0:
        raise EmulatorError(
            f"{compiler.command[0]} was ended by signal {-process.returncode} on {step.what}; is there enough memory?"
        )
    raise CompileError(f"{compiler.command[0]} fails on {step.what}: {_first_error(text)}", text)


class CompileError(EmulatorError):
    """The compiler refuses a file.

    Attributes:
        output: all that it said.
    """

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message)
        self.output = output


def _first_error(text: str) -> str:
    lines = text.strip().splitlines()
    told = [line for line in lines if "error:" in line or "undefined reference" in line]
    return (told or lines or ["it said nothing"])[0].strip()


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]

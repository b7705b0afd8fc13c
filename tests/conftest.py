"""What many tests need: the installed command, and fixing a text without files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from npuport.analysis.module import ProjectFacts
from npuport.emulator.build import build_state, built_emulator
from npuport.emulator.environment import emulated_environment
from npuport.engine.checking import Checker, check_source
from npuport.engine.finding import Finding
from npuport.engine.fixing import Fixed, fix_source
from npuport.engine.registry import all_rules
from npuport.sources.text import SourceText

PORTABLE = "portable"
# One finding of NPU102 and nothing else.
SITE = "import torch\n\nx = torch.zeros(3).cuda()\n"
SITE_FIXED = "import torch\nimport torch_npu  # noqa: F401\n\nx = torch.zeros(3).npu()\n"


@dataclass(frozen=True)
class Run:
    """What one run of the command gave."""

    status: int
    stdout: bytes
    stderr: str

    @property
    def out(self) -> str:
        return self.stdout.decode("utf-8")

    @property
    def error(self) -> str:
        """The one line on stderr with which every failure is told."""
        assert "Traceback" not in self.stderr, self.stderr
        lines = self.stderr.splitlines()
        assert len(lines) == 1, self.stderr
        assert lines[0].startswith("npuport: error: ")
        return lines[0].removeprefix("npuport: error: ")


Command: TypeAlias = "Callable[..., Run]"


def environment(**changes: str) -> dict[str, str]:
    """The environment of a child, without what would change the command's behaviour."""
    outside = ("PRE_COMMIT", "FORCE_COLOR", "GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "PYTHONPATH")
    kept = {key: value for key, value in os.environ.items() if key not in outside}
    return {**kept, **changes}


@pytest.fixture
def npuport(tmp_path: Path) -> Command:
    """Runs the installed command in ``tmp_path``."""

    def run(*arguments: str | Path, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Run:
        done = subprocess.run(
            [sys.executable, "-m", "npuport", *map(str, arguments)],
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            env=environment(**(env or {})),
            check=False,
            timeout=60,
        )
        return Run(done.returncode, done.stdout, done.stderr.decode("utf-8"))

    return run


def checker(select: Iterable[str] = (), style: str = "npu", *, gate: bool = True) -> Checker:
    """All rules; the findings of those that are selected by code are reported."""
    codes = frozenset(select) or frozenset(rule.code for rule in all_rules())
    return Checker(all_rules(), codes, style, gate=gate, with_edits=True)


def findings_in(text: str, select: Iterable[str] = (), style: str = "npu", *, gate: bool = True) -> list[Finding]:
    """The findings of a text, with edits."""
    return check_source(checker(select, style, gate=gate), SourceText(Path("agent.py"), text), ProjectFacts()).findings


def fixed(text: str, style: str = "npu", select: Iterable[str] = (), *, unsafe: bool = False) -> Fixed:
    """The fixed text and what is left."""
    return fix_source(checker(select, style), SourceText(Path("agent.py"), text), ProjectFacts(), unsafe=unsafe)


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files by their relative names; texts are UTF-8, line ends as they are."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def git(folder: Path, *arguments: str) -> str:
    """Run git as nobody in particular and give its output."""
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True, env=environment()
    )
    return done.stdout


_RACE = "terminate called without an active exception"


@dataclass(frozen=True)
class Emulator:
    """The emulated device, built for the interpreter of the tests.

    Attributes:
        libraries: the folder of its libraries.
        environment: the environment of a child that runs on it, strict about dtypes, with one thread a process.
    """

    libraries: Path
    environment: dict[str, str]

    def run(
        self,
        code_or_script: str | Path,
        *arguments: str | Path,
        environment: Mapping[str, str] = {},
        cwd: Path | None = None,
        seconds: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run Python code (a text) or a script (a path) on the device.

        Args:
            code_or_script: what to run, with the interpreter of the tests.
            arguments: what ``sys.argv`` has after the first.
            environment: changes to the child's environment.
            cwd: where it runs; for code, modules are imported from here.
            seconds: how long it may take.

        Torch has a race at the end of a process: its autograd thread may still let go of the last graph, asks for the
        lock of an interpreter that is ending, and Python 3.11 takes the process down (read from a core dump). A run
        that met it is run again; what aborts for another reason does so each time.
        """
        what = [str(code_or_script)] if isinstance(code_or_script, Path) else ["-c", code_or_script]
        for _ in range(4):
            done = subprocess.run(
                [sys.executable, *what, *map(str, arguments)],
                cwd=cwd,
                env={**self.environment, **environment},
                capture_output=True,
                text=True,
                check=False,
                timeout=seconds,
            )
            if done.returncode == 0 or _RACE not in done.stderr:
                break
        return done


@pytest.fixture(scope="session")
def emulator() -> Emulator:
    """Builds the emulated device on first use; workers of xdist wait for each other in the cache of builds."""
    fault = build_state(sys.executable).fault
    if fault:
        pytest.skip(fault)
    libraries = built_emulator(sys.executable)
    return Emulator(libraries, emulated_environment(libraries, environment(OMP_NUM_THREADS="1")))

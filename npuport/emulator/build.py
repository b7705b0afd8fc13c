"""Builds the emulated device against the torch of an interpreter, once, and tells what state it is in."""

from __future__ import annotations

import hashlib
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from npuport.emulator import cache, environment
from npuport.emulator.compiler import CompileError, Compiler, Step, find_compiler, run_steps
from npuport.emulator.errors import EmulatorError
from npuport.emulator.missing_symbols import RUNTIME, Gaps, failing_functions, find_gaps
from npuport.emulator.refusal_table import refusal_table
from npuport.emulator.requirements import Installation, check_platform, installation
from npuport.emulator.shared_libraries import read_library

Progress = Callable[[int, int], None]

NATIVE = Path(__file__).parent / "native"
OPERATORS = "libopapi.so"
# All operators include this header, and through it ATen; it is compiled once.
PRECOMPILED = "calling_convention.h"

_RUNTIME_OPTIONS = ("-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden")
_OPERATOR_OPTIONS = ("-std=c++20", "-O1", "-fPIC", "-fvisibility=hidden")
# Our own Python that decides what is in a build.
_DECIDING = ("build.py", "compiler.py", "missing_symbols.py")


@dataclass(frozen=True)
class BuildState:
    """Whether the emulated device is built for an interpreter, or could be.

    Attributes:
        libraries: the folder of the build; None where it is not built yet.
        compiler: version of the compiler that would build it; empty where there is none.
        torch: version of torch; empty where it was not found.
        torch_npu: version of torch_npu; empty where it was not found.
        fault: why it cannot be built, in one line; empty where it can, or is.
    """

    libraries: Path | None
    compiler: str
    torch: str
    torch_npu: str
    fault: str


def built_emulator(python: str, progress: Progress | None = None) -> Path:
    """The folder of the emulated device's libraries, built now where it is not yet.

    Args:
        python: the interpreter that will run on the device; its torch and torch_npu are built against.
        progress: called with the number of files that are done, and of all.

    Raises:
        EmulatorError: it cannot be built; one line says why.
    """
    check_platform()
    installed = installation(python)
    compiler = find_compiler()
    key = _key(installed, compiler)
    builder = _Builder(installed, compiler, progress)
    try:
        return cache.find_or_make(cache.cache_folder(), key, builder.build)
    except CompileError as error:
        raise EmulatorError(f"{error}{_kept(error, key)}") from error


def build_state(python: str) -> BuildState:
    """What ``built_emulator`` would find; nothing is built and no error raised."""
    compiler: Compiler | None = None
    installed: Installation | None = None
    libraries: Path | None = None
    fault = ""
    try:
        check_platform()
        installed = installation(python)
        compiler = find_compiler()
        libraries = cache.find(cache.cache_folder(), _key(installed, compiler))
    except EmulatorError as error:
        fault = str(error)
    return BuildState(
        libraries,
        compiler.version if compiler else "",
        installed.torch_version if installed else "",
        installed.torch_npu_version if installed else "",
        fault,
    )


class _Builder:
    """One build, in a folder of its own."""

    def __init__(self, installed: Installation, compiler: Compiler, progress: Progress | None) -> None:
        self._installed = installed
        self._compiler = compiler
        self._progress = progress
        self._done = 0

    def build(self, folder: Path) -> None:
        """Fill an empty folder with the libraries and the folders that torch_npu asks for."""
        work = folder / "work"
        shutil.copytree(NATIVE, work)
        runtime, operators = _sources(work / "runtime"), _sources(work / "operators")
        precompiled = work / "operators" / PRECOMPILED
        steps = [self._runtime_step(work, source) for source in runtime]
        self._total = len(steps) + len(operators) + 3
        self._report()
        if precompiled.exists():
            steps.insert(0, self._operator_step(work, precompiled, "c++-header", f"{precompiled}.gch"))
            self._total += 1
        self._run(steps, work)
        gaps = find_gaps(self._installed, self._compiler)
        self._link_runtime(folder, work, gaps)
        self._run([self._operator_step(work, source, "c++", f"{source}.o") for source in operators], work)
        self._link_operators(folder, work)
        (folder / environment.REFUSALS).write_text(refusal_table(), encoding="utf-8")
        for name in environment.CANN_FOLDERS:
            (folder / environment.CANN / name).mkdir(parents=True)
        shutil.rmtree(work)

    def _run(self, steps: list[Step], work: Path) -> None:
        run_steps(self._compiler, steps, work, self._report_one)

    def _report_one(self) -> None:
        self._done += 1
        self._report()

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._total)

    def _runtime_step(self, work: Path, source: Path) -> Step:
        what = str(source.relative_to(work))
        return Step(what, (*_RUNTIME_OPTIONS, "-c", str(source), "-o", f"{source}.o"))

    def _operator_step(self, work: Path, source: Path, language: str, result: str) -> Step:
        include = self._installed.torch / "include"
        options = (*_OPERATOR_OPTIONS, "-isystem", str(include), "-x", language, "-c")
        return Step(str(source.relative_to(work)), (*options, str(source), "-o", result))

    def _link_runtime(self, folder: Path, work: Path, gaps: Gaps) -> None:
        """Link libascendcl twice: the first tells what it defines, the second has functions for what is missing."""
        objects = [str(path) for path in sorted((work / "runtime").glob("*.o"))]
        first = work / RUNTIME
        self._run([_link(RUNTIME, first, objects)], work)
        missing = work / "runtime" / "missing_symbols.cpp"
        missing.write_text(failing_functions(gaps.symbols - read_library(first).defined), encoding="utf-8")
        self._run([_link(RUNTIME, folder / RUNTIME, [*_RUNTIME_OPTIONS, *objects, str(missing)])], work)
        # The other libraries of CANN are only there to be found: all symbols are libascendcl's.
        for name in sorted(gaps.libraries - {RUNTIME}):
            run_steps(self._compiler, [_link(name, folder / name, _linked_to_runtime(folder))], work, lambda: None)

    def _link_operators(self, folder: Path, work: Path) -> None:
        objects = [str(path) for path in sorted((work / "operators").glob("*.o"))]
        torch = ("-L", str(self._installed.torch / "lib"), "-ltorch_cpu", "-lc10")
        self._run([_link(OPERATORS, folder / OPERATORS, [*objects, *torch, *_linked_to_runtime(folder)])], work)


def _sources(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.cpp"))


def _link(name: str, result: Path, inputs: list[str]) -> Step:
    return Step(name, ("-shared", "-o", str(result), f"-Wl,-soname,{name}", *inputs))


def _linked_to_runtime(folder: Path) -> list[str]:
    return ["-Wl,--no-as-needed", str(folder / RUNTIME), "-Wl,-rpath,$ORIGIN"]


def _key(installed: Installation, compiler: Compiler) -> str:
    """The name of a build: versions, to read, and the hash of all that it is made of."""
    parts = hashlib.blake2b(digest_size=8)
    for text in (platform.machine(), *compiler.command, compiler.version):
        parts.update(text.encode() + b"\0")
    parts.update(refusal_table().encode())
    for path in _ingredients():
        parts.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"torch-{installed.torch_version}-torch_npu-{installed.torch_npu_version}-{parts.hexdigest()}"


def _ingredients() -> Iterator[Path]:
    yield from sorted(path for path in NATIVE.rglob("*") if path.suffix in (".cpp", ".h"))
    yield from (Path(__file__).parent / name for name in _DECIDING)


def _kept(error: CompileError, key: str) -> str:
    """Keep what the compiler said, where that is possible."""
    path = cache.cache_folder() / f"{key}.log"
    try:
        path.write_text(error.output, encoding="utf-8")
    except OSError:
        return ""
    return f"; the rest of its output is in {path}"

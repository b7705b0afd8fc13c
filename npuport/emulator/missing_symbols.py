"""What torch_npu links to and nobody defines.

torch_npu's libraries are bound when they are loaded, so that every symbol must be there, even those that a
reinforcement-learning agent never reaches (kernels from files, dumps, shared memory, ATB). The names are read from the
wheel itself: what its libraries leave undefined, less what torch, the system and our own library define. Each gets a
function that fails by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from npuport.emulator.compiler import Compiler
from npuport.emulator.requirements import Installation
from npuport.emulator.shared_libraries import SharedLibrary, read_library

RUNTIME = "libascendcl.so"

# The interpreter's own symbols; which library holds them differs between builds of Python.
_PYTHON = re.compile(r"_?Py[A-Z_]|_Z.*_PyObject")
# Functions of CANN that make an object and give a pointer; all its other C functions give a result code.
_MAKES_OBJECT = re.compile(r"acl(?!rt)\w*Create\w+")
_GIVES_CODE = re.compile(r"acl|rt[A-Z]|Msprof|Hccl|Hcom")


@dataclass(frozen=True)
class Gaps:
    """What CANN has to fill for a torch_npu.

    Attributes:
        libraries: file names of the libraries that it is linked to and that are nowhere, such as ``libhccl.so``.
        symbols: the symbols that neither torch nor the system defines, ``libascendcl``'s among them.
    """

    libraries: frozenset[str]
    symbols: frozenset[str]


def find_gaps(installed: Installation, compiler: Compiler) -> Gaps:
    """Read the wheel's libraries and all that they are linked to."""
    own = [*sorted((installed.torch_npu / "lib").glob("*.so")), *sorted(installed.torch_npu.glob("_C*.so"))]
    read = {path.name: read_library(path) for path in own}
    undefined = frozenset[str]().union(*(library.undefined for library in read.values()))
    missing: set[str] = set()
    for name in _needed(read.values()) - read.keys():
        path = _find_library(name, installed, compiler)
        if path is None:
            missing.add(name)
        else:
            read[name] = read_library(path)
    defined = frozenset[str]().union(*(library.defined for library in read.values()))
    return Gaps(frozenset(missing), frozenset(name for name in undefined - defined if not _PYTHON.match(name)))


def failing_functions(symbols: Iterable[str]) -> str:
    """C++ source with one function for each symbol, which fails by its name.

    A C function of CANN gives a result code, or nullptr where it makes an object, and leaves a message for
    ``aclGetRecentErrMsg``. What a C++ function gives cannot be told from its name: it throws.
    """
    lines = [
        "// Written by the build: functions that torch_npu links to and that are not emulated.",
        "#include <stdexcept>",
        "",
        '#define EXPORT extern "C" __attribute__((visibility("default")))',
        'extern "C" int npuport_not_emulated(const char* function);',
        "namespace {",
        '[[noreturn]] void refuse(const char* function) { throw std::runtime_error(std::string("emulated device: ")',
        '    + function + " is not emulated"); }',
        "}  // namespace",
    ]
    for name in sorted(symbols):
        if _MAKES_OBJECT.match(name):
            lines.append(f'EXPORT void* {name}() {{ npuport_not_emulated("{name}"); return nullptr; }}')
        elif _GIVES_CODE.match(name):
            lines.append(f'EXPORT int {name}() {{ return npuport_not_emulated("{name}"); }}')
        else:
            lines.append(f'EXPORT void {name}() {{ refuse("{name}"); }}')
    return "\n".join(lines) + "\n"


def _needed(libraries: Iterable[SharedLibrary]) -> set[str]:
    return {name for library in libraries for name in library.needed}


def _find_library(name: str, installed: Installation, compiler: Compiler) -> Path | None:
    bundled = (installed.torch / "lib", installed.torch_npu.parent / "torch_npu.libs")
    for folder in bundled:
        if (folder / name).exists():
            return folder / name
    return compiler.file_named(name)

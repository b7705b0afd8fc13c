"""Which dtypes the C++ source of a CANN kernel checks its arguments for.

The pages of the kernels are behind their sources: ``aclnnErfc`` and ``aclnnFloorDivide`` take bfloat16 on an Ascend
910B, which no page says, and ``aclnnL1Loss`` checks the promoted dtype, so that a bool beside a float32 passes. What is
read here is each ``aclnn_*.cpp``: its lists of dtypes, and the checks that name an argument and a list. A list counts
whatever the processor that it is for.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# A name of one dtype in the sources that the messages write otherwise.
_OTHERWISE = {"DT_BF16": "DT_BFLOAT16"}
_DECLARED = re.compile(r"aclnnStatus\s+(aclnn\w+?)GetWorkspaceSize\s*\(([^)]*)\)")
_LIST = re.compile(r"initializer_list<[^>]*>&?\s*(\w+)\s*=\s*\{([^}]*)\}")
_FUNCTION = re.compile(r"initializer_list<[^>]*>&?\s+(\w+)\s*\([^)]*\)\s*\{(.*?)\n\}", re.DOTALL)
_ASSIGNED = re.compile(r"\b(\w+)\s*=\s*([^;=]+);")
# A check in place, and a check by a function of another file, which is given lists.
_CHECK = re.compile(r"OP_CHECK_DTYPE_NOT_SUPPORT\(\s*(\w+)\s*,([^;]*?),\s*return|\bCheck\w*\(([\w\s,]*)\)")


@dataclass(frozen=True)
class SourceFile:
    """The source of one or more kernels."""

    text: str

    @cached_property
    def lists(self) -> dict[str, frozenset[str]]:
        """The named lists of dtypes."""
        return {found[1]: _dtypes(found[2]) for found in _LIST.finditer(self.text)}

    @cached_property
    def promotes(self) -> bool:
        """Whether dtypes are promoted to a common one, which may be what is checked."""
        return "PromoteType(" in self.text

    def checked(self, argument: str) -> frozenset[str]:
        """The dtypes for which an argument is checked; empty where no check of it alone is found."""
        found: set[str] = set()
        for name, expression, names in _CHECK.findall(self.text):
            words = set(re.findall(r"\w+", names))
            if name == argument:
                found |= self._lists_behind(expression)
            elif argument in words:
                found |= words & self.lists.keys()
        return frozenset[str]().union(*[self.lists[name] for name in found])

    @cached_property
    def _meanings(self) -> dict[str, set[str]]:
        """The words in what each function of lists, and each variable, stands for."""
        meanings: dict[str, set[str]] = defaultdict(set)
        for pattern in (_FUNCTION, _ASSIGNED):
            for name, value in pattern.findall(self.text):
                meanings[name] |= set(re.findall(r"\w+", value))
        return meanings

    def _lists_behind(self, expression: str) -> set[str]:
        """The lists that an expression names, through variables and functions of the file."""
        waiting, seen = set(re.findall(r"\w+", expression)), set[str]()
        while waiting:
            word = waiting.pop()
            seen.add(word)
            waiting |= self._meanings.get(word, set()) - seen
        return seen & self.lists.keys()


@dataclass(frozen=True)
class KernelSource:
    """The source of one kernel and the arguments of its C function, by name and in their order."""

    arguments: tuple[str, ...]
    file: SourceFile

    def taken(self, position: int) -> frozenset[str]:
        """The dtypes that an argument may be; empty where the source does not tell.

        An argument without a check of its own may be whatever the file lists, unless dtypes are promoted first.
        """
        own = self.file.checked(self.arguments[position])
        if own or self.file.promotes:
            return own
        return frozenset[str]().union(*self.file.lists.values())


def kernel_sources(folders: Iterable[Path]) -> dict[str, KernelSource]:
    """The sources of all kernels in checkouts of CANN's operator libraries, by kernel."""
    found = {}
    for path in _files(folders):
        file = SourceFile(path.read_text(encoding="utf-8", errors="replace"))
        for declared in _DECLARED.finditer(file.text):
            names = tuple(re.findall(r"\w+", argument)[-1] for argument in declared[2].split(","))
            found[declared[1]] = KernelSource(names, file)
    return found


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted(path for path in folder.rglob("aclnn_*.cpp") if "experimental" not in path.parts)


def _dtypes(text: str) -> frozenset[str]:
    return frozenset(_OTHERWISE.get(name, name) for name in re.findall(r"DT_[A-Z0-9]+", text))

"""What one file may need to know of the others, from a scan of their imports and class headers.

The scan reads text with regular expressions, not syntax trees: it runs over every file, also those that have
nothing to check, and a wrong guess only moves a finding between certain and likely.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from npuport.analysis.module import ProjectFacts
from npuport.analysis.vocabulary import DEVICE_PICKING_LIBRARIES, GPU_LIBRARIES

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+([^\r\n#]+)|import[ \t]+([\w., \t]+))", re.MULTILINE
)
_CUDA_METHOD = re.compile(rb"^[ \t]+def[ \t]+cuda[ \t]*\(", re.MULTILINE)
_CLASS = re.compile(rb"^class[ \t]+(\w+)[ \t]*(\([^)]*\))?[ \t]*:", re.MULTILINE)
_TORCH_IMPORT = re.compile(rb"^[ \t]*(?:import|from)[ \t]+torch\b", re.MULTILINE)


_NAMES = "|".join(sorted(GPU_LIBRARIES)).encode()
_FOREIGN_IMPORT = re.compile(rb"^[ \t]*(?:import|from)[ \t]+(?:" + _NAMES + rb")\b", re.MULTILINE)


@dataclass(frozen=True)
class FileFacts:
    """What a scan of one file tells the others.

    Attributes:
        imports_torch: whether it imports torch.
        imported: last parts of the modules that it imports, e.g. ``config`` for ``from .config import x``; None
            where nobody needed to know.
        classes_with_cuda: its classes, not ``nn.Module``, with a method ``cuda``.
        transfer_to_npu: it mentions ``torch_npu.contrib.transfer_to_npu``.
    """

    imports_torch: bool
    imported: frozenset[str] | None
    classes_with_cuda: frozenset[str]
    transfer_to_npu: bool


# What a file tells that is not Python.
NO_FACTS = FileFacts(False, frozenset(), frozenset(), False)


def scan(data: bytes, *, imports: bool = False) -> FileFacts:
    """The facts of one file; with ``imports`` also what it imports, which only files without torch ask for."""
    torch = b"torch" in data and bool(_TORCH_IMPORT.search(data))
    return FileFacts(
        torch,
        (_imported_modules(data) if torch else frozenset()) if imports else None,
        _classes_with_cuda(data) if b"def cuda" in data else frozenset(),
        b"transfer_to_npu" in data,
    )


def imports_foreign_library(data: bytes) -> bool:
    """Whether a file belongs to a library with GPU names of its own, so that its importers do not matter."""
    return bool(_FOREIGN_IMPORT.search(data))


def _imported_modules(data: bytes) -> frozenset[str]:
    names: set[bytes] = set()
    for module, members, plain in _IMPORT.findall(data):
        for dotted in plain.split(b",") if plain else (module,):
            words = dotted.split()
            if words:
                names.add(words[0].rpartition(b".")[2])
        # from package import module
        names.update(word.split()[0] for word in members.strip(b" ()\\").split(b",") if word.split())
    return frozenset(name.decode("ascii", "replace") for name in names if name)


def _classes_with_cuda(data: bytes) -> frozenset[str]:
    found: set[str] = set()
    headers = list(_CLASS.finditer(data))
    ends = [*(following.start() for following in headers[1:]), len(data)]
    for header, end in zip(headers, ends, strict=False):
        body = data[header.end() : end]
        bases = header.group(2) or b""
        if _CUDA_METHOD.search(body) and b"Module" not in bases:
            found.add(header.group(1).decode())
    return frozenset(found)


def relate(files: Mapping[Path, FileFacts]) -> dict[Path, ProjectFacts]:
    """The project facts of every file."""
    used = {name for facts in files.values() if facts.imports_torch for name in facts.imported or ()}
    classes = frozenset(name for facts in files.values() for name in facts.classes_with_cuda)
    transfer = any(facts.transfer_to_npu for facts in files.values())
    own = DEVICE_PICKING_LIBRARIES.intersection(path.parent.name for path in files if path.name == "__init__.py")
    return {
        path: ProjectFacts(
            used_by_torch=not facts.imports_torch and _module_name(path) in used,
            classes_with_cuda=classes,
            transfer_to_npu=transfer,
            own_libraries=own,
        )
        for path, facts in files.items()
    }


def _module_name(path: Path) -> str:
    return path.parent.name if path.stem == "__init__" else path.stem

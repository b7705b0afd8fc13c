"""Portable style in a package: one module with the helper names where three or more of its files need them.

A script or notebook keeps its own two lines, since it must run from anywhere; a module of an import package can import.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from npuport.sources.reading import NOTEBOOK

MODULE_NAME = "device_names"
ENOUGH_FILES = 3

TEXT = '''"""The device of this machine: an NPU where torch_npu offers one, else what the program asked for before."""

import torch

DEVICE_TYPE = "npu" if hasattr(torch, "npu") and torch.npu.is_available() else "cuda"
device_module = getattr(torch, DEVICE_TYPE)
'''
_DEFINES_HELPER = re.compile(r"^DEVICE_TYPE = ", re.MULTILINE)
_IS_SCRIPT = re.compile(r"^if __name__ ==", re.MULTILINE)


def top_package(path: Path) -> Path | None:
    """The outermost folder around a file up to which every folder has an ``__init__.py``."""
    folder = path.absolute().parent
    found = None
    while (folder / "__init__.py").is_file():
        found, folder = folder, folder.parent
    return found


def shared_imports(texts: Mapping[Path, tuple[str, str]]) -> dict[Path, str]:
    """Which files should import the names, and by which words.

    Args:
        texts: the text of each changed file before and after a fix with helper lines of its own.

    Returns:
        For each file ``from <module> import``, to be followed by the names.
    """
    needy: dict[Path, list[Path]] = defaultdict(list)
    for path, (before, after) in texts.items():
        package = top_package(path)
        defines = _DEFINES_HELPER.search(after) and not _DEFINES_HELPER.search(before)
        if package is not None and defines and path.suffix != NOTEBOOK and not _IS_SCRIPT.search(before):
            needy[package].append(path)
    words: dict[Path, str] = {}
    for package, paths in needy.items():
        if len(paths) >= ENOUGH_FILES or shared_module(package).exists():
            words.update((path, _import_words(path, package, texts[path][0])) for path in paths)
    return words


def shared_module(package: Path) -> Path:
    """Where the names of a package live."""
    return package / f"{MODULE_NAME}.py"


def new_modules(paths: Iterable[Path]) -> list[Path]:
    """The modules that have to be made for these files."""
    packages = {package for path in paths if (package := top_package(path)) is not None}
    return sorted(module for package in packages if not (module := shared_module(package)).exists())


def _import_words(path: Path, package: Path, text: str) -> str:
    """Relative where the file imports its siblings relatively, else by the package's name."""
    tree = ast.parse(text)
    relative = any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(tree))
    if relative:
        depth = len(path.absolute().parent.relative_to(package).parts)
        return f"from {'.' * (depth + 1)}{MODULE_NAME} import"
    return f"from {package.name}.{MODULE_NAME} import"

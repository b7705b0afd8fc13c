"""Every name below ``torch.npu`` that a fix can write exists in the torch_npu wheel.

The wheel cannot be imported without CANN, so its files are read.
"""

from __future__ import annotations

import ast
import importlib.util
from functools import cache
from pathlib import Path

import pytest

from npuport.analysis.module import ProjectFacts
from npuport.engine.checking import Checker
from npuport.engine.fixing import fix_source
from npuport.engine.registry import all_rules
from npuport.facts import api
from npuport.sources.text import SourceText
from tests.fixture_files import FIXTURES

# Tensor types are registered by the C++ part under torch.npu (torch_npu/csrc); the legacy types of idioms.md
# were tried under the real wheel.
_TENSOR_TYPES = {
    f"{kind}Tensor" for kind in ("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
}


def wheel() -> Path | None:
    """The folder of the installed torch_npu, without importing it."""
    spec = importlib.util.find_spec("torch_npu")
    return Path(spec.origin).parent if spec and spec.origin else None


needs_wheel = pytest.mark.skipif(wheel() is None, reason="torch_npu is not installed; `make test` installs it")


@cache
def bound_in(file: Path) -> frozenset[str]:
    """Names that a module of the wheel binds at its top, star imports and ``__all__`` included."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import):
            names.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
            if any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
                names.update(
                    n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant) and isinstance(n.value, str)
                )
    return frozenset(names)


def exists(parts: list[str]) -> bool:
    """Whether ``torch.npu.<parts>`` is found in the files of the wheel."""
    folder = wheel()
    assert folder is not None
    npu = folder / "npu"
    first, *rest = parts
    if first not in bound_in(npu / "__init__.py") | _TENSOR_TYPES and not (npu / f"{first}.py").exists():
        return False
    if not rest or first[0].isupper():  # methods of a class are torch's own: Event, Stream
        return True
    return any(rest[0] in bound_in(file) | _attributes(file) for file in npu.rglob("*.py"))


@cache
def _attributes(file: Path) -> frozenset[str]:
    """Names that a module's objects answer to by ``__setattr__``: compared as texts there (``allow_hf32``)."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))


def emitted(text: str) -> set[str]:
    """The dotted names below torch.npu in a Python text."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        dotted = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        if dotted.startswith(("torch.npu.", "th.npu.", "torch_npu.npu.")) and "(" not in dotted:
            found.add(dotted.partition("npu.")[2].removeprefix("npu."))
    return found


def every_cuda_name_ported() -> str:
    """What fix makes of a file that uses every torch.cuda name of the facts."""
    names = sorted(
        name for name in api._table() if name.startswith("torch.cuda.") and name.replace(".", "").isidentifier()
    )
    text = "import torch\n\n" + "".join(f"print({name})\n" for name in names)
    checker = Checker(all_rules(), frozenset(rule.code for rule in all_rules()), with_edits=True)
    fixed = fix_source(checker, SourceText(Path("names.py"), text), ProjectFacts(), unsafe=True)
    assert fixed.fault == ""
    return fixed.text


@needs_wheel
def test_twins_of_all_cuda_names_exist() -> None:
    names = emitted(every_cuda_name_ported())
    assert len(names) > 90
    assert {name for name in names if not exists(name.split("."))} == set()


@needs_wheel
def test_names_of_all_fixed_fixtures_exist() -> None:
    files = [*(FIXTURES / "rules").glob("*.fixed.py"), *(FIXTURES / "rules").glob("*.portable.py")]
    names = {name for file in files for name in emitted(file.read_text(encoding="utf-8"))}
    names = {name for name in names if not _is_own_attribute(name)}
    assert len(names) > 10
    assert {name for name in names if not exists(name.split("."))} == set()


def _is_own_attribute(name: str) -> bool:
    """Names of fixtures that already spoke of the NPU before the fix are the fixture's business."""
    return any(name in file.read_text(encoding="utf-8") for file in (FIXTURES / "rules").glob("*[0-9].py"))

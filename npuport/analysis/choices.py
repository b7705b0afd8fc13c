"""The halves of a choice between devices: the test that asks for CUDA and the strings that name it."""

from __future__ import annotations

import ast
import re

from npuport.analysis.device_evidence import called_name, target_name
from npuport.analysis.device_roles import Role
from npuport.analysis.device_strings import device_strings
from npuport.analysis.module import Module, Reference
from npuport.analysis.vocabulary import TEXT_KEYWORDS, TEXT_SINKS, is_device_name, words_of

# What names CUDA and may be handed on: a device, Lightning's accelerator, a legacy tensor type.
_CUDA_WORD = re.compile(r"cuda(:\d+)?|gpu|torch\.cuda\.\w+Tensor")
_UNKNOWN_QUESTION = re.compile(r"\.cuda\.(is_available|device_count)$")
AVAILABILITY = ("torch.cuda.is_available", "torch.cuda.device_count", "torch.cuda.is_initialized")


def partners(module: Module) -> dict[ast.AST, tuple[ast.AST, ...]]:
    """For each test or string that is half of a choice, the nodes that must change in the same edit.

    ``"cuda" if torch.cuda.is_available() else "cpu"`` has both halves in one expression; in
    ``use_cuda = torch.cuda.is_available()`` and ``"cuda" if use_cuda else "cpu"`` a variable joins them.
    """
    found = module.memo.get("choice_partners")
    if found is None:
        found = module.memo["choice_partners"] = _find(module)
    return found  # type: ignore[return-value]


def _find(module: Module) -> dict[ast.AST, tuple[ast.AST, ...]]:
    tests_by_flag = _flags(module)
    groups: dict[ast.AST, set[ast.AST]] = {}
    _join_conditions(module, groups)
    for site in device_strings(module):
        if site.role is not Role.VALUE:
            continue
        for question in _asked_before(module, site.node, tests_by_flag):
            groups.setdefault(site.node, set()).add(question)
            groups.setdefault(question, set()).add(site.node)
    return {node: tuple(others) for node, others in groups.items()}


def unported_arms(module: Module) -> dict[ast.AST, str]:
    """For each availability test that leads to a CUDA word of unknown meaning, that word.

    ``devices.append("cuda")``, ``Trainer(accelerator="gpu")`` or ``Kind.CUDA`` stays as it is, so the test
    must not come true on an NPU unseen.
    """
    found = module.memo.get("unported_arms")
    if found is None:
        found = module.memo["unported_arms"] = _find_unported(module)
    return found  # type: ignore[return-value]


def unknown_question(module: Module, node: ast.AST) -> str:
    """The test for CUDA around ``node`` that npuport cannot change, ``self.torch.cuda.is_available``; else ""."""
    known = {reference.node for reference in _availability_tests(module)}
    for test in _tests_around(module, node):
        for asked in ast.walk(test):
            if (
                isinstance(asked, ast.Attribute)
                and asked not in known
                and _UNKNOWN_QUESTION.search(module.text_of(asked))
            ):
                return module.text_of(asked)
    return ""


def _find_unported(module: Module) -> dict[ast.AST, str]:
    if not _availability_tests(module):
        return {}
    tests_by_flag = _flags(module)
    known = {site.node for site in device_strings(module) if site.role is not Role.MEMBER}
    words: list[ast.expr] = [node for node in module.index.strings if _CUDA_WORD.fullmatch(str(node.value))]
    words += module.index.attributes.get("CUDA", ())
    return {
        question: module.text_of(word)
        for word in words
        if word not in known and _is_value(module, word)
        for question in _asked_before(module, word, tests_by_flag)
    }


def _is_value(module: Module, word: ast.expr) -> bool:
    """Whether a word may decide about a device: no key, no text for people, no side of a comparison.

    "gpu" is many things; it counts under a name that speaks of devices, as in ``accelerator="gpu"``.
    """
    child: ast.AST = word
    parent = module.parent(child)
    listed = False
    while isinstance(parent, _PASSES_ON):
        listed = listed or isinstance(parent, ast.List | ast.Tuple | ast.Set)
        child, parent = parent, module.parent(parent)
    if isinstance(parent, ast.Dict) and child in parent.keys:
        return False
    name = _receiver(module, parent, child)
    is_text = name in TEXT_SINKS or name in TEXT_KEYWORDS or not TEXT_KEYWORDS.isdisjoint(words_of(name)[-1:])
    if isinstance(word, ast.Constant) and word.value == "gpu":
        return name == "accelerator" or is_device_name(name)
    joins_text = isinstance(parent, ast.BinOp) and not listed  # lists are joined by + too
    return not is_text and not joins_text and not isinstance(parent, _NO_VALUE)


def _receiver(module: Module, parent: ast.AST | None, child: ast.AST) -> str:
    """The name under which a value is handed on: a keyword, a target, a key, a function's name."""
    if isinstance(parent, ast.keyword):
        call = module.parent(parent)
        function = called_name(call) if isinstance(call, ast.Call) else ""
        return function if function in TEXT_SINKS else parent.arg or ""
    if isinstance(parent, ast.Call):
        return called_name(parent)
    if isinstance(parent, ast.Assign):
        return target_name(parent.targets[0]) or ""
    if isinstance(parent, ast.Dict):
        key = parent.keys[parent.values.index(child)] if child in parent.values else None
        return str(key.value) if isinstance(key, ast.Constant) else ""
    return ""


# A value passes through these to what takes it.
_PASSES_ON = (ast.IfExp, ast.BoolOp, ast.List, ast.Tuple, ast.Set, ast.Starred)
# What takes a value and makes no device of it.
_NO_VALUE = (ast.Subscript, ast.Compare, ast.FormattedValue, ast.JoinedStr, ast.Expr)


def _asked_before(module: Module, node: ast.AST, tests_by_flag: dict[str, list[ast.AST]]) -> list[ast.AST]:
    """The availability tests, direct or through a flag, that decide whether ``node`` runs."""
    asked: list[ast.AST] = []
    for test in _tests_around(module, node):
        asked += (r.node for r in _availability_tests(module) if _inside(module, r.node, test))
        for name in ast.walk(test):
            if isinstance(name, ast.Name | ast.Attribute):
                asked += tests_by_flag.get(name.id if isinstance(name, ast.Name) else name.attr, [])
    return asked


def availability_around(module: Module, node: ast.AST) -> tuple[ast.AST, ...]:
    """The availability tests of the conditional expressions whose arms hold ``node``."""
    tests = [test for test in _tests_around(module, node) if isinstance(module.parent(test), ast.IfExp)]
    return tuple(r.node for r in _availability_tests(module) if any(_inside(module, r.node, test) for test in tests))


def _join_conditions(module: Module, groups: dict[ast.AST, set[ast.AST]]) -> None:
    """``device.type == "cuda" and not torch.cuda.is_available()``: both ask for the same device."""
    conditions: dict[ast.AST, list[ast.AST]] = {}
    halves: list[ast.AST] = [*(s.node for s in device_strings(module)), *(r.node for r in _availability_tests(module))]
    for half in halves:
        around = module.parent(half)
        while isinstance(around, ast.expr):
            if isinstance(around, ast.BoolOp | ast.Subscript):  # also ["cpu", "cuda"][torch.cuda.is_available()]
                conditions.setdefault(around, []).append(half)
            around = module.parent(around)
    for joined in conditions.values():
        for half in joined:
            groups.setdefault(half, set()).update(other for other in joined if other is not half)


def _availability_tests(module: Module) -> list[Reference]:
    found = module.memo.get("availability_tests")
    if found is None:
        tests = [reference for reference in module.references if reference.dotted in AVAILABILITY]
        found = module.memo["availability_tests"] = tests
    return found  # type: ignore[return-value]


def _flags(module: Module) -> dict[str, list[ast.AST]]:
    """Names that hold the answer of an availability test, with the references that ask."""
    flags: dict[str, list[ast.AST]] = {}
    for reference in _availability_tests(module):
        statement = module.statement(reference.node)
        if (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and not isinstance(statement.value, ast.IfExp)
        ):
            target = statement.targets[0]
            if isinstance(target, ast.Name | ast.Attribute):
                flags.setdefault(target.id if isinstance(target, ast.Name) else target.attr, []).append(reference.node)
    return flags


def _tests_around(module: Module, node: ast.AST) -> list[ast.expr]:
    """Tests of the conditional expressions and the nearest ``if`` statement whose arms hold ``node``."""
    tests: list[ast.expr] = []
    child = node
    for ancestor in module.ancestors(node):
        if isinstance(ancestor, ast.IfExp) and child is not ancestor.test:
            tests.append(ancestor.test)
        elif isinstance(ancestor, ast.If):
            if child is not ancestor.test:
                tests.append(ancestor.test)
            break
        elif isinstance(ancestor, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            break
        child = ancestor
    return tests


def _inside(module: Module, node: ast.AST, around: ast.AST) -> bool:
    return node is around or any(ancestor is around for ancestor in module.ancestors(node))

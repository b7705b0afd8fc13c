"""The one planner of imports and helper lines: where they go, once a file, and in which order."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from npuport.analysis.module import Module
from npuport.analysis.vocabulary import library_of
from npuport.analysis.walk import Binding, modules_of
from npuport.engine.fix import NotFixable
from npuport.engine.rendering import Edit
from npuport.engine.writer import Need, free_name, helper_definition, local_name, type_checking_only

_IMPORT_TORCH_NPU = "import torch_npu  # noqa: F401"
_HELPERS: tuple[str, ...] = ("DEVICE_TYPE", "device_module")
_ORDER = {"torch": 0, "torch_npu": 1, "DEVICE_TYPE": 2, "device_module": 3}
_PROBE = 'hasattr({torch}, "npu") and {torch}.npu.is_available()'


def plan(module: Module, needs: Iterable[Need], first_use: int) -> list[Edit]:
    """Edits that add what ``needs`` asks for and the file does not have yet.

    Args:
        module: the file.
        needs: names that fixes rely on.
        first_use: character offset of the first place that uses a helper name.

    Raises:
        NotFixable: there is no sound place, e.g. torch is bound in a ``try``.
    """
    wanted = sorted(set(needs), key=lambda need: (_ORDER.get(need.name, 9), need.name))
    edits: list[Edit] = []
    scopes = [scope for scope in dict.fromkeys(need.scope for need in wanted) if scope is not None]
    for scope in scopes:
        edits += _plan_in_function(module, scope, [need for need in wanted if need.scope is scope])
    names = [need for need in wanted if need.scope is None]
    edits += _plan_torch_npu(module, names)
    edits += _plan_helpers(module, names, first_use)
    return edits


def _plan_torch_npu(module: Module, needs: list[Need]) -> list[Edit]:
    """``import torch_npu`` right below ``import torch``: unguarded, it should fail loudly where it is missing.

    Where only parts of torch are imported it stands above the first, since ``from torch.npu import ...`` needs it.
    """
    if not any(need.name == "torch_npu" for need in needs) or "torch_npu" in module.libraries:
        return []
    whole, parts = _torch_imports(module)
    if whole is not None and not (parts and _names_cuda(module, parts[0]) and parts[0].lineno < whole.lineno):
        return [_line_after(module, whole, _IMPORT_TORCH_NPU)]
    return [_line_before(module, parts[0], _IMPORT_TORCH_NPU)] if parts else []


def _plan_helpers(module: Module, needs: list[Need], first_use: int) -> list[Edit]:
    names = {need.name for need in needs}
    present = {name: helper_definition(module, name) for name in _HELPERS if name in names}
    missing = [name for name, definition in present.items() if definition is None]
    if any(
        definition is not None and module.branches.span(definition)[0] > first_use for definition in present.values()
    ):
        raise NotFixable("the helper name is defined below the code that needs it")
    lines_there = module.source.text.splitlines()
    aliases = [need.line for need in needs if need.line and need.line not in lines_there]
    functions = [need.function for need in needs if need.function]
    shared = bool(missing and module.project.helper_import)
    if shared:
        lines = [f"{module.project.helper_import} {', '.join(_used_directly(needs, missing))}", *aliases]
    else:
        lines = [*_helper_lines(module, names, missing), *aliases]
    if not lines and not functions:
        return []
    anchor = _helper_anchor(module, first_use)
    if functions:
        return [_functions_after(module, anchor, lines, functions)]
    if lines[0] == "import torch":
        lines = lines if lines[-1] else lines[:-1]
        joins = True
    else:
        joins = _is_own_import(anchor) if shared else _is_helper(module, anchor)
    return [_line_after(module, anchor, *lines, before="" if joins else module.source.line_end)]


def _functions_after(module: Module, anchor: ast.stmt | None, lines: list[str], functions: list[str]) -> Edit:
    """Helper lines, and functions below them with two empty lines around each."""
    row = (anchor.end_lineno or anchor.lineno) if anchor is not None else 0
    below = module.source.text.splitlines()[row : row + 2]
    above = ["", *lines] if lines and not _is_helper(module, anchor) else lines
    text = [line for function in functions for line in ("", "", *function.splitlines())]
    return _line_after(module, anchor, *above, *text, *([""] * (2 - sum(not line.strip() for line in below))))


def _is_own_import(anchor: ast.stmt | None) -> bool:
    """Whether a line that imports from the own package may follow directly."""
    return isinstance(anchor, ast.ImportFrom) and anchor.level > 0


def _used_directly(needs: list[Need], missing: list[str]) -> list[str]:
    """The names that the fixes write; ``DEVICE_TYPE`` may be there for ``device_module`` only."""
    written = {need.name for need in needs if not need.implied}
    return [name for name in missing if name in written]


def _helper_lines(module: Module, names: set[str], missing: list[str]) -> list[str]:
    lines: list[str] = []
    bound = module.index.bindings[module.tree]
    torch = next((name for name, bs in bound.items() if any(_at_run_time(module, b) for b in bs)), None)
    if torch is None and ("torch" in names or missing):
        lines += ["import torch", ""]
        torch = "torch"
    device_type = free_name(module, "DEVICE_TYPE")
    if "DEVICE_TYPE" in missing:
        lines.append(f'{device_type} = "npu" if {_PROBE.format(torch=torch)} else "cuda"')
    if "device_module" in missing:
        lines.append(f"{free_name(module, 'device_module')} = getattr({torch}, {device_type})")
    return lines


def _is_helper(module: Module, statement: ast.stmt | None) -> bool:
    return statement is not None and statement in (
        helper_definition(module, "DEVICE_TYPE"),
        helper_definition(module, "device_module"),
    )


def _at_run_time(module: Module, binding: Binding) -> bool:
    return binding.imported == "torch" and not type_checking_only(module, binding.node)


def _plan_in_function(module: Module, scope: ast.AST, needs: list[Need]) -> list[Edit]:
    """Lines below every ``import torch`` of a function: branches may each have their own."""
    imports = [node for node in module.index.imports if module.names.scope_of(node) is scope and _imports_torch(node)]
    if not imports:
        raise NotFixable("torch is bound by no import statement")
    lines = _lines_in_function(module, scope, needs)
    return [_line_after(module, statement, *lines) for statement in _last_of_blocks(module, imports)] if lines else []


def _lines_in_function(module: Module, scope: ast.AST, needs: list[Need]) -> list[str]:
    names = {need.name for need in needs}
    bound = module.index.bindings.get(scope, {})
    if "torch_npu" in names:
        return [] if "torch_npu" in bound else [_IMPORT_TORCH_NPU]
    torch = next((name for name, bs in bound.items() if any(b.imported == "torch" for b in bs)), None)
    if torch is None:
        raise NotFixable("torch itself is not imported in the function")
    spelled = {name: local_name(module, scope, name) for name in _HELPERS}
    missing = [name for name in _HELPERS if name in names and spelled[name] not in bound]
    device_type, device_module = spelled["DEVICE_TYPE"], spelled["device_module"]
    probe = _PROBE.format(torch=torch)
    if missing == ["device_module"] or _used_directly(needs, missing) == ["device_module"]:
        return [f"{device_module} = {torch}.npu if {probe} else {torch}.cuda"]
    lines = {
        "DEVICE_TYPE": f'{device_type} = "npu" if {probe} else "cuda"',
        "device_module": f"{device_module} = getattr({torch}, {device_type})",
    }
    return [lines[name] for name in missing]


def _last_of_blocks(module: Module, imports: list[ast.Import | ast.ImportFrom]) -> list[ast.stmt]:
    """The last of the imports of each block."""
    last: dict[tuple[ast.AST | None, bool], ast.stmt] = {}
    for node in sorted(imports, key=lambda node: node.lineno):
        last[_block_key(module, node)] = node
    return list(last.values())


def _block_key(module: Module, statement: ast.stmt) -> tuple[ast.AST | None, bool]:
    """Tells the body of a compound statement from its ``else``."""
    parent = module.parent(statement)
    return parent, statement in getattr(parent, "orelse", [])


def _names_cuda(module: Module, statement: ast.stmt) -> bool:
    """An import below torch.cuda comes out as one below torch.npu, which needs torch_npu."""
    return "cuda" in module.text_of(statement)


def _torch_imports(module: Module) -> tuple[ast.stmt | None, list[ast.stmt]]:
    """The module-level ``import torch``, and the imports of parts of torch, in source order."""
    found = [
        node for node in module.index.imports if _imports_torch(node) and module.names.scope_of(node) is module.tree
    ]
    found = sorted((n for n in found if not type_checking_only(module, n)), key=lambda n: n.lineno)
    whole = [node for node in found if isinstance(node, ast.Import) and any(a.name == "torch" for a in node.names)]
    parts: list[ast.stmt] = [node for node in found if node not in whole]
    return (whole[0] if whole else None), parts


def _imports_torch(node: ast.Import | ast.ImportFrom) -> bool:
    return any(library_of(name) == "torch" for name in modules_of(node))


def _helper_anchor(module: Module, first_use: int) -> ast.stmt | None:
    """The statement that the helper names follow; None for the top of the file.

    That is the last import of the leading import block, moved below a later statement that chooses the
    visible cards, since the probe must not ask before that. It always lies below ``import torch`` and above
    the first use.

    Raises:
        NotFixable: no such place.
    """
    body = module.tree.body
    usable = [s for s in body if module.branches.span(s)[1] <= first_use]
    whole, parts = _torch_imports(module)
    torch_import = whole or (parts[-1] if parts else None)
    top = next(
        (s for s in body if torch_import is not None and (s is torch_import or torch_import in ast.walk(s))), None
    )
    if top is not None and (top not in usable or isinstance(top, ast.Try | ast.If)):
        raise NotFixable("torch is imported conditionally, or below the code that needs it")
    anchor = top
    for statement in usable:
        helps = _is_import_block(statement) or _is_helper(module, statement) or _chooses_cards(module, statement)
        if helps and (anchor is None or statement.lineno > anchor.lineno):
            anchor = statement
        elif isinstance(statement, _DEFINITIONS):
            break
    if anchor is None and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        anchor = body[0]  # the docstring
    return anchor


# Helper names stand above these, where a reader looks for them.
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.With)


def _is_import_block(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return True
    if isinstance(statement, ast.Try):
        inner = [*statement.body, *(s for handler in statement.handlers for s in handler.body), *statement.orelse]
        return any(isinstance(s, ast.Import | ast.ImportFrom) for s in inner)
    return False


def _chooses_cards(module: Module, statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign | ast.Expr | ast.If) and "VISIBLE_DEVICES" in module.text_of(statement)


def _line_before(module: Module, anchor: ast.stmt, line: str) -> Edit:
    """Insert a whole line above a statement, with its indentation."""
    start, _ = module.branches.span(anchor)
    first = module.source.line_starts[anchor.lineno - 1]
    indentation = module.source.text[first:start]
    if indentation.strip():
        raise NotFixable("the import shares its line with another statement")
    return Edit(first, first, indentation + line + module.source.line_end)


def _line_after(module: Module, anchor: ast.stmt | None, *lines: str, before: str = "") -> Edit:
    """Insert whole lines below a statement, with its indentation."""
    source = module.source
    end_of_line = source.line_end
    if anchor is None:
        return Edit(0, 0, "".join(line + end_of_line for line in (*lines, "")))
    start, end = module.branches.span(anchor)
    first = source.line_starts[anchor.lineno - 1]
    indentation = source.text[first:start]
    if indentation.strip():
        raise NotFixable("the import shares its line with another statement")
    row = anchor.end_lineno or anchor.lineno
    below = source.line_starts[row] if row < len(source.line_starts) else len(source.text)
    if source.text[end:below].lstrip(" \t").startswith(";"):
        beside = [s for s in ast.walk(module.tree) if isinstance(s, ast.stmt) and s.lineno == row and s is not anchor]
        if not all(map(_is_import_block, beside)):
            raise NotFixable("the import shares its line with another statement")
    text = before + "".join((indentation + line if line else "") + end_of_line for line in lines)
    if row >= len(source.line_starts):  # the last line has no line end
        text = end_of_line + text.rstrip("\r\n")
    return Edit(below, below, text)

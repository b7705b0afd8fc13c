"""Import statements that bind names of ``torch.cuda``, changed together with the uses of these names."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from npuport.analysis.module import Module, Reference
from npuport.engine.fix import Fix, Insertion, NotFixable, Rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.amp import autocast_arguments, scaler_arguments
from npuport.engine.writer import Writer
from npuport.facts.api import twin_of

_AMP_CALLS = {"torch.cuda.amp.autocast": autocast_arguments, "torch.cuda.amp.GradScaler": scaler_arguments}


@dataclass(frozen=True)
class ImportedName:
    """One name of an import statement and what becomes of it.

    Attributes:
        alias: the syntax node of the name.
        dotted: what it is bound to, e.g. ``torch.cuda.empty_cache``.
        local: the name that the file uses.
        uses: where the file uses it.
        verdict: ``twin``, ``amp``, ``unused`` or ``stays``.
    """

    alias: ast.alias
    dotted: str
    local: str
    uses: tuple[Reference, ...]
    verdict: str


def cuda_imports(module: Module) -> dict[ast.stmt, list[ImportedName]]:
    """The import statements that bind torch.cuda or names below it; shared between rules."""
    found: dict[ast.stmt, list[ImportedName]] | None = module.memo.get("cuda_imports")  # type: ignore[assignment]
    if found is None:
        uses: dict[ast.AST, list[Reference]] = {}
        for reference in module.references:
            if reference.binding is not None and isinstance(reference.binding.node, ast.Import | ast.ImportFrom):
                uses.setdefault(reference.binding.node, []).append(reference)
        found = {}
        for statement in module.index.imports:
            names = [
                name
                for alias in statement.names
                if (name := _imported(module, statement, alias, uses.get(statement, [])))
            ]
            if names:
                found[statement] = names
        module.memo["cuda_imports"] = found
    return found


def _imported(
    module: Module, statement: ast.Import | ast.ImportFrom, alias: ast.alias, uses: list[Reference]
) -> ImportedName | None:
    if isinstance(statement, ast.Import):
        dotted, local = alias.name, alias.asname or alias.name.partition(".")[0]
    else:
        dotted, local = f"{'.' * statement.level}{statement.module or ''}.{alias.name}", alias.asname or alias.name
    dotted = dotted.replace(".amp.autocast_mode.", ".amp.").replace(".amp.grad_scaler.", ".amp.")
    if not (dotted == "torch.cuda" or dotted.startswith("torch.cuda.")) or alias.name == "*":
        return None
    own = tuple(use for use in uses if isinstance(use.root, ast.Name) and use.root.id == local)
    return ImportedName(
        alias, dotted, local, own, _verdict(module, dotted, own, isinstance(statement, ast.Import) and not alias.asname)
    )


def _verdict(module: Module, dotted: str, uses: tuple[Reference, ...], binds_torch: bool) -> str:
    if dotted in _AMP_CALLS:
        calls = [_call_of(module, use) for use in uses]
        return "amp" if uses and all(call is not None for call in calls) else "stays" if uses else "unused"
    if dotted == "torch.cuda" or binds_torch:
        return "twin"  # names without a twin are reported where they are used
    if dotted in ("torch.cuda.amp", "torch.cuda.nvtx"):
        return "stays" if uses else "unused"
    twin = twin_of(dotted, module.target)
    parts = dotted.split(".")
    if (
        twin
        and twin.npu == f"torch.npu.{parts[-1]}"
        and (len(parts) == 3 or parts[2] in ("memory", "random", "streams"))
    ):
        return "twin"
    return "stays"


def _call_of(module: Module, use: Reference) -> ast.Call | None:
    parent = module.parent(use.node)
    return parent if isinstance(parent, ast.Call) and parent.func is use.node else None


def import_fix(module: Module, statement: ast.stmt) -> Fix | None:
    """The change of a whole import statement and of the uses that have to change with it."""
    fixes: dict[ast.stmt, Fix | None] = module.memo.setdefault("import_fixes", {})  # type: ignore[assignment]
    if statement not in fixes:
        fixes[statement] = _import_fix(module, statement)
    return fixes[statement]


def _import_fix(module: Module, statement: ast.stmt) -> Fix | None:
    names = cuda_imports(module)[statement]
    if all(name.verdict == "stays" for name in names):
        return None
    if module.source.path.name == "__init__.py" and all(name.verdict == "unused" for name in names):
        return None  # may be there for others to import
    changes: list[Rewrite | Insertion] = [
        Rewrite(statement, lambda node, writer: _statement(node, writer, module, statement, names))
    ]
    for name in names:
        if name.verdict == "amp":
            changes += (_amp_use(module, name.dotted, use) for use in name.uses)
        elif name.dotted == "torch.cuda" and name.alias.asname is None and isinstance(statement, ast.ImportFrom):
            changes += (Rewrite(use.root, lambda node, writer: _module_name(module, writer)) for use in name.uses)
    return Fix("Import the NPU's names instead", tuple(changes))


def _amp_use(module: Module, dotted: str, use: Reference) -> Rewrite:
    call = _call_of(module, use)
    assert call is not None
    return Rewrite(call, lambda node, writer: _AMP_CALLS[dotted](node, writer))


def _module_name(module: Module, writer: Writer) -> str:
    """``cuda.f`` behind ``from torch import cuda``: npu style says ``npu.f``, portable keeps the name."""
    return "cuda" if writer.portable or _taken(module, "npu") else "npu"


def _taken(module: Module, name: str) -> bool:
    return any(name in scope for scope in module.index.bindings.values())


def _statement(
    node: cst.CSTNode, writer: Writer, module: Module, statement: ast.stmt, names: list[ImportedName]
) -> cst.CSTNode | str:
    """The import statement in the writer's style; empty text removes it."""
    by_alias = {name.alias: name for name in names}
    assert isinstance(statement, ast.Import | ast.ImportFrom)
    own = f"{'.' * statement.level}{statement.module or ''}" if isinstance(statement, ast.ImportFrom) else ""
    from_module: dict[str, list[str]] = {}  # "" for plain imports
    assignments: list[str] = []
    for alias in statement.names:
        name = by_alias.get(alias)
        if name is None or name.verdict == "stays":
            from_module.setdefault(own, []).append(_spelled(alias.name, alias.asname))
        elif name.verdict == "amp":
            writer.need_torch_npu()
            from_module.setdefault("torch.amp", []).append(_spelled(alias.name, alias.asname))
        elif name.verdict == "twin" and isinstance(statement, ast.Import) and alias.asname is None:
            # `import torch.cuda` binds torch: the uses are changed where they stand.
            if not [b for b in module.names.bindings("torch", statement) if b.node is not statement]:
                from_module.setdefault("", []).append("torch")
        elif name.verdict == "twin" and writer.portable:
            assignments += _bound_portably(writer, module, statement, name)
        elif name.verdict == "twin":
            writer.need_torch_npu()
            source, spelled = _npu_import(module, statement, name)
            from_module.setdefault(source, []).append(spelled)
    imports = [
        f"from {source} import {', '.join(n)}" if source else f"import {', '.join(n)}"
        for source, n in from_module.items()
    ]
    return ("\n" + _indentation(module, statement)).join([*imports, *assignments])


def _bound_portably(writer: Writer, module: Module, statement: ast.stmt, name: ImportedName) -> list[str]:
    """``empty_cache = device_module.empty_cache``: below the imports, or in a function where the import stood."""
    source = writer.device_module() + ("" if name.dotted == "torch.cuda" else f".{name.dotted.rpartition('.')[2]}")
    line = f"{name.local} = {source}"
    if module.names.scope_of(statement) is not module.tree:
        return [line]
    if module.parent(statement) is not module.tree:
        raise NotFixable("imported conditionally")
    writer.need_line(name.local, line)
    return []


def _npu_import(module: Module, statement: ast.Import | ast.ImportFrom, name: ImportedName) -> tuple[str, str]:
    """The module to import from in npu style, empty for a plain import, and the name as it is spelled there."""
    asname = name.alias.asname
    if name.dotted != "torch.cuda":
        return "torch.npu", _spelled(name.dotted.rpartition(".")[2], asname)
    if isinstance(statement, ast.Import):
        return "", _spelled("torch.npu", asname)
    return "torch", _spelled("npu", asname or ("cuda" if _taken(module, "npu") else None))


def _spelled(name: str, asname: str | None) -> str:
    return f"{name} as {asname}" if asname and asname != name else name


def _indentation(module: Module, statement: ast.stmt) -> str:
    return module.source.line(statement.lineno)[: statement.col_offset]

"""Where the name that a statement binds is used."""

from __future__ import annotations

import ast

from npuport.analysis.module import Module


def uses_after(module: Module, target: ast.Name, statement: ast.stmt) -> list[ast.Name]:
    """The uses of a name in the scope of a statement that stand behind it in the text, in order.

    Uses in the statement itself do not count. A use further up in the same loop sees the value as well; whoever
    needs these too asks ``uses_of``.
    """
    end = (statement.end_lineno or statement.lineno, statement.end_col_offset or 0)
    return [use for use in uses_of(module, target) if (use.lineno, use.col_offset) >= end]


def uses_of(module: Module, target: ast.Name) -> list[ast.Name]:
    """The uses of a name in the scope that binds ``target`` and in functions inside it, in order."""
    scope = module.names.scope_of(target)
    found = [
        use
        for use in module.index.names.get(target.id, ())
        if module.names.scope_of(use) is scope or any(around is scope for around in module.ancestors(use))
    ]
    return sorted(found, key=lambda use: (use.lineno, use.col_offset))

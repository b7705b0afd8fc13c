"""Environment variables: renamed in npu style, in portable style set beside the author's own."""

from __future__ import annotations

import ast

from npuport.analysis.environment import Use
from npuport.analysis.module import Module
from npuport.engine.fix import Fix, Insertion, NotFixable, Rewrite, Transform, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.names import with_argument
from npuport.engine.rewriting.precedence import as_conditional
from npuport.engine.rewriting.strings import replaced
from npuport.engine.writer import Writer


def variable_fix(module: Module, node: ast.Constant, use: Use, twin: str) -> Fix:
    """The fix for the variable that the string ``node`` names."""
    name = str(node.value)
    statement = module.statement(node)
    if use is Use.READ:
        return rewrite(f"Read {twin}", node, _read(module, node, name, twin))
    if use is Use.ASSIGNED and isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return rewrite(f"Set {twin}", statement, _target_beside(name, twin))
    if use is Use.CALLED and isinstance(statement, ast.Expr) and statement.value is module.parent(node):
        return Fix(f"Set {twin}", _call_beside(module, node, statement, name, twin))
    if use is Use.ENTRY:
        return rewrite(f"Set {twin}", node, _entry_beside(module, node, name, twin))
    return rewrite(f"Set {twin}", node, _in_npu_style_only(name, twin))


def keyword_fix(call: ast.Call, name: str, twin: str) -> Fix:
    """The fix for ``dict(os.environ, CUDA_VISIBLE_DEVICES="0")``."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
        assert isinstance(node, cst.Call)
        place = next(i for i, arg in enumerate(node.args) if arg.keyword and arg.keyword.value == name)
        if writer.portable:
            return with_argument(node, writer.argument(writer.code(node.args[place].value), twin))
        args = list(node.args)
        args[place] = args[place].with_changes(keyword=cst.Name(twin))
        return node.with_changes(args=args)

    return rewrite(f"Set {twin}", call, transform)


def _read(module: Module, place: ast.Constant, name: str, twin: str) -> Transform:
    def transform(node: cst.CSTNode, writer: Writer) -> str:
        text = writer.code(node)
        if not writer.portable:
            return text.replace(name, twin)
        if not module.uses_torch:
            raise NotFixable("torch is not imported here")
        statement = module.statement(place)
        if isinstance(statement, ast.Assign) and module.text_of(statement).count(name) > 1:
            raise NotFixable("the variable is set from itself")
        choice = f'{text.replace(name, twin)} if {writer.helper("DEVICE_TYPE")} == "npu" else {text}'
        return as_conditional(choice, place, module.parent(place))

    return transform


def _target_beside(name: str, twin: str) -> Transform:
    """``environ[CUDA] = v`` -> ``environ[CUDA] = environ[ASCEND] = v``."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
        assert isinstance(node, cst.SimpleStatementLine)
        assignment = node.body[0]
        assert isinstance(assignment, cst.Assign)
        target = assignment.targets[0]
        if writer.portable and name in writer.code(assignment.value):
            raise NotFixable("the variable is set from itself")
        second = target.with_changes(target=cst.parse_expression(writer.code(target.target).replace(name, twin, 1)))
        targets = [target, second] if writer.portable else [second]
        return node.with_changes(body=[assignment.with_changes(targets=targets), *node.body[1:]])

    return transform


def _call_beside(
    module: Module, node: ast.Constant, statement: ast.stmt, name: str, twin: str
) -> tuple[Rewrite | Insertion, ...]:
    """``environ.setdefault(CUDA, v)`` names the twin, or portably gets a second statement."""
    second = module.text_of(statement).replace(name, twin, 1)
    return (
        Rewrite(node, lambda code, writer: writer.code(code) if writer.portable else replaced(code, name, twin)),
        Insertion(statement, lambda writer: second if writer.portable else "", after=True),
    )


def _entry_beside(module: Module, node: ast.Constant, name: str, twin: str) -> Transform:
    """``{CUDA: v}`` gets a second entry."""
    literal = module.parent(node)
    assert isinstance(literal, ast.Dict)
    value = module.text_of(literal.values[literal.keys.index(node)])

    def transform(entry: cst.CSTNode, writer: Writer) -> str:
        code = writer.code(entry)
        renamed = code.replace(name, twin)
        return f"{renamed}: {value}, {code}" if writer.portable else renamed

    return transform


def _in_npu_style_only(name: str, twin: str) -> Transform:
    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
        if writer.portable:
            raise NotFixable("no place for a second variable")
        return replaced(node, name, twin)

    return transform

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, Insertion, NotFixable, Rewrite, Transform, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.names import with_argument
from npuport.engine.rewriting.precedence import as_conditional
from npuport.engine.rewriting.strings import replaced, replacing
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer
from npuport.facts.api import environment_twins

_SETTERS = {"setdefault", "putenv", "setenv"}
_GETTERS = {"get", "getenv", "pop", "unsetenv", "delenv"}
# PYTORCH_NPU_ALLOC_CONF refuses unknown keys with a ValueError at the first tensor.
_REFUSED_ALLOCATOR_KEYS = re.compile(r"\bbackend\s*:|pinned_use_cuda_host_register")
_SHELL = re.compile(r"\b(CUDA_VISIBLE_DEVICES|CUDA_LAUNCH_BLOCKING)=")


class CudaEnvironment(Rule):
    """An environment variable of CUDA or NCCL is set or read.

    What it does
    ------------
    Reports variables such as ``CUDA_VISIBLE_DEVICES``, ``CUDA_LAUNCH_BLOCKING``, ``PYTORCH_CUDA_ALLOC_CONF`` and
    ``NCCL_*`` in ``os.environ``, ``setdefault``, ``putenv``, environments of subprocesses and shell commands.

    Why on an NPU
    -------------
    They are ignored without a word: all seeds of a sweep land on the same card. The NPU's
    ``ASCEND_RT_VISIBLE_DEVICES`` reads digits and commas only, in ascending order, and stops at the first other
    character, so ``"1, 2"`` is card 1 alone.

    Example
    -------
    ::

        os.environ["CUDA_VISIBLE_DEVICES"] = str(gpu)

    Use instead
    -----------
    ::

        os.environ["ASCEND_RT_VISIBLE_DEVICES"] = str(gpu)

    Fix safety
    ----------
    Safe where the value has the form that the NPU's variable takes; other values (``""``, ``"-1"``, UUIDs,
    spaces, descending order, unknown allocator options) are reported. With ``--style portable`` both are set.

    Sources
    -------
    - ``npuport/facts/data/torch_npu_api.json``, rows ``env:``; bad ids are dropped silently:
      https://github.com/vllm-project/vllm-ascend/issues/10227
    """

    code = "NPU107"
    name = "cuda-environment"
    topic = "env"
    severity = Severity.ERROR
    triggers = Triggers(("CUDA_", "NCCL_", "CUBLAS_", "NVIDIA_"), torch=False)

    def check(self, module: Module) -> Iterator[Hit]:
        twins = environment_twins()
        for node in module.index.strings:
            if node.value in twins and not self._ported(module, node):
                yield from self._named(module, node)
            elif "CUDA_" in str(node.value) and _SHELL.search(str(node.value)) and self._is_command(module, node):
                yield Hit(node, f"sets {_SHELL.search(str(node.value)).group(1)} for a command, which an NPU ignores")  # type: ignore[union-attr]
        for name in twins.keys() & module.index.keywords.keys():
            for keyword in module.index.keywords[name]:
                call = module.parent(keyword)
                if isinstance(call, ast.Call) and not self._ported(module, keyword):
                    yield self._environment_keyword(module, call, keyword)

    def _ported(self, module: Module, node: ast.AST) -> bool:
        """Whether the NPU's variable is treated right beside this one."""
        if module.branches.asks_for_npu(node):
            return True
        name = node.value if isinstance(node, ast.Constant) else getattr(node, "arg", "")
        twin = environment_twins()[str(name)].npu
        return twin is not None and any(
            twin in module.text_of(near) for near in _neighbours(module, module.statement(node))
        )

    def _is_command(self, module: Module, node: ast.Constant) -> bool:
        call = module.enclosing(node, (ast.Call, ast.stmt))
        return isinstance(call, ast.Call) and (module.resolve(call.func) or "").startswith(("subprocess.", "os."))

    def _named(self, module: Module, node: ast.Constant) -> Iterator[Hit]:
        name = str(node.value)
        twin = environment_twins()[name]
        use = _use_of(module, node)
        if use is None:
            return
        if twin.npu is None:
            yield Hit(node, f"{name} has no meaning on an NPU; {twin.note}".rstrip("; "), severity=Severity.NOTE)
            return
        kind, value = use
        message = f"{name} is ignored on an NPU, which reads {twin.npu}"
        fault = _fault(name, value) if kind == "set" else ""
        if fault:
            yield Hit(node, f"{message}; {fault}")
        else:
            yield Hit(node, message, _fix(module, node, name, twin.npu, kind))

    def _environment_keyword(self, module: Module, call: ast.Call, keyword: ast.keyword) -> Hit:
        """``dict(os.environ, CUDA_VISIBLE_DEVICES="0")``."""
        name = str(keyword.arg)
        twin = environment_twins()[name]
        if twin.npu is None:
            return Hit(
                keyword.value, f"{name} has no meaning on an NPU; {twin.note}".rstrip("; "), severity=Severity.NOTE
            )
        fault = _fault(name, keyword.value)
        message = f"{name} is ignored on an NPU, which reads {twin.npu}"
        if fault:
            return Hit(keyword.value, f"{message}; {fault}")
        return Hit(keyword.value, message, rewrite(f"Set {twin.npu}", call, _keyword_set(name, twin.npu)))


def _neighbours(module: Module, statement: ast.stmt) -> list[ast.stmt]:
    """A simple statement and the ones right before and behind it; of a compound one nothing."""
    if hasattr(statement, "body"):
        return []
    parent = module.parent(statement)
    blocks = (getattr(parent, name, None) for name in ("body", "orelse", "finalbody"))
    block: list[ast.stmt] = next((b for b in blocks if isinstance(b, list) and statement in b), [statement])
    place = block.index(statement)
    return [near for near in block[max(place - 1, 0) : place + 2] if not hasattr(near, "body")]


def _use_of(module: Module, node: ast.Constant) -> tuple[str, ast.expr | None] | None:
    """What is done with the variable: ``set`` with its value, ``entry`` of a dictionary, ``get``; None for a text."""
    parent = module.parent(node)
    if isinstance(parent, ast.Subscript) and parent.slice is node:
        statement = module.parent(parent)
        if isinstance(statement, ast.Assign) and parent in statement.targets:
            return "set", statement.value
        if isinstance(statement, ast.AugAssign):
            return "set", None
        return ("get", None) if isinstance(parent.ctx, ast.Load | ast.Del) else None
    if isinstance(parent, ast.Call) and node in parent.args:
        name = parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
        if name in _SETTERS and len(parent.args) == 2:
            return "set", parent.args[1]
        return ("get", None) if name in _GETTERS else None
    if isinstance(parent, ast.Dict) and node in parent.keys:
        return "set", parent.values[parent.keys.index(node)]
    if isinstance(parent, ast.Compare) and isinstance(parent.ops[0], ast.In | ast.NotIn):
        return "get", None
    return None


# The twin exists, but takes other values.
_OTHER_VALUES = {
    "NCCL_ALGO": "its values have another syntax",
    "NCCL_BUFFSIZE": "its unit is MB, not bytes",
    "CUDA_HOME": "it names CANN's folder and is set by CANN's set_env.sh",
}


def _fault(name: str, value: ast.expr | None) -> str:
    """Why a value does not do for the NPU's variable."""
    if name in _OTHER_VALUES:
        return _OTHER_VALUES[name]
    if not isinstance(value, ast.Constant):
        return ""
    text = str(value.value)
    if name == "CUDA_VISIBLE_DEVICES":
        if not re.fullmatch(r"\d+(,\d+)*", text):
            return f"it takes ascending digits and commas only, not {text!r}"
        cards = [int(card) for card in text.split(",")]
        return "" if cards == sorted(cards) else f"it takes cards in ascending order only, not {text!r}"
    if name == "PYTORCH_CUDA_ALLOC_CONF" and _REFUSED_ALLOCATOR_KEYS.search(text):
        return f"it refuses an option of {text!r}"
    return ""


def _fix(module: Module, node: ast.Constant, name: str, twin: str, kind: str) -> Fix:
    parent = module.parent(node)
    statement = module.statement(node)
    if kind == "get":
        return rewrite(f"Read {twin}", node, _read(module, node, name, twin))
    if isinstance(parent, ast.Subscript) and isinstance(statement, ast.Assign):
        target = _target_beside(name, twin)
        return (
            Fix(f"Set {twin}", (rewrite("", node, replacing(name, twin)).changes[0],))
            if len(statement.targets) > 1
            else rewrite(f"Set {twin}", statement, target)
        )
    if isinstance(parent, ast.Call) and isinstance(statement, ast.Expr) and statement.value is parent:
        return Fix(f"Set {twin}", _call_beside(module, node, statement, name, twin))
    if isinstance(statement, ast.AugAssign):
        return rewrite(f"Set {twin}", node, _in_npu_style_only(name, twin))
    return rewrite(f"Set {twin}", node, _entry_beside(module, node, name, twin))


def _read(module: Module, place: ast.Constant, name: str, twin: str) -> Transform:
    def transform(node: cst.CSTNode, writer: Writer) -> str:
        text = writer.code(node)
        if not writer.portable:
            return text.replace(name, twin)
        if not module.uses_torch:
            raise NotFixable("torch is not imported here")
        choice = f'{text.replace(name, twin)} if {writer.helper("DEVICE_TYPE")} == "npu" else {text}'
        return as_conditional(choice, place, module.parent(place))

    return transform


def _target_beside(name: str, twin: str) -> Transform:
    """``environ[CUDA] = v`` -> ``environ[CUDA] = environ[ASCEND] = v``."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        assert isinstance(node, cst.SimpleStatementLine)
        code = writer.code(node).rstrip("\r\n")
        target, _, value = code.partition("=")
        if not writer.portable:
            return f"{target.replace(name, twin, 1)}={value}"
        return f"{target.rstrip()} = {target.replace(name, twin, 1).strip()} ={value}"

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


def _in_npu_style_only(name: str, twin: str) -> Transform:
    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
        if writer.portable:
            raise NotFixable("no place for a second variable")
        return replaced(node, name, twin)

    return transform


def _entry_beside(module: Module, node: ast.Constant, name: str, twin: str) -> Transform:
    """``{CUDA: v}`` gets a second entry."""
    literal = module.parent(node)
    value = ""
    if isinstance(literal, ast.Dict) and node in literal.keys:
        value = module.text_of(literal.values[literal.keys.index(node)])

    def transform(entry: cst.CSTNode, writer: Writer) -> str:
        code = writer.code(entry)
        if not writer.portable:
            return code.replace(name, twin)
        if not value:
            raise NotFixable("no place for a second variable")
        return f"{code.replace(name, twin)}: {value}, {code}"

    return transform


def _keyword_set(name: str, twin: str) -> Transform:
    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
        assert isinstance(node, cst.Call)
        if writer.portable:
            value = next(arg.value for arg in node.args if arg.keyword and arg.keyword.value == name)
            return with_argument(node, writer.argument(writer.code(value), twin))
        args = [
            arg.with_changes(keyword=cst.Name(twin)) if arg.keyword and arg.keyword.value == name else arg
            for arg in node.args
        ]
        return node.with_changes(args=args)

    return transform

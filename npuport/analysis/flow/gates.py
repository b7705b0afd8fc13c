"""What a condition asks and what a loop runs over, as far as it matters for how often; and what a test proves."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from npuport.analysis.flow.declarations import takes_remainder
from npuport.analysis.flow.dtypes import ANY_DTYPE, ANYWHERE
from npuport.analysis.flow.evaluation import Evaluation
from npuport.analysis.flow.frames import EPISODE_END, EVERY_NTH, FAILURE, ROWS_LOOP, SMALL_LOOP
from npuport.analysis.flow.joining import element_of
from npuport.analysis.flow.value import (
    ARRAY,
    CLASS,
    FUNCTION,
    INSTANCE,
    LAYER,
    NONE,
    OPTIMIZER,
    ROWS,
    TENSOR,
    TEXT,
    Value,
    array,
    tensor,
)
from npuport.analysis.flow.vocabulary import (
    ASKS_FOR_TIME,
    EPISODE_END_NAME,
    EPISODE_END_TEXTS,
    LOGGING_ATTRIBUTE,
    NOT_FINITE,
    REPORTS,
    ROWS_NAME,
)

_SMALL_ELEMENTS = frozenset({INSTANCE, LAYER, OPTIMIZER, TEXT, FUNCTION, CLASS})
_SMALL_METHODS = frozenset({
    "parameters", "named_parameters", "items", "keys", "values", "modules", "named_modules",
    "children", "buffers", "state_dict",
})  # fmt: skip
_PASSING_ON = frozenset({"enumerate", "zip", "reversed", "tqdm", "trange", "list", "tuple"})
_TENSOR_TYPES = frozenset({"torch.Tensor", "th.Tensor", "Tensor"})
_ARRAY_TYPES = frozenset({"np.ndarray", "numpy.ndarray", "ndarray"})


@dataclass(frozen=True)
class Condition:
    """What the text of a condition says of how often.

    Attributes:
        every_nth: it takes a remainder, or asks a function whose name says so.
        episode_end: it names the end of an episode, or a question for people.
        reports: it asks whether to report to people: ``should_log(step)``.
        failed: it asks whether a computation went wrong: ``isnan(loss)``.
        names: the names in it.
        calls: the calls in it.
    """

    every_nth: bool
    episode_end: bool
    reports: bool
    failed: bool
    names: frozenset[str]
    calls: tuple[ast.Call, ...]


def gate_of(run: Evaluation, test: ast.expr) -> str:
    """What kind of gate a condition is; empty where it says nothing of how often."""
    condition = run.knowledge.conditions.get(test)
    if condition is None:
        condition = run.knowledge.conditions[test] = _read_condition(test)
    if condition.failed:
        return FAILURE
    if condition.reports:
        return EPISODE_END
    if condition.every_nth or not run.due.isdisjoint(condition.names):
        return EVERY_NTH
    if any(_function_asks(run, call) for call in condition.calls):
        return EVERY_NTH
    # `if not done` holds nearly always.
    negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    return EPISODE_END if condition.episode_end and not negated else ""


def _read_condition(test: ast.expr) -> Condition:
    nodes = list(ast.walk(test))
    calls = tuple(node for node in nodes if isinstance(node, ast.Call))
    names = frozenset(node.id for node in nodes if isinstance(node, ast.Name))
    questions = [name for name in map(_called_name, calls) if ASKS_FOR_TIME.match(name)]
    return Condition(
        every_nth=any(map(takes_remainder, nodes)) or bool(questions),
        episode_end=any(map(EPISODE_END_NAME.match, names)) or any(map(_ends_episode, nodes)),
        reports=any(map(REPORTS.search, questions)),
        failed=_is_failure(test),
        names=names,
        calls=calls,
    )


def _is_failure(test: ast.expr) -> bool:
    """Whether a condition holds only for what is no number: ``isnan(x).any()``, ``not isfinite(x)``."""
    if isinstance(test, ast.BoolOp):
        return (any if isinstance(test.op, ast.And) else all)(map(_is_failure, test.values))
    denied = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    called = [_called_name(node) for node in ast.walk(test) if isinstance(node, ast.Call)]
    if any(map(NOT_FINITE.search, called)):
        return not denied
    return denied and any("finite" in name for name in called)


def _ends_episode(node: ast.AST) -> bool:
    return (isinstance(node, ast.Attribute) and LOGGING_ATTRIBUTE.match(node.attr) is not None) or (
        isinstance(node, ast.Constant) and node.value in EPISODE_END_TEXTS
    )


def _called_name(call: ast.Call) -> str:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return name if isinstance(name, str) else ""


_QUESTIONS = (ast.Compare, ast.BoolOp, ast.UnaryOp)


def asks_for_time(run: Evaluation, value: ast.expr) -> bool:
    """Whether an expression says if it is time for something: ``step % n == 0``, to be asked later or by a caller."""
    if isinstance(value, ast.Call):
        return _function_asks(run, value)
    return isinstance(value, _QUESTIONS) and gate_of(run, value) == EVERY_NTH


def _function_asks(run: Evaluation, call: ast.Call) -> bool:
    """Whether a function of the program answers with such an expression: ``is_due(step, n)``."""
    if _called_name(call) not in run.knowledge.timing_names:
        return False
    called = run.quietly(call.func).get(FUNCTION)
    functions = (run.knowledge.functions.get(key) for key in called.refs) if called is not None else ()
    return any(function is not None and function.asks_for_time for function in functions)


def loop_over(run: Evaluation, node: ast.expr, iterated: Value) -> str:
    """What a loop or comprehension runs over; empty where nothing is known."""
    if any(ROWS in atom.marks for atom in iterated.atoms.values()):
        return ROWS_LOOP
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in _PASSING_ON and node.args and isinstance(node.func, ast.Name):
            inner = node.args[0]
            if not isinstance(inner, ast.Starred):
                about = loop_over(run, inner, run.quietly(inner))
                if about:
                    return about
        if name in _SMALL_METHODS:
            return SMALL_LOOP
        counted = _counted(node)
        if counted is not None:
            about = loop_over(run, counted, run.quietly(counted))
            return about if about == ROWS_LOOP else ""
    if not iterated and _named_like_rows(node):
        return ROWS_LOOP
    elements = element_of(iterated)
    if elements and _SMALL_ELEMENTS.issuperset(elements.atoms):
        return SMALL_LOOP
    if isinstance(node, ast.Tuple | ast.List) or _reads_attribute(node, "param_groups"):
        return SMALL_LOOP
    return ""


def _counted(call: ast.Call) -> ast.expr | None:
    """The ``x`` of ``range(len(x))``."""
    if getattr(call.func, "id", "") != "range" or len(call.args) != 1:
        return None
    inner = call.args[0]
    length = isinstance(inner, ast.Call) and getattr(inner.func, "id", "") == "len" and len(inner.args) == 1
    return inner.args[0] if isinstance(inner, ast.Call) and length else None


def _named_like_rows(node: ast.expr) -> bool:
    """An unknown value called ``rows`` or ``transitions``, or an attribute of a ``batch``."""
    if isinstance(node, ast.Name):
        return ROWS_NAME.match(node.id) is not None
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in ("batch", "mini_batch", "minibatch")
    )


def _reads_attribute(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name


def narrowed(run: Evaluation, test: ast.expr, *, holds: bool) -> dict[str, Value]:
    """The names about which a condition proves something in its arm (``holds``) or in the other one."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return narrowed(run, test.operand, holds=not holds)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == holds:
        result: dict[str, Value] = {}
        for part in test.values:
            result.update(narrowed(run, part, holds=holds))
        return result
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _narrowed_by_none(run, test, holds=holds)
    if isinstance(test, ast.Call):
        return _narrowed_by_type(run, test, holds=holds)
    return {}


def _key(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


def _narrowed_by_none(run: Evaluation, test: ast.Compare, *, holds: bool) -> dict[str, Value]:
    """``x is None`` and ``x is not None``."""
    right = test.comparators[0]
    if not (isinstance(right, ast.Constant) and right.value is None and isinstance(test.ops[0], ast.Is | ast.IsNot)):
        return {}
    key = _key(test.left)
    value = run.names.get(key)
    if value is None or value.get(NONE) is None or len(value.atoms) == 1:
        return {}
    is_none = isinstance(test.ops[0], ast.Is) == holds
    return {key: Value(*(atom for kind, atom in value.atoms.items() if (kind == NONE) == is_none))}


def _narrowed_by_type(run: Evaluation, test: ast.Call, *, holds: bool) -> dict[str, Value]:
    """``isinstance(x, torch.Tensor)``, ``isinstance(x, np.ndarray)``, ``torch.is_tensor(x)``."""
    name = getattr(test.func, "id", getattr(test.func, "attr", ""))
    if not test.args:
        return {}
    key = _key(test.args[0])
    value = run.names.get(key)
    if not key or value is None:
        return {}
    kind = ""
    if name == "is_tensor":
        kind = TENSOR
    elif name == "isinstance" and len(test.args) == 2:
        text = ast.unparse(test.args[1])
        kind = TENSOR if text in _TENSOR_TYPES else ARRAY if text in _ARRAY_TYPES else ""
    if not kind:
        return {}
    if not holds:
        return {key: Value(*(atom for atom in value.atoms.values() if atom.kind != kind))}
    atom = value.get(kind)
    if atom is not None:
        return {key: Value(atom)}
    return {key: tensor(ANY_DTYPE, ANYWHERE) if kind == TENSOR else array(ANY_DTYPE)}

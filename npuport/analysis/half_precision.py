"""What a policy-gradient or value update computes where half precision hurts: log-probabilities, ratios, value losses.

And the autocast regions of a file, with what of this is computed inside them, directly or in functions called there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from npuport.analysis.device_evidence import called_name, target_name
from npuport.analysis.flow.declarations import Function
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frames import AUTOCAST, Frame, Place, outwards
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.module import Module

RATIO = "the ratio"
LOG_PROBABILITIES = "log-probabilities"
VALUE_LOSS = "a value loss"

_OF_LOGITS = frozenset({"log_softmax", "logsumexp"})
_REGRESSIONS = re.compile(r"^(?:mse_loss|smooth_l1_loss|huber_loss|l1_loss|MSELoss|SmoothL1Loss|HuberLoss|L1Loss)$")
_VALUES = re.compile(r"(?:^|_)(?:q\d*|v|values?|returns?|targets?|td|critic|expected|ret|newvalue)(?:_|\d|$)")
_RATIOS = re.compile(r"ratio|(?:^|_)rho|importance|(?:^|_)is_weight")
LOG_PROBABILITY_NAME = re.compile(r"log_?p(?:i|a|s|robs?)?(?:_|\d|$)|log_?prob|lprob")
_DEEPEST = 4


def names_in(node: ast.AST) -> set[str]:
    """The names and attributes inside an expression, in lower case."""
    found = (getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(node))
    return {name.lower() for name in found if name}


def computed(module: Module, event: Event) -> str:
    """Which of the delicate quantities an event computes; empty for none."""
    if event.kind == "log_prob":
        return LOG_PROBABILITIES
    if event.kind == "loss":
        named = isinstance(event.node, ast.Call) and any(map(_VALUES.search, names_in(event.node)))
        return VALUE_LOSS if named and _REGRESSIONS.match(event.how) else ""
    name = event.how.rpartition(".")[2]
    if event.kind not in ("call", "method") or (event.kind == "call" and not event.how.startswith("torch.")):
        return ""
    if name == "exp" and isinstance(event.node, ast.Call) and is_ratio(module, event.node):
        return RATIO
    return LOG_PROBABILITIES if name in _OF_LOGITS else ""


def is_ratio(module: Module, call: ast.Call) -> bool:
    """Whether an exponential is a probability ratio: of a difference, with a name that says so on either side."""
    operand = call.args[0] if call.args else call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(operand, ast.Name):
        bindings = module.names.bindings(operand.id, operand)
        named_ratio = "ratio" in operand.id.lower()
        operand = bindings[0].value if len(bindings) == 1 else None
        if operand is None:
            return named_ratio
    if not isinstance(operand, ast.BinOp) or not isinstance(operand.op, ast.Sub):
        return False
    statement = module.statement(call)
    targets = [target_name(t) or "" for t in statement.targets] if isinstance(statement, ast.Assign) else []
    return any(_RATIOS.search(name.lower()) for name in targets) or any(
        map(LOG_PROBABILITY_NAME.search, names_in(operand))
    )


@dataclass(frozen=True)
class Region:
    """A ``with`` of autocast.

    Attributes:
        node: the expression behind ``with``.
        function: the function that it stands in.
        frame: its frame.
        dtypes: what it computes in; ``"?"`` among them where one is unknown.
        delicate: what is computed inside it, and where: file, line.
    """

    node: ast.expr
    function: Function
    frame: Frame
    dtypes: frozenset[str]
    delicate: tuple[tuple[str, str, int], ...]


def autocast_regions(module: Module, flow: FileFlow) -> list[Region]:
    """The autocast regions of a file in which anything delicate is computed."""
    return [region for region in _regions(module, flow) if region.delicate]


def regions_with_network(module: Module, flow: FileFlow) -> list[Region]:
    """The autocast regions of a file that run a network, or that compute anything delicate."""
    running = {around.place for event in flow.events("forward") for around in outwards(event.frame)}
    return [region for region in _regions(module, flow) if region.delicate or region.frame.place in running]


def _regions(module: Module, flow: FileFlow) -> list[Region]:
    frames: dict[Place, tuple[Function, Frame]] = {}
    for function in flow.scope.functions:
        for frame in _frames_of(flow, function):
            for around in outwards(frame):
                if around.about == AUTOCAST:
                    frames.setdefault(around.place, (function, around))
    nodes = {
        (item.context_expr.lineno, item.context_expr.col_offset): item.context_expr
        for node in ast.walk(module.tree)
        if frames and isinstance(node, ast.With | ast.AsyncWith)
        for item in node.items
    }
    found = []
    for place, (function, frame) in sorted(frames.items(), key=lambda entry: entry[0]):
        delicate = tuple(dict.fromkeys(_delicate(module, flow, function, frame)))
        if place in nodes:
            found.append(Region(nodes[place], function, frame, frame.dtypes, delicate))
    return found


def _frames_of(flow: FileFlow, function: Function) -> Iterator[Frame | None]:
    for _, _, frame in (*function.calls, *function.facts):
        yield frame
    for event in _events_of(flow, function):
        yield event.frame


def _events_of(flow: FileFlow, function: Function) -> Iterator[Event]:
    events = flow.events("log_prob", "loss", "call", "method", "forward")
    return (event for event in events if event.function is function)


def _delicate(module: Module, flow: FileFlow, function: Function, region: Frame) -> Iterator[tuple[str, str, int]]:
    """What is computed inside a region, in the same file, and in the functions of the file that it calls."""
    for event in _events_of(flow, function):
        if region.place in _places(event.frame):
            what = computed(module, event)
            if what:
                yield what, function.file, getattr(event.node, "lineno", 0)
    called = [callee for callee, _, frame in function.calls if region.place in _places(frame)]
    for inner in _reached(flow, called):
        for event in _events_of(flow, inner):
            what = computed(module, event)
            if what:
                yield what, inner.file, getattr(event.node, "lineno", 0)


def _places(frame: Frame | None) -> set[Place]:
    return {around.place for around in outwards(frame)}


def _reached(flow: FileFlow, called: Iterable[str]) -> list[Function]:
    """The functions of the file that are called from somewhere, a few calls deep."""
    own = {function.key: function for function in flow.scope.functions}
    found: dict[str, Function] = {}
    waiting = [key for key in called if key in own]
    for _ in range(_DEEPEST):
        news = [key for key in waiting if key not in found]
        for key in news:
            found[key] = own[key]
        waiting = [callee for key in news for callee, _, _ in own[key].calls if callee in own]
    return list(found.values())


def calls_reach(flow: FileFlow, function: Function, other: Function) -> bool:
    """Whether a function calls another of the same file, directly or through others."""
    return any(found is other for found in _reached(flow, [callee for callee, _, _ in function.calls]))


def enabled_argument(call: ast.Call) -> ast.expr | None:
    """The argument ``enabled`` of an autocast; the older form of torch.cuda.amp takes it first."""
    named = next((keyword.value for keyword in call.keywords if keyword.arg == "enabled"), None)
    if named is not None:
        return named
    of_cuda = ".cuda.amp" in ast.unparse(call.func) or (called_name(call) == "autocast" and not _names_device(call))
    position = 0 if of_cuda else 2
    return call.args[position] if position < len(call.args) else None


def _names_device(call: ast.Call) -> bool:
    return any(k.arg == "device_type" for k in call.keywords) or (
        bool(call.args) and not (isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, bool))
    )

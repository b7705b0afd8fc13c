from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npuport.analysis.flow.frequency import Level
from npuport.analysis.flow.joining import element_of
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import ARRAY, FROM_ROWS, ROWS, SEQUENCE, Value
from npuport.analysis.module import Module
from npuport.analysis.tensor_creation import Creation, keyword, read_creation
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, rewrite
from npuport.engine.flow_rule import FlowRule
from npuport.engine.rewriting.creation import through_numpy
from npuport.engine.rule import Hit, Triggers

_OBSERVATIONS = re.compile(r"(?:^|[^a-z])(?:next_?)?(?:states?|obs|observations?)(?:[^a-z]|$)", re.IGNORECASE)
# These make floats of whatever they get, so that a way through NumPy changes nothing.
_TAKES_ANY = frozenset({"tensor", "as_tensor", "FloatTensor", "Tensor"})


class BatchFromRows(FlowRule):
    """A tensor is built from a list of NumPy arrays.

    What it does
    ------------
    Reports ``torch.tensor(rows)``, ``torch.FloatTensor(rows)`` and ``torch.as_tensor(rows)`` of a list of arrays, in
    code that runs once per update or more often. A list of observations of which nothing is known
    but its name is a note.

    Why on an NPU
    -------------
    torch reads such a list number by number, in Python's speed, while the device waits for its batch. NumPy joins
    arrays as blocks.

    Example
    -------
    ::

        states = torch.FloatTensor([row.state for row in batch]).to(device)

    Use instead
    -----------
    ::

        states = torch.FloatTensor(np.asarray([row.state for row in batch])).to(device)

    Fix safety
    ----------
    Safe where the list is known to hold arrays; unsafe where only its name says so. There is no fix where the code
    does not import NumPy.

    Sources
    -------
    - torch itself warns: "Creating a tensor from a list of numpy.ndarrays is extremely slow".
    - https://github.com/patrickloeber/snake-ai-pytorch/issues/26
    - Measured with torch 2.13.0: 64 rows of 4 numbers in 66 against 13 microseconds, 4 stacks of 4 images of 84 by
      84 in 11.5 against 0.02 milliseconds.
    """

    code = "NPU402"
    name = "batch-from-rows"
    topic = "h2d"
    severity = Severity.WARNING
    triggers = Triggers(("ensor", "asarray"))

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        for event in flow.events("create"):
            creation = read_creation(module, event.node)
            if creation is None or creation.data is None or creation.function not in _TAKES_ANY:
                continue
            level = flow.level(event)
            if level < Level.UPDATE or not event.value.only(SEQUENCE) or _is_short(creation.data):
                continue
            proved = _holds_arrays(flow, creation.data)
            if proved or _holds_observations(creation.data, event.value):
                yield self.hit(
                    flow,
                    event,
                    f"torch reads a list of arrays number by number, {level.phrase}; join them by np.asarray first",
                    fix=_fix(creation, proved=proved),
                    severity=Severity.NOTE if level is Level.UPDATE else Severity.WARNING,
                    doubts=() if proved else ("that the observations are arrays",),
                )


def _is_short(data: ast.expr) -> bool:
    """``[state]`` makes a batch of one: next to nothing to join."""
    return isinstance(data, ast.List | ast.Tuple) and len(data.elts) < 3


def _holds_arrays(flow: FileFlow, data: ast.expr) -> bool:
    """Whether a list is known to hold arrays; one that was made of an array may hold its numbers."""
    if isinstance(data, ast.Call) and any(flow.value(argument).get(ARRAY) is not None for argument in data.args):
        return False
    if isinstance(data, ast.ListComp) and flow.value(data.generators[0].iter).get(ARRAY) is not None:
        return False
    return element_of(flow.value(data)).only(ARRAY)


def _holds_observations(data: ast.expr, value: Value) -> bool:
    """Whether a sequence of drawn rows is one of observations by its name, and by what is known may be."""
    sequence = value.get(SEQUENCE)
    if sequence is None or sequence.marks.isdisjoint({ROWS, FROM_ROWS}) or element_of(value):
        return False
    node = data.elt if isinstance(data, ast.ListComp) else data
    return _OBSERVATIONS.search(_last_name(node)) is not None


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _fix(creation: Creation, *, proved: bool) -> Fix | None:
    data = creation.data
    converts = creation.function in ("FloatTensor", "Tensor") or keyword(creation.call, "dtype") is not None
    if data is None or isinstance(data, ast.GeneratorExp) or not (proved or converts):
        return None
    reason = "" if proved else "that the list holds arrays is known by its name only"
    return rewrite("Join the arrays first", data, through_numpy, unsafe_because=reason)

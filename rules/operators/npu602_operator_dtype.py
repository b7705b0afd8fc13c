from __future__ import annotations

from collections.abc import Iterator

from npuport.analysis.flow.dtypes import FLOAT64, HALF, INT32, INT64
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frames import AUTOCAST, outwards
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import TENSOR, UNKNOWN, Atom, Origin, Value
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.flow_rule import FlowRule, device_doubts
from npuport.engine.rule import Hit, Triggers
from npuport.facts.operators import Operator, operator

# Operators with a kernel of their own that reinforcement learning meets. Views, arithmetic and matrix products are
# not among them: the vendor's rows for these contradict networks in bfloat16 that train.
_ASKED = frozenset({
    "argmax", "argmin", "argsort", "bincount", "bucketize", "cross_entropy", "cummax", "cummin", "cumprod", "cumsum",
    "flip", "gather", "histc", "index_add", "isin", "kl_div", "kthvalue", "lerp", "logsumexp", "masked_fill",
    "masked_select", "median", "mse_loss", "msort", "multinomial", "nll_loss", "nonzero", "prod", "roll",
    "scatter_add", "searchsorted", "smooth_l1_loss", "sort", "take_along_dim", "topk", "unique",
})  # fmt: skip
_SORTING = frozenset({"argsort", "msort", "sort"})
# Distributions that draw with another operator.
_DRAWING = {"Categorical": "multinomial", "OneHotCategorical": "multinomial"}


class OperatorDtype(FlowRule):
    """An operator gets a dtype that the NPU's kernel does not list, or only runs on the AI CPU.

    What it does
    ------------
    Reports operators on a tensor of the device whose dtype is proved and is not among those that the vendor lists for
    the operator: ``multinomial``, and so ``Categorical``, of bfloat16; ``gather``, ``cumsum``, ``sort`` or ``flip`` of
    bfloat16; ``cumsum``, ``gather`` or ``argsort`` of float64. Sorting integers is a note.
    What one tensor meets in float64 is reported once, where it begins.

    Why on an NPU
    -------------
    A kernel that does not know a dtype refuses it (``not implemented for DT_DOUBLE``), computes in another one, or
    runs on the AI CPU, which is slow. The vendor's lists say what was tested, so this is a warning, not an error.

    Example
    -------
    ::

        token = torch.multinomial(logits.bfloat16().softmax(-1), 1)

    Use instead
    -----------
    ::

        token = torch.multinomial(logits.float().softmax(-1), 1)

    Sources
    -------
    - Vendor's tables of operators and dtypes: https://github.com/Ascend/pytorch/tree/master/docs/zh/api/native_api
    - ``ArgSort can not support dtype int32 or int64 on AiCore`` is a warning of CANN.
    """

    code = "NPU602"
    name = "operator-dtype"
    topic = "op"
    severity = Severity.WARNING
    triggers = Triggers((*sorted(_ASKED), *sorted(_DRAWING)))

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        reported: set[Origin] = set()
        events = flow.events("method", "call", "loss", "distribution")
        for event in sorted(events, key=lambda event: getattr(event.node, "lineno", 0)):
            name = _operator_of(event)
            atom = _operand(event).get(TENSOR) if name in _ASKED else None
            if atom is None or not atom.dtypes or atom.on_host or _is_cast(event, atom):
                continue
            facts = operator(f"torch.{name}") or operator(f"torch.nn.functional.{name}")
            if atom.dtypes <= INT32 | INT64 and name in _SORTING:
                yield self._finding(flow, event, atom, f"{name} of integers runs on the AI CPU, slowly; sort floats")
            elif facts is not None and _is_refused(facts, atom.dtypes):
                if atom.dtypes == FLOAT64 and atom.origin is not None:
                    if atom.origin in reported:
                        continue
                    reported.add(atom.origin)
                yield self._finding(flow, event, atom, _message(name, atom, facts))

    def _finding(self, flow: FileFlow, event: Event, atom: Atom, message: str) -> Hit:
        severity = Severity.NOTE if atom.dtypes <= INT32 | INT64 else Severity.WARNING
        return self.hit(flow, event, message, severity=severity, doubts=device_doubts(atom))


def _operator_of(event: Event) -> str:
    if event.kind == "call" and not event.how.startswith("torch."):
        return ""
    last = event.how.rpartition(".")[2]
    return _DRAWING.get(last, last) if event.kind == "distribution" else last.rstrip("_")


def _operand(event: Event) -> Value:
    """The tensor whose dtype chooses the kernel."""
    if event.kind == "method":
        return event.value
    if event.kind == "distribution":
        return event.keywords.get("logits") or event.keywords.get("probs") or (event.values or (UNKNOWN,))[0]
    named = event.keywords.get("input") or UNKNOWN
    return event.values[0] if event.values else named


def _is_cast(event: Event, atom: Atom) -> bool:
    """Autocast gives many operators float32, whatever they get; an argument ``dtype`` does as well."""
    if "dtype" in event.keywords:
        return True
    return bool(atom.dtypes & HALF) and any(frame.about == AUTOCAST for frame in outwards(event.frame))


def _is_refused(facts: Operator, dtypes: frozenset[str]) -> bool:
    """Whether a kernel lists float32 but none of the dtypes that a tensor is known to have."""
    if not (facts.supported and "float32" in facts.dtypes) or not dtypes <= HALF | FLOAT64:
        return False
    return facts.dtypes.isdisjoint(dtypes)


def _message(name: str, atom: Atom, facts: Operator) -> str:
    dtypes = " or ".join(sorted(atom.dtypes))
    listed = ", ".join(sorted(dtype for dtype in facts.dtypes if dtype.startswith(("float", "bfloat"))))
    return f"{name} of {dtypes}: the NPU's kernel lists {listed} among floating types"

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npuport.analysis.device_evidence import called_name
from npuport.analysis.flow.dtypes import FLOAT32, FLOAT64, HALF
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frames import AUTOCAST, outwards
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import DISTRIBUTION, INSTANCE, LAYER, TENSOR, Value
from npuport.analysis.half_precision import (
    LOG_PROBABILITIES,
    LOG_PROBABILITY_NAME,
    Region,
    autocast_regions,
    computed,
    enabled_argument,
)
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.flow_rule import FlowRule
from npuport.engine.rewriting.amp import switched_off
from npuport.engine.rule import Hit, Triggers

_HALVES = {"half": "float16", "bfloat16": "bfloat16"}
_DELICATE_NAME = re.compile(
    rf"{LOG_PROBABILITY_NAME.pattern}|ratio|(?:^|_)(?:adv|advantages?|returns?|values?|q_values?|td_\w+|deltas?)(?:_|$)"
)
_NETWORK_NAME = re.compile(r"actor|critic|policy|agent|(?:^|_)(?:q|pi|v)_?(?:net|func)|value|dqn")


class HalfCast(FlowRule):
    """Log-probabilities, a ratio or a value loss are computed in half precision.

    What it does
    ------------
    Reports autocast regions in which a probability ratio, log-probabilities or the loss of a value function are
    computed, in the region itself or in functions of the file called there; the same quantities of tensors that were
    cast to half precision; casts of log-probabilities, ratios, advantages, returns and values; and ``half()`` of a
    policy or value network. Not reported: ``enabled=False``, and regions that only run a network.

    Why on an NPU
    -------------
    A logit of 10 has an error of 0.004 in float16 and of 0.03 in bfloat16, and the ratio is the exponential of a
    difference of such numbers: it is not 1 where policies are equal, and clipping starts from noise. Returns above
    65504 overflow in float16, and an NPU may saturate where a GPU gives infinity. Networks of this size gain little
    from half precision.

    Example
    -------
    ::

        with torch.autocast("npu", dtype=torch.bfloat16):
            log_prob = Categorical(logits=actor(obs)).log_prob(actions)
            ratio = (log_prob - old_log_prob).exp()

    Use instead
    -----------
    ::

        with torch.autocast("npu", dtype=torch.bfloat16):
            logits = actor(obs)
        log_prob = Categorical(logits=logits.float()).log_prob(actions)
        ratio = (log_prob - old_log_prob).exp()

    Fix safety
    ----------
    Unsafe: ``enabled=False`` computes the whole region in float32, which is slower and gives other numbers.

    Sources
    -------
    - Which operators autocast leaves in half precision: https://docs.pytorch.org/docs/stable/amp.html
    - https://github.com/verl-project/verl/issues/4200
    """

    code = "NPU503"
    name = "half-cast"
    topic = "amp"
    severity = Severity.WARNING
    triggers = Triggers(("autocast", "half", "float16"))

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        for region in autocast_regions(module, flow):
            if not region.dtypes & (FLOAT32 | FLOAT64):
                yield _of_region(flow, region)
        for event in flow.events("log_prob", "loss", "call", "method", "distribution"):
            dtypes = _half_operand(event)
            what = LOG_PROBABILITIES if event.kind == "distribution" else computed(module, event) if dtypes else ""
            if what and dtypes:
                message = f"{what} in {dtypes}: cast the operands to float32 first"
                yield self.hit(flow, event, message)
        yield from _casts(module, flow)


def _of_region(flow: FileFlow, region: Region) -> Hit:
    places: dict[str, int] = {}
    for what, _, line in region.delicate:
        places.setdefault(what, line)
    listed = " and ".join(f"{what} (line {line})" for what, line in sorted(places.items(), key=lambda place: place[1]))
    call = region.node if isinstance(region.node, ast.Call) else None
    enabled = enabled_argument(call) if call is not None else None
    switched = enabled is not None and not (isinstance(enabled, ast.Constant) and enabled.value is True)
    named = region.dtypes if region.dtypes <= HALF else {"half precision"}
    severity = Severity.NOTE if switched or call is None else None
    evidence = ("assumed: that autocast is on",) if switched else ()
    message = f"autocast in {' or '.join(sorted(named))} around {listed}; leave these in float32"
    return Hit(
        region.node,
        message,
        switched_off(call) if call is not None and enabled is None else None,
        severity,
        evidence,
        how_often=None,
    )


def _half_operand(event: Event) -> str:
    """The half precision in which an operand is known to be, outside of autocast; empty where none is."""
    if any(frame.about == AUTOCAST for frame in outwards(event.frame)):
        return ""
    operands = (event.value, *event.values, *event.keywords.values())
    if event.kind == "call":
        operands = event.values
    for value in operands:
        atom = value.get(DISTRIBUTION) or value.get(TENSOR)
        if atom is not None and atom.dtypes and atom.dtypes <= HALF and not value.get(INSTANCE):
            return " or ".join(sorted(atom.dtypes))
    return ""


def _casts(module: Module, flow: FileFlow) -> Iterator[Hit]:
    """``log_prob.half()``, ``ratio.to(torch.bfloat16)``, ``policy.half()``."""
    for call in module.index.calls:
        dtype = _cast_to(module, call)
        if not dtype or not isinstance(call.func, ast.Attribute) or not module.uses_torch:
            continue
        receiver = call.func.value
        value = flow.value(receiver)
        name = _name_of(receiver)
        if value.only(INSTANCE, LAYER):
            if dtype == "float16" and _NETWORK_NAME.search(name):
                yield Hit(
                    call, f"{name} computes in float16: its log-probabilities and values overflow and round first"
                )
        elif _may_be_tensor(value) and _DELICATE_NAME.search(name):
            yield Hit(call, f"{name} in {dtype}: keep log-probabilities, ratios, returns and values in float32")


def _may_be_tensor(value: Value) -> bool:
    return not value or value.only(TENSOR)


def _cast_to(module: Module, call: ast.Call) -> str:
    name = called_name(call)
    if name in _HALVES and not call.args:
        return _HALVES[name]
    if name in ("to", "type"):
        for given in (*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "dtype")):
            dotted = module.resolve(given) if isinstance(given, ast.Attribute | ast.Name) else None
            if dotted in ("torch.float16", "torch.half", "torch.bfloat16"):
                return "bfloat16" if dotted == "torch.bfloat16" else "float16"
    return ""


def _name_of(node: ast.expr) -> str:
    """What a value is called, or what the function is called that gives it."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Call):
        return called_name(node).lower()
    return (node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else "").lower()

from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.flow.declarations import Function
from npuport.analysis.flow.dtypes import FLOAT32, FLOAT64
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.half_precision import (
    RATIO,
    Region,
    autocast_regions,
    calls_reach,
    computed,
    enabled_argument,
    regions_with_network,
)
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix
from npuport.engine.flow_rule import FlowRule
from npuport.engine.rewriting.amp import switched_off
from npuport.engine.rule import Hit, Triggers


class MismatchedAutocast(FlowRule):
    """Rollout and update run the policy in different precisions.

    What it does
    ------------
    Reports, in a file that acts and that computes a probability ratio, autocast around only one of the two, or
    autocast in different dtypes.

    Why on an NPU
    -------------
    The ratio compares the probability of an action when it was taken with its probability now. In different
    precisions it differs from 1 before anything was learned, by the rounding of the logits: clipping and early stops
    by KL then react to noise. On an NPU the noise is another one than on the GPU that the clip range was tuned on.

    Example
    -------
    ::

        with torch.no_grad():
            action, old_log_prob = policy.act(obs)  # float32
        ...
        with torch.autocast("npu", dtype=torch.bfloat16):
            ratio = (policy.log_prob(obs, action) - old_log_prob).exp()

    Use instead
    -----------
    ::

        log_prob = policy.log_prob(obs, action)  # both in float32
        ratio = (log_prob - old_log_prob).exp()

    Fix safety
    ----------
    Unsafe: ``enabled=False`` for the autocast that stands alone changes speed and numbers.

    Sources
    -------
    - ``torch.amp``: https://docs.pytorch.org/docs/stable/amp.html
    - https://github.com/verl-project/verl/issues/4200
    """

    code = "NPU504"
    name = "mismatched-autocast"
    topic = "amp"
    severity = Severity.WARNING
    triggers = Triggers(("autocast",))

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        acting = _acting(flow)
        ratios = _with_ratio(module, flow)
        if not acting or not ratios or any(function in acting for function in ratios):
            return
        rollouts = [region for region in regions_with_network(module, flow) if region.function in acting]
        updates = [
            region for region in autocast_regions(module, flow) if RATIO in {what for what, _, _ in region.delicate}
        ]
        if updates and not rollouts and not any(_under_autocast(flow, function) for function in acting):
            what = "the update computes its ratio under autocast, the rollout does not"
            yield _hit(updates[0], what, alone=True)
        elif rollouts and updates:
            yield from _other_dtypes(rollouts[0], updates[0])
        elif rollouts and not any(_shares(flow, function, rollouts) for function in ratios):
            yield _hit(
                rollouts[0], "the rollout acts under autocast, the update computes its ratio without", alone=True
            )


def _acting(flow: FileFlow) -> list[Function]:
    """The functions of the file that run a network to act."""
    keys = flow.program.actions.acting
    found = {event.function.key: event.function for event in flow.events("forward", "log_prob", "sample")}
    return [function for key, function in found.items() if key in keys or _steps(function)]


def _steps(function: Function) -> bool:
    return any(what == "step" for what, _, _ in function.facts)


def _with_ratio(module: Module, flow: FileFlow) -> list[Function]:
    events = (event for event in flow.events("call", "method") if computed(module, event) == RATIO)
    return list(dict.fromkeys(event.function for event in events))


def _under_autocast(flow: FileFlow, function: Function) -> bool:
    return flow.program.contexts.under_autocast(function, None)


def _shares(flow: FileFlow, function: Function, rollouts: list[Region]) -> bool:
    """Whether an update is under autocast as well, or runs the same function that has the autocast."""
    if _under_autocast(flow, function):
        return True
    return any(calls_reach(flow, function, region.function) for region in rollouts)


def _other_dtypes(rollout: Region, update: Region) -> Iterator[Hit]:
    known = rollout.dtypes | update.dtypes
    if rollout.dtypes != update.dtypes and "?" not in known:
        one, other = (" or ".join(sorted(region.dtypes)) for region in (rollout, update))
        yield _hit(update, f"the rollout acts in {one}, the update computes its ratio in {other}", alone=False)


def _hit(region: Region, what: str, *, alone: bool) -> Hit:
    call = region.node if isinstance(region.node, ast.Call) else None
    enabled = enabled_argument(call) if call is not None else None
    fix: Fix | None = switched_off(call) if call is not None and enabled is None and alone else None
    severity = None if enabled is None else Severity.NOTE
    if region.dtypes & (FLOAT32 | FLOAT64):
        severity = Severity.NOTE
    return Hit(region.node, f"{what}: it is not 1 before the first step", fix, severity)

from __future__ import annotations

from collections.abc import Iterator

from npuport.analysis.flow.frequency import Level
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.module import Module
from npuport.analysis.rollouts import is_only_read
from npuport.engine.finding import Severity
from npuport.engine.flow_rule import FlowRule
from npuport.engine.rule import Hit, Triggers


class RolloutWithGrad(FlowRule):
    """A network chooses an action and records gradients that nobody uses.

    What it does
    ------------
    Notes, once a function, networks that run once per environment step to choose an action, outside of
    ``torch.no_grad`` and ``torch.inference_mode``, where the result is only read (``argmax``, ``item``), or detached
    on its way to the environment. Not noted: results that are stored, returned or scored, which a loss may need.

    Why on an NPU
    -------------
    Recording the graph costs host time at every operator, and a step of a small network is host time only. It also
    keeps the activations alive until the result is gone.

    Example
    -------
    ::

        def act(self, obs):
            return self.net(obs).argmax(1).item()

    Use instead
    -----------
    ::

        @torch.no_grad()
        def act(self, obs):
            return self.net(obs).argmax(1).item()

    Sources
    -------
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    """

    code = "NPU904"
    name = "rollout-with-grad"
    topic = "batch"
    severity = Severity.NOTE
    triggers = Triggers(("argmax", ".max(", ".item", "detach", "tolist", "multinomial", ".data"))

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        contexts, acting = flow.program.contexts, flow.program.actions.acting
        seen: set[str] = set()
        for event in flow.events("forward"):
            function = event.function
            if function.key in seen or flow.level(event) < Level.STEP:
                continue
            plays = function.key in acting or any(what == "step" for what, _, _ in function.facts)
            if not plays or contexts.without_gradients(function, event.frame):
                continue
            if is_only_read(module, event, detached=flow.is_inherent(event)):
                seen.add(function.key)
                yield self.hit(flow, event, "the network records gradients for an action that is only read: no_grad")

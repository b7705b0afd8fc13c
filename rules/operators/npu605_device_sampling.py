from __future__ import annotations

from collections.abc import Iterator

from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frequency import Level
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import DISTRIBUTION, TENSOR
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.flow_rule import FlowRule
from npuport.engine.rule import Hit, Triggers

_DRAWS = frozenset({"torch.multinomial", "torch.bernoulli", "torch.normal"})


class DeviceSampling(FlowRule):
    """Actions are drawn on the device in a program that fixes its seed.

    What it does
    ------------
    Reports, once a file, the first ``sample()`` of a distribution or ``multinomial`` whose parameters are known to be
    on the accelerator, in code that acts once per environment step, where the program calls ``torch.manual_seed``.

    Why on an NPU
    -------------
    The NPU draws another stream of numbers than CUDA and the CPU from the same seed. A ported agent takes other
    actions from the first step on, so that a single seeded run says nothing about the port: compare several seeds,
    or draw the noise on the host, where the stream is the same everywhere.

    Example
    -------
    ::

        torch.manual_seed(seed)
        action = Categorical(logits=actor(obs)).sample()

    Use instead
    -----------
    ::

        noise = -torch.empty(steps, envs, actions).exponential_(generator=host_generator).log()
        noise = noise.to(device)  # one copy a rollout
        action = (actor(obs) + noise[step]).argmax(-1)  # draws from softmax(logits)

    Sources
    -------
    - Random numbers of op-plugin's ``multinomial``: https://github.com/Ascend/op-plugin
    """

    code = "NPU605"
    name = "device-sampling"
    topic = "op"
    severity = Severity.NOTE
    triggers = Triggers((".sample(", "multinomial", "bernoulli", "normal"))

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        if not flow.program.fixes_seed(flow.scope.key):
            return
        for event in flow.events("sample", "call"):
            if _draws_on_device(event) and flow.level(event) >= Level.STEP:
                message = "from the same seed an NPU draws other numbers than CUDA: compare several seeds, not one run"
                yield self.hit(flow, event, message)
                return


def _draws_on_device(event: Event) -> bool:
    if event.kind == "call" and event.how not in _DRAWS:
        return False
    atom = event.value.get(DISTRIBUTION) or event.value.get(TENSOR)
    return atom is not None and atom.on_accelerator

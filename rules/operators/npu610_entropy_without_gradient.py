from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import ASSUMED, DISTRIBUTION
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, rewrite
from npuport.engine.flow_rule import FlowRule
from npuport.engine.lazy_libcst import cst
from npuport.engine.rule import Hit, Triggers
from npuport.engine.writer import Writer


class EntropyWithoutGradient(FlowRule):
    """The entropy of a Bernoulli distribution has no gradient on an NPU.

    What it does
    ------------
    Reports ``entropy()`` of a ``Bernoulli``, also inside an ``Independent``. Not reported: under ``torch.no_grad``, and
    distributions whose parameters are on the CPU.

    Why on an NPU
    -------------
    torch computes this entropy as ``binary_cross_entropy_with_logits(logits, probs)``, and torch_npu gives that
    function no gradient for its target. What is left, for the logits, is zero everywhere. An entropy bonus over binary
    actions is computed, added to the loss, and does nothing; no message tells.

    Example
    -------
    ::

        dist = Bernoulli(logits=self.actor(obs))
        loss = policy_loss - 0.01 * dist.entropy().mean()

    Use instead
    -----------
    ::

        dist = Bernoulli(logits=self.actor(obs))
        loss = policy_loss - 0.01 * (torch.nn.functional.softplus(dist.logits) - dist.probs * dist.logits).mean()

    Fix safety
    ----------
    Unsafe: the same function, but rounded otherwise in the last digit. Offered where the distribution has a name.

    Sources
    -------
    - https://github.com/Ascend/op-plugin, ``derivatives.yaml``: ``binary_cross_entropy_with_logits`` has no entry for
      ``target``.
    - Seen under torch_npu 2.13.0 on an emulated device: the gradient of ``Bernoulli(logits=x).entropy()`` is zero
      where the CPU's is not, and equal with the code above.
    """

    code = "NPU610"
    name = "entropy-without-gradient"
    topic = "op"
    severity = Severity.ERROR
    triggers = Triggers(("entropy",))
    about_frequency = False

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        contexts = flow.program.contexts
        wrapped = any(event.how == "Independent" for event in flow.events("distribution"))
        for event in flow.events("log_prob"):
            atom = event.value.get(DISTRIBUTION)
            if event.how != "entropy" or atom is None or atom.on_host or atom.refs != {"Bernoulli"}:
                continue
            if contexts.without_gradients(event.function, event.frame):
                continue
            assumed = ASSUMED in atom.devices
            yield self.hit(
                flow,
                event,
                "the entropy of a Bernoulli has no gradient on an NPU: a bonus for it does nothing",
                fix=None if wrapped else _fix(event.node),
                doubts=["that its parameters are on the training device"] if assumed else [],
            )


def _fix(node: ast.AST) -> Fix | None:
    """The same function written out, which reads the distribution three times: it must have a name."""
    if not isinstance(node, ast.Call) or node.args or node.keywords or not isinstance(node.func, ast.Attribute):
        return None
    if not isinstance(node.func.value, ast.Name):
        return None
    name = node.func.value.id

    def transform(_: cst.CSTNode, writer: Writer) -> str:
        return f"({writer.torch()}.nn.functional.softplus({name}.logits) - {name}.probs * {name}.logits)"

    return rewrite("Write the entropy out", node, transform, unsafe_because="rounds differently in the last digit")

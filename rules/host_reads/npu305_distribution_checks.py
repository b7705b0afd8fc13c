from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frequency import Level
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import ASSUMED, CHECKED, CLASS, DISTRIBUTION, LIBRARY, Atom
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, rewrite
from npuport.engine.flow_rule import FlowRule
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.names import replace_argument, with_argument
from npuport.engine.rule import Hit, Triggers
from npuport.engine.writer import Writer

# By class: waits when one is made and at its log_prob, and how many parameters stand before ``validate_args``.
# Counted on torch 2.13 as reads of a scalar, less those that are left with ``validate_args=False``.
WAITS = {
    "Bernoulli": (1, 1, 2),
    "Beta": (3, 2, 2),
    "Binomial": (2, 1, 3),
    "Categorical": (1, 1, 2),
    "Cauchy": (2, 1, 2),
    "Dirichlet": (1, 1, 1),
    "Exponential": (1, 1, 1),
    "Gamma": (2, 1, 2),
    "Geometric": (1, 1, 2),
    "Gumbel": (4, 1, 2),
    "HalfNormal": (1, 1, 1),
    "Kumaraswamy": (4, 2, 2),
    "Laplace": (2, 1, 2),
    "LogNormal": (4, 2, 2),
    "MultivariateNormal": (2, 1, 4),
    "Normal": (2, 1, 2),
    "OneHotCategorical": (2, 1, 2),
    "Poisson": (1, 1, 1),
    "RelaxedBernoulli": (2, 1, 3),
    "StudentT": (3, 1, 3),
    "Uniform": (2, 1, 2),
    "VonMises": (2, 1, 2),
}


_SAMPLED_BY_NORMAL = frozenset({"Normal", "HalfNormal", "LogNormal"})


class DistributionChecks(FlowRule):
    """A distribution checks its arguments on the device once per environment step.

    What it does
    ------------
    Reports distributions of ``torch.distributions`` that are made with argument checks, and their
    ``log_prob``, in code that runs once per environment step or more often. The finding says how many waits
    the line costs. Also ``sample()`` of a normal distribution, which always asks whether every scale is
    positive. Not reported: once per update, ``validate_args=False``, and programs that call
    ``Distribution.set_default_validate_args(False)``.

    Why on an NPU
    -------------
    Each check compares a tensor on the device and asks on the host whether all of it is valid, which waits until
    the device has computed everything that was queued. In a PPO script, more than half of all waits came from
    here.

    Example
    -------
    ::

        def act(self, obs):
            dist = Categorical(logits=self.actor(obs))
            action = dist.sample()
            return action, dist.log_prob(action)

    Use instead
    -----------
    ::

        def act(self, obs):
            dist = Categorical(logits=self.actor(obs), validate_args=False)
            action = dist.sample()
            return action, dist.log_prob(action)

    Fix safety
    ----------
    Unsafe: numbers stay the same, but a NaN in the network's output no longer stops the program where the
    distribution is made.

    Sources
    -------
    - https://docs.pytorch.org/docs/stable/distributions.html, ``validate_args``
    - ``torch.normal`` of two tensors looks at its second: counted on an emulated device under torch_npu 2.13.0.
    - Counted on CleanRL's ``ppo.py``: 0.54 of its 0.82 waits per environment step are such checks.
    """

    code = "NPU305"
    name = "distribution-checks"
    topic = "item"
    severity = Severity.WARNING
    triggers = Triggers(("distributions", "log_prob"))

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        for event in flow.events("sample"):
            if event.how == "sample" and _asks_for_scale(event) and flow.level(event) >= Level.STEP:
                yield self._sampled(flow, event)
        if not flow.program.checks_arguments(flow.scope.key):
            return
        densities = [e for e in flow.events("log_prob") if e.how == "log_prob" and _waits(flow, e)]
        made = [e for e in flow.events("distribution") if e.how in WAITS and _waits(flow, e)]
        for event in made:
            yield self._made(module, flow, event)
        for event in densities:
            maker = next((other for other in made if _of_same_run(other, event)), None)
            yield self._asked(module, flow, event, maker)

    def _sampled(self, flow: FileFlow, event: Event) -> Hit:
        atom = event.value.get(DISTRIBUTION)
        message = "sample() of a normal distribution asks whether every scale is positive, and waits for the device"
        return self.hit(flow, event, f"{message}, {flow.level(event).phrase}", doubts=_doubts(atom))

    def _made(self, module: Module, flow: FileFlow, event: Event) -> Hit:
        count = WAITS[event.how][0]
        waits = f"{count} wait{'s' if count > 1 else ''} for the device"
        return self.hit(
            flow,
            event,
            f"{event.how} checks its arguments: {waits}, {flow.level(event).phrase}",
            fix=_fix(module, flow, event),
            doubts=_doubts(event.value.get(DISTRIBUTION)),
        )

    def _asked(self, module: Module, flow: FileFlow, event: Event, maker: Event | None) -> Hit:
        atom = event.value.get(DISTRIBUTION)
        origin = atom.origin if atom is not None else None
        made = [f"made with argument checks ({origin[0].rpartition('/')[2]}:{origin[1]})"] if origin else []
        return self.hit(
            flow,
            event,
            f"log_prob checks its argument and waits for the device, {flow.level(event).phrase}",
            fix=_fix(module, flow, maker) if maker is not None else None,
            doubts=_doubts(atom),
            evidence=made,
        )


def _fix(module: Module, flow: FileFlow, made: Event) -> Fix | None:
    """The checks of a distribution and of its ``log_prob`` go with one argument, where it is made."""
    assert isinstance(made.node, ast.Call)
    if not _takes_checks(module, flow, made.node.func):
        return None
    return _without_checks(module, made.node, WAITS[made.how][2])


def _takes_checks(module: Module, flow: FileFlow, called: ast.expr) -> bool:
    """Whether what is called has the argument: a class of torch, or one that leaves making it to its base."""
    if (module.resolve(called) or "").startswith("torch."):
        return True
    value = flow.value(called)
    own = value.get(CLASS)
    if own is not None and value.only(CLASS):
        return all(flow.program.knowledge.method(key, "__init__") is None for key in own.refs)
    return value.only(LIBRARY)  # not what a caller passed, which may be any function


def _waits(flow: FileFlow, event: Event) -> bool:
    atom = event.value.get(DISTRIBUTION)
    return atom is not None and CHECKED in atom.marks and not atom.on_host and flow.level(event) >= Level.STEP


def _asks_for_scale(event: Event) -> bool:
    """``sample`` of these ends in ``torch.normal`` of two tensors, which checks the second on the host."""
    atom = event.value.get(DISTRIBUTION)
    return atom is not None and not atom.on_host and not atom.refs.isdisjoint(_SAMPLED_BY_NORMAL)


def _of_same_run(made: Event, asked: Event) -> bool:
    """Whether a density is asked of a distribution in the function that makes it."""
    one, other = made.value.get(DISTRIBUTION), asked.value.get(DISTRIBUTION)
    return one is not None and other is not None and made.function is asked.function and one.origin == other.origin


def _doubts(atom: Atom | None) -> list[str]:
    assumed = atom is None or ASSUMED in atom.devices
    return ["that its parameters are on the training device"] if assumed else []


def _without_checks(module: Module, call: ast.Call, parameters: int) -> Fix | None:
    given = next((keyword for keyword in call.keywords if keyword.arg == "validate_args"), None)
    unpacks = any(keyword.arg is None for keyword in call.keywords) or any(
        isinstance(argument, ast.Starred) for argument in call.args
    )
    if unpacks or len(call.args) > parameters or (given and not isinstance(given.value, ast.Constant)):
        return None

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        assert isinstance(node, cst.Call)
        if given is not None:
            return replace_argument(node, "validate_args", "False", writer)
        return with_argument(node, writer.argument("False", "validate_args"))

    return rewrite(
        "Leave the argument checks out",
        call,
        transform,
        unsafe_because="a NaN in the parameters no longer stops the program here",
    )

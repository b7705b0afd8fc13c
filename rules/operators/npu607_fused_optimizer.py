from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, NotFixable, Transform, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.names import replace_argument, without_argument
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer
from npuport.facts.kernels import has_kernel

_KERNELS = {"Adam": "_fused_adam_", "AdamW": "_fused_adamw_", "SGD": "_fused_sgd_", "Adagrad": "_fused_adagrad"}


class FusedOptimizer(Rule):
    """An optimizer is asked for its fused kernel, which the NPU lacks or has with limits.

    What it does
    ------------
    Reports ``fused=True`` of the optimizers of ``torch.optim``, also in a dictionary that is handed on with ``**``,
    and ``fused=`` with a test for an NPU. A test for CUDA is false on an NPU, and reported as such by NPU103.

    Why on an NPU
    -------------
    torch allows the option on every device, but the kernels differ. Without one (Adam and SGD before 2.13.0,
    Adagrad) each step copies all parameters to the CPU and back. AdamW's, of all releases, goes parameter by
    parameter and ignores the scale and the overflow flag of a GradScaler, so infinite gradients reach the
    parameters. SGD's refuses a momentum of 0, the default. Adam's needs ``aclnnFusedAdam`` in CANN.

    Example
    -------
    ::

        optimizer = torch.optim.Adam(agent.parameters(), lr=3e-4, fused=True)

    Use instead
    -----------
    ::

        optimizer = torch.optim.Adam(agent.parameters(), lr=3e-4)

    Fix safety
    ----------
    Safe where there is no kernel, or it would be refused or ignore the scaler: without the option the same update
    runs on the NPU. Unsafe where there is one: the update rounds differently. ``--style portable`` keeps the option
    for CUDA.

    Sources
    -------
    - ``FusedAdamWKernelNpuOpApi.cpp``, ``FusedSgdKernelOpApi.cpp`` and the release branches of
      https://github.com/Ascend/op-plugin; operators and names in the torch_npu 2.13.0 wheel
    - https://github.com/meta-pytorch/torchtune/pull/2646 switched it off for NPU.
    """

    code = "NPU607"
    name = "fused-optimizer"
    topic = "op"
    severity = Severity.WARNING
    triggers = Triggers(("fused",))

    def check(self, module: Module) -> Iterator[Hit]:
        scaled = any(reference.dotted.endswith(".GradScaler") for reference in module.references)
        for call in module.index.calls:
            dotted = module.resolve(call.func) or ""
            name = dotted.rpartition(".")[2]
            if not dotted.startswith("torch.optim.") or name not in _KERNELS or module.knows_npu(call):
                continue
            for node, value in _options(module, call):
                if _may_be_true(module, value):
                    problem = _problem(name, call, module.target, scaled)
                    if problem is not None:
                        message, severity, reason = problem
                        own = isinstance(node, ast.keyword) and node in call.keywords
                        fix = _fix(module, call, value, reason) if own else None
                        yield Hit(value, message, fix, severity)


def _options(module: Module, call: ast.Call) -> Iterator[tuple[ast.AST, ast.expr]]:
    """``fused=`` of a call, or an entry of the dictionary that a name in ``**name`` is bound to."""
    for keyword in call.keywords:
        if keyword.arg == "fused":
            yield keyword, keyword.value
        elif keyword.arg is None and isinstance(keyword.value, ast.Name):
            for binding in module.names.bindings(keyword.value.id, keyword.value):
                yield from _entries(binding.value)


def _entries(value: ast.expr | None) -> Iterator[tuple[ast.AST, ast.expr]]:
    if isinstance(value, ast.Dict):
        for key, entry in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "fused":
                yield key, entry
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict":
        yield from ((keyword, keyword.value) for keyword in value.keywords if keyword.arg == "fused")
    elif isinstance(value, ast.IfExp):
        yield from _entries(value.body)
        yield from _entries(value.orelse)


def _may_be_true(module: Module, value: ast.expr) -> bool:
    """Whether the option is on: a constant, a name that gets True, or a test for an NPU."""
    if isinstance(value, ast.Constant):
        return value.value is True
    if isinstance(value, ast.Name):
        values = [binding.value for binding in module.names.bindings(value.id, value)]
        return any(isinstance(bound, ast.Constant) and bound.value is True for bound in values)
    return module.branches.mentions_npu(value) and not isinstance(value, ast.UnaryOp)


def _problem(name: str, call: ast.Call, target: str, scaled: bool) -> tuple[str, Severity | None, str] | None:
    """What is wrong with the fused kernel: the message, another severity, and why leaving it out is unsafe."""
    if not has_kernel(_KERNELS[name], target):
        copies = "each step copies all parameters to the CPU and back"
        return f"torch_npu {target} has no fused kernel for {name}: {copies}", None, ""
    rounds = "the update rounds differently"
    if name == "AdamW" and scaled:
        message = "the NPU's fused AdamW ignores the GradScaler: scaled and infinite gradients reach the parameters"
        return message, Severity.ERROR, ""
    if name == "AdamW":
        message = "the NPU's fused AdamW goes parameter by parameter, and would ignore a GradScaler"
        return message, Severity.NOTE, rounds
    if name == "SGD":
        momentum = next((keyword.value for keyword in call.keywords if keyword.arg == "momentum"), None)
        without = momentum is None and len(call.args) < 3 and all(keyword.arg for keyword in call.keywords)
        if without or (isinstance(momentum, ast.Constant) and momentum.value == 0):
            return "the NPU's fused SGD refuses a momentum of 0", Severity.ERROR, ""
        return None
    return "the fused Adam runs on the CPU where CANN has no aclnnFusedAdam", Severity.NOTE, rounds


def _fix(module: Module, call: ast.Call, value: ast.expr, reason: str) -> Fix:
    constant = isinstance(value, ast.Constant)
    return rewrite("Leave the fused kernel to CUDA", call, _plain(constant), unsafe_because=reason)


def _plain(constant: bool) -> Transform:
    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
        assert isinstance(node, cst.Call)
        if not writer.portable:
            option = next(arg for arg in node.args if arg.keyword and arg.keyword.value == "fused")
            return without_argument(node, option)
        if not constant:
            raise NotFixable("the test decides for other devices too")
        return replace_argument(node, "fused", f'{writer.helper("DEVICE_TYPE")} == "cuda"', writer)

    return transform

from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.choices import AVAILABILITY
from npuport.analysis.cuda_api import Kind, cuda_uses
from npuport.analysis.device_evidence import has_method
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.fix import rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer


class BareDeviceIndex(Rule):
    """A bare number is used as a device.

    What it does
    ------------
    Reports integers where torch takes a device: ``x.to(0)``, ``torch.device(0)``, ``device=0`` of a function or
    module of torch (as warnings; as notes where the target is torch 2.13, which means the NPU by them), ``0 if
    torch.cuda.is_available() else "cpu"``, and ``torch.cuda.current_device()`` that is used as a device and nothing
    else. ``device_ids=[rank]`` of DistributedDataParallel and numbers that functions of ``torch.cuda`` take are fine
    and not reported.

    Why on an NPU
    -------------
    What a number means depends on the release: the current accelerator in torch 2.13, ``cuda:0`` in 2.1. A
    tensor lands on the wrong backend, or the call fails with "Torch not compiled with CUDA enabled".

    Example
    -------
    ::

        storage = torch.zeros(horizon, device=torch.cuda.current_device())

    Use instead
    -----------
    ::

        storage = torch.zeros(horizon, device=torch.device("npu", torch.npu.current_device()))

    Fix safety
    ----------
    Safe: the same card, named in full.

    Sources
    -------
    - ``torch.device(0)`` in torch 2.1 is ``cuda:0``; tried on torch 2.13 and 2.1.2.
    """

    code = "NPU111"
    name = "bare-device-index"
    topic = "device"
    triggers = Triggers(("cuda",), patterns=(r"\.to\(\s*\d", r"device\s*[(=]\s*\d"))

    def check(self, module: Module) -> Iterator[Hit]:
        for use in cuda_uses(module):
            if use.kind is Kind.INTEGER_DEVICE:
                call = module.parent(use.node)
                assert isinstance(call, ast.Call)
                yield Hit(
                    call, "a CUDA card's number is used as a device", rewrite("Name the device in full", call, _current)
                )
        for value in self._literal_devices(module):
            if not module.knows_npu(value):
                message = "a bare number means cuda on older torch; name the device in full"
                severity = Severity.NOTE if _means_the_accelerator(module.target) else Severity.WARNING
                yield Hit(value, message, rewrite("Name the device in full", value, _literal), severity)
        for choice in module.index.choices:
            if self._chooses_number(module, choice):
                together = tuple(
                    r.node
                    for r in module.references
                    if r.dotted in AVAILABILITY and choice.test in [*module.ancestors(r.node)]
                )
                yield Hit(
                    choice.body,
                    "a bare number is chosen as the device",
                    rewrite("Name the device in full", choice.body, _literal),
                    together=together,
                )

    def _literal_devices(self, module: Module) -> Iterator[ast.expr]:
        """Numbers in ``x.to(0)``, ``torch.device(0)`` and ``device=0`` of torch's own functions and modules."""
        for attribute in module.index.attributes.get("to", ()):
            call = module.parent(attribute)
            if (
                isinstance(call, ast.Call)
                and call.func is attribute
                and len(call.args) == 1
                and _is_number(call.args[0])
            ):
                if (
                    module.uses_torch
                    and not module.is_foreign(attribute)
                    and not has_method(module, attribute.value, "to")
                ):
                    yield call.args[0]
        for reference in module.references:
            call = module.parent(reference.node)
            if (
                reference.dotted == "torch.device"
                and isinstance(call, ast.Call)
                and len(call.args) == 1
                and not call.keywords
                and _is_number(call.args[0])
            ):
                yield call.args[0]
        for keyword in module.index.keywords.get("device", ()):
            call = module.parent(keyword)
            dotted = (module.resolve(call.func) if isinstance(call, ast.Call) else None) or ""
            takes_index = dotted.startswith(("torch.cuda.", "torch.npu."))
            if _is_number(keyword.value) and dotted.startswith("torch.") and not takes_index:
                yield keyword.value

    def _chooses_number(self, module: Module, choice: ast.IfExp) -> bool:
        other = choice.orelse
        names_cpu = (isinstance(other, ast.Constant) and other.value == "cpu") or (
            module.resolve(getattr(other, "func", None)) or ""
        ) == "torch.device"
        return (
            _is_number(choice.body)
            and names_cpu
            and "cuda" in module.text_of(choice.test)
            and not module.knows_npu(choice.body)
        )


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _literal(node: cst.CSTNode, writer: Writer) -> str:
    return writer.device(writer.code(node))


def _current(node: cst.CSTNode, writer: Writer) -> str:
    return f"{writer.torch()}.device({writer.device_type()}, {writer.device_module()}.current_device())"


def _means_the_accelerator(target: str) -> bool:
    """Whether torch takes a bare number for the current accelerator in a release; tried on 2.13."""
    return tuple(int(number) for number in target.split(".")[:2]) >= (2, 13)

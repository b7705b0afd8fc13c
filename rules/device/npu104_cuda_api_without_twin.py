from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.cuda_api import Kind, cuda_uses
from npuport.analysis.device_evidence import makers_of
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.facts.api import CHANGED_MEANING, twin_of

# Names outside torch.cuda that are about CUDA all the same; torch.backends has a rule of its own.
_ELSEWHERE = (
    "torch.version.cuda",
    "torch.get_autocast_gpu_dtype",
    "torch.set_autocast_gpu_dtype",
    "torch.profiler.ProfilerActivity.CUDA",
    "torch.utils.cpp_extension.CUDAExtension",
)


class CudaApiWithoutTwin(Rule):
    """A CUDA name is used that torch_npu has not, or has with another meaning.

    What it does
    ------------
    Reports names below ``torch.cuda``, and a few elsewhere, for which the target release of torch_npu has no
    twin (``get_arch_list``, ``nvtx.range``, ``memory_usage``, ...) or one that answers differently
    (``get_device_capability`` is None there, and so are ``major`` and ``minor`` of a device's properties).

    Why on an NPU
    -------------
    Most of them raise AttributeError on ``torch.npu`` and an assertion on ``torch.cuda``;
    ``get_device_capability`` gives None, and ``torch.version.cuda`` is None without CUDA. What replaces it depends
    on what the code wants to know, so a person has to decide.

    Example
    -------
    ::

        major, minor = torch.cuda.get_device_capability()
        dtype = torch.bfloat16 if major >= 8 else torch.float16

    Use instead
    -----------
    ::

        dtype = torch.bfloat16 if torch.npu.is_bf16_supported() else torch.float16

    Sources
    -------
    - Names of torch 2.13.0 against the files of the torch_npu 2.13.0 wheel; ``npuport/facts/data/torch_npu_api.json``
    """

    code = "NPU104"
    name = "cuda-api-without-twin"
    topic = "device"
    triggers = Triggers(("cuda", "CUDA", "autocast_gpu_dtype", "get_device_properties"))

    def check(self, module: Module) -> Iterator[Hit]:
        for use in cuda_uses(module):
            if use.kind is Kind.NO_TWIN:
                note = (
                    CHANGED_MEANING.get(use.dotted)
                    or f"has no twin in torch_npu {module.target}: {use.twin.note if use.twin else ''}"
                )
                yield Hit(use.node, f"{use.dotted} {note}".rstrip(": "))
            elif use.kind is Kind.UNKNOWN:
                yield Hit(
                    use.node,
                    f"{use.dotted} is not known to exist in torch_npu {module.target}",
                    severity=Severity.WARNING,
                )
        for reference in module.references:
            if reference.dotted in _ELSEWHERE and not module.knows_npu(reference.node):
                twin = twin_of(reference.dotted, module.target)
                instead = f"; torch_npu has {twin.npu}" if twin and twin.npu else f"; {twin.note}" if twin else ""
                yield Hit(reference.node, f"{reference.dotted} is about CUDA{instead}", severity=Severity.WARNING)
        for name in ("major", "minor"):
            for attribute in module.index.attributes.get(name, ()):
                if _is_of_properties(module, attribute.value) and not module.knows_npu(attribute):
                    yield Hit(attribute, f"{name} of a device's properties is None on an NPU")


def _is_of_properties(module: Module, value: ast.expr) -> bool:
    """Whether a value is what ``get_device_properties`` gives, directly or through a name."""
    return any(maker.endswith(".get_device_properties") for maker in makers_of(module, value))

from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.module import Module
from npuport.analysis.vocabulary import library_of
from npuport.analysis.walk import modules_of
from npuport.engine.finding import Severity
from npuport.engine.rule import Hit, Rule, Triggers

_PACKAGES = {
    "flash_attn": "torch_npu.npu_fusion_attention, or scaled_dot_product_attention of torch",
    "apex": "torch.amp, and the optimizers of torch or torch_npu.optim",
    "xformers": "scaled_dot_product_attention of torch",
    "triton": "triton-ascend, or the operators of torch",
    "bitsandbytes": "an optimizer of torch in float32 or bfloat16",
    "transformer_engine": "torch.autocast with bfloat16",
    "tensorrt": "the model itself",
    "torch_tensorrt": "the model itself",
    "pycuda": "Ascend C, or the operators of torch",
    "isaacgym": "an environment that steps on the CPU",
    "isaacsim": "an environment that steps on the CPU",
    "omni": "an environment that steps on the CPU",
    "cudf": "pandas",
    "cuml": "scikit-learn",
}
_ANY = "|".join(_PACKAGES)


class CudaOnlyPackage(Rule):
    """A package is imported that exists for CUDA only.

    What it does
    ------------
    Reports imports of flash_attn, apex, xformers, triton, bitsandbytes, isaacgym and others in torch code. An
    import in a ``try`` whose handler does not raise, or behind an ``if``, is not reported.

    Why on an NPU
    -------------
    The import fails, so nothing of the file runs. What replaces the package is another package or another
    design, so a person has to decide.

    Example
    -------
    ::

        from flash_attn.bert_padding import pad_input, unpad_input

    Use instead
    -----------
    ::

        from trainer.padding import pad_input, unpad_input  # torch operators only

    Sources
    -------
    - ``flash_attn`` was replaced by hand in two of 13 public ports; the packages' own requirements.
    """

    code = "NPU606"
    name = "cuda-only-package"
    topic = "op"
    severity = Severity.ERROR
    triggers = Triggers(patterns=(rf"import\b[^\n]*\b(?:{_ANY})\b", rf"from\s+(?:{_ANY})\b"))

    def check(self, module: Module) -> Iterator[Hit]:
        if not module.uses_torch:
            return
        for statement in module.index.imports:
            for package in map(library_of, modules_of(statement)):
                if package in _PACKAGES and not _optional(module, statement):
                    yield Hit(statement, f"{package} exists for CUDA only; instead: {_PACKAGES[package]}")


def _optional(module: Module, statement: ast.stmt) -> bool:
    """An import that the file survives without, or makes only for another device."""
    child: ast.AST = statement
    for ancestor in module.ancestors(statement):
        if isinstance(ancestor, ast.Try) and ancestor.handlers and child in ancestor.body:
            return not any(isinstance(handler.body[-1], ast.Raise) for handler in ancestor.handlers)
        if isinstance(ancestor, ast.If) and child is not ancestor.test:
            return True
        child = ancestor
    return False

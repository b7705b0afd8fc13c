from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.cuda_api import CudaUse, Kind, cuda_uses
from npuport.analysis.device_evidence import strings_in
from npuport.analysis.module import Module
from npuport.engine.fix import Fix, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.imports import import_fix
from npuport.engine.rewriting.names import below_torch_cuda, with_argument
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer

_FORKS = ("torch.random.fork_rng", "torch.fork_rng")


class CudaRngState(Rule):
    """The state of CUDA's random generators is saved, restored or forked.

    What it does
    ------------
    Reports ``torch.cuda.get_rng_state``, ``set_rng_state`` and their ``_all`` forms, and ``torch.random.fork_rng``
    without ``device_type``.

    Why on an NPU
    -------------
    Saving or resuming a run fails in the random part of the checkpoint. The NPU's state has another form (16
    bytes) and its numbers differ from CUDA's for the same seed, so a resumed run does not continue the old
    stream.

    Example
    -------
    ::

        state = {"cpu": torch.get_rng_state(), "cuda": torch.cuda.get_rng_state()}

    Use instead
    -----------
    ::

        state = {"cpu": torch.get_rng_state(), "cuda": torch.npu.get_rng_state()}

    Fix safety
    ----------
    Safe for the call. The key ``"cuda"`` is a file format and stays; whether to rename it is for a person.

    Sources
    -------
    - Tried under torch_npu 2.13.0; ``fork_rng``: https://docs.pytorch.org/docs/stable/random.html
    """

    code = "NPU803"
    name = "cuda-rng-state"
    topic = "checkpoint"
    triggers = Triggers(("rng_state", "fork_rng"))

    def check(self, module: Module) -> Iterator[Hit]:
        for use in cuda_uses(module):
            if use.kind is Kind.RANDOM_STATE:
                keyed = "; the key in the checkpoint stays, it is a file format" if _has_key(module, use.node) else ""
                yield Hit(use.node, f"{use.dotted} has no generator on an NPU machine{keyed}", self._fix(module, use))
        for reference in module.references:
            call = module.parent(reference.node)
            if (
                reference.dotted in _FORKS
                and isinstance(call, ast.Call)
                and _forks_cuda(call)
                and not module.knows_npu(call)
            ):
                fix = rewrite("Fork the NPU's", call, _device_type)
                yield Hit(call, "fork_rng() forks CUDA's generators, not the NPU's", fix)

    def _fix(self, module: Module, use: CudaUse) -> Fix | None:
        bound = use.reference.binding.node if use.reference.binding else None
        if use.alias:
            return import_fix(module, bound) if isinstance(bound, ast.Import | ast.ImportFrom) else None
        return rewrite(
            "Use the NPU's generator", use.node, below_torch_cuda(f"torch.npu.{use.dotted.rpartition('.')[2]}")
        )


def _forks_cuda(call: ast.Call) -> bool:
    """Whether a call leaves the device type to the default, and forks generators of devices at all."""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    enabled, devices = keywords.get("enabled"), keywords.get("devices", call.args[0] if call.args else None)
    if isinstance(enabled, ast.Constant) and enabled.value is False:
        return False
    if isinstance(devices, ast.List | ast.Tuple) and not devices.elts:
        return False
    return "device_type" not in keywords and None not in keywords and len(call.args) < 5


def _has_key(module: Module, node: ast.AST) -> bool:
    return any("cuda" in text for text in strings_in(module.statement(node)))


def _device_type(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
    assert isinstance(node, cst.Call)
    return with_argument(node, writer.argument(writer.device_type(), "device_type"))

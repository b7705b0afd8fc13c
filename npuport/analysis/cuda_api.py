"""What kind of name a use of ``torch.cuda`` is, so that each rule takes its own and no other."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from enum import Enum

from npuport.analysis.module import Module, Reference
from npuport.facts.api import CHANGED_MEANING, Twin, twin_of


class Kind(Enum):
    """The rule family that a CUDA name belongs to."""

    TWIN = "twin"  # torch.npu has it under the same or another name
    NO_TWIN = "no twin"  # missing, or of another meaning
    AMP = "amp"
    RANDOM_STATE = "random state"
    TENSOR_TYPE = "tensor type"
    GRAPH = "graph"
    DEFAULT_ARGUMENT = "default argument"
    INTEGER_DEVICE = "integer device"
    PROFILER_MARK = "profiler mark"
    UNKNOWN = "unknown"


_RANDOM_STATE = {"get_rng_state", "set_rng_state", "get_rng_state_all", "set_rng_state_all"}
_GRAPH = {"CUDAGraph", "graph", "make_graphed_callables", "graph_pool_handle", "graphs"}
_TENSOR_TYPE = re.compile(r"(?:BFloat16|Bool|Byte|Char|Double|Float|Half|Int|Long|Short)(?:Tensor|Storage)")
_MARKS = {"range_push", "range_pop", "mark", "range_start", "range_end"}


@dataclass(frozen=True)
class CudaUse:
    """One use of a name below ``torch.cuda``.

    Attributes:
        reference: where it is.
        node: the part of the reference that is the API name; attributes behind it are left out.
        dotted: the API name, e.g. ``torch.cuda.memory.empty_cache``.
        kind: whose rule it is.
        twin: what torch.npu has for it.
        alias: the name was bound by an import below torch.cuda or by an assignment: the use itself does not
            spell ``torch.cuda``.
    """

    reference: Reference
    node: ast.expr
    dotted: str
    kind: Kind
    twin: Twin | None
    alias: bool


def cuda_uses(module: Module) -> list[CudaUse]:
    """All uses of torch.cuda in a file that do not know the NPU already, in source order; shared."""
    found = module.memo.get("cuda_uses")
    if found is None:
        found = module.memo["cuda_uses"] = [
            _use(module, reference)
            for reference in module.references
            if (reference.dotted == "torch.cuda" or reference.dotted.startswith("torch.cuda."))
            and isinstance(getattr(reference.node, "ctx", None) or ast.Load(), ast.Load)
            and not module.knows_npu(reference.node)
        ]
    return found  # type: ignore[return-value]


def is_imported(use: CudaUse) -> bool:
    """Whether the name of an alias comes from an import statement, not from an assignment."""
    binding = use.reference.binding
    return binding is not None and isinstance(binding.node, ast.Import | ast.ImportFrom)


def _use(module: Module, reference: Reference) -> CudaUse:
    """Cut the reference down to the API name: ``torch.cuda.amp.autocast`` has three parts, most have one."""
    node, dotted = reference.node, reference.dotted
    twin = twin_of(dotted, module.target)
    while twin is None and dotted.count(".") > 2 and isinstance(node, ast.Attribute):
        node, dotted = node.value, dotted.rpartition(".")[0]
        twin = twin_of(dotted, module.target)
    alias = not _spells_cuda(module, reference)
    return CudaUse(reference, node, dotted, _kind(module, node, dotted, twin), twin, alias)


def _spells_cuda(module: Module, reference: Reference) -> bool:
    root = module.resolve(reference.root)
    return root == "torch" or isinstance(reference.root, ast.Call)


def _kind(module: Module, node: ast.expr, dotted: str, twin: Twin | None) -> Kind:
    name = dotted.removeprefix("torch.cuda").lstrip(".")
    first, _, rest = name.partition(".")
    if not name:
        return Kind.TWIN
    if first == "amp":
        return Kind.AMP
    if first == "nvtx" and (rest in _MARKS or not rest):
        return Kind.PROFILER_MARK if rest else Kind.NO_TWIN
    if name.rpartition(".")[2] in _RANDOM_STATE:
        return Kind.RANDOM_STATE
    if _TENSOR_TYPE.fullmatch(name):
        return Kind.TENSOR_TYPE
    if first in _GRAPH:
        return Kind.GRAPH
    if dotted in CHANGED_MEANING:
        return Kind.NO_TWIN
    if twin is None:
        return Kind.UNKNOWN
    if twin.npu is None:
        return Kind.NO_TWIN
    if name == "current_device":
        return _kind_of_current_device(module, node)
    return Kind.TWIN


def _kind_of_current_device(module: Module, node: ast.expr) -> Kind:
    call = module.parent(node)
    if not isinstance(call, ast.Call) or call.func is not node:
        return Kind.TWIN
    if isinstance(module.parent(call), ast.arguments):
        return Kind.DEFAULT_ARGUMENT
    return Kind.INTEGER_DEVICE if is_only_a_device(module, call) else Kind.TWIN


def is_only_a_device(module: Module, value: ast.expr) -> bool:
    """Whether an integer expression is used as a device and as nothing else."""
    parent = module.parent(value)
    if _is_device_position(module, value):
        return True
    if isinstance(parent, ast.IfExp) and value is parent.body:  # ... if torch.cuda.is_available() else "cpu"
        return isinstance(parent.orelse, ast.Constant) and parent.orelse.value == "cpu"
    if not (isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name)):
        return False
    target = parent.targets[0]
    scope = module.names.scope_of(target)
    if len(module.index.bindings.get(scope, {}).get(target.id, [])) != 1:
        return False
    uses = [
        use
        for use in module.index.names.get(target.id, ())
        if module.names.bindings(use.id, use)[:1] and module.names.scope_of(use) is scope
    ]
    return bool(uses) and all(_is_device_position(module, use) for use in uses)


def _is_device_position(module: Module, value: ast.expr) -> bool:
    parent = module.parent(value)
    if isinstance(parent, ast.keyword):
        call = module.parent(parent)
        dotted = module.resolve(call.func) if isinstance(call, ast.Call) else None
        known = dotted is None or dotted.startswith("torch")
        return parent.arg in ("device", "map_location") and known
    if isinstance(parent, ast.Call) and value in parent.args:
        return isinstance(parent.func, ast.Attribute) and parent.func.attr == "to" and parent.args[0] is value
    return False

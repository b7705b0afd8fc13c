from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.flow.frequency import Level
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import ARRAY, NUMBER, NUMPY_SCALAR, ROWS, SEQUENCE
from npuport.analysis.module import Module
from npuport.analysis.tensor_creation import UPLOADING_TEXTS, Creation, keyword, names_device, read_creation
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, rewrite
from npuport.engine.flow_rule import FlowRule
from npuport.engine.rewriting.creation import batch_uploaded
from npuport.engine.rule import Hit, Triggers

_JOINING = {"torch.stack": "stack", "torch.cat": "concatenate", "torch.concat": "concatenate"}


class CopyPerTransition(FlowRule):
    """Each transition of a batch is copied to the device by itself.

    What it does
    ------------
    Reports tensors that are made on the device, or moved to it, once per transition of a sampled batch: in a loop
    or a comprehension over drawn rows. One upload per field and update is not reported.

    Why on an NPU
    -------------
    A copy of four numbers costs as much as a copy of a whole batch, because starting it is what takes the time.
    A batch of 256 transitions with four fields makes 1024 copies where four would do.

    Example
    -------
    ::

        rows = random.sample(memory, 256)
        states = torch.stack([torch.FloatTensor(row.state).to(device) for row in rows])

    Use instead
    -----------
    ::

        states = torch.as_tensor(np.stack([row.state for row in rows]), dtype=torch.float32, device=device)

    Fix safety
    ----------
    Only ``torch.stack`` and ``torch.cat`` over a comprehension have a fix, where the code imports NumPy and the
    dtype is known. Safe where what is stored is known to be NumPy's or Python's; unsafe otherwise: NumPy cannot
    stack tensors of the device.

    Sources
    -------
    - https://github.com/UoA-CARES/cares_reinforcement_learning/issues/68
    - Measured under torch_npu 2.13.0 on an emulated device: ``torch.tensor(x).to(device)`` is one copy each time.
    """

    code = "NPU401"
    name = "copy-per-transition"
    topic = "h2d"
    severity = Severity.WARNING
    triggers = Triggers(UPLOADING_TEXTS)

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        for event in flow.events("upload", "maybe_upload"):
            if flow.level(event) < Level.TRANSITION or event.how == "copy_":
                continue
            creation = read_creation(module, event.node)
            if creation is not None and creation.copies_needlessly:
                continue
            if _is_field(module, flow, event.node):
                continue
            sure = event.kind == "upload"
            yield self.hit(
                flow,
                event,
                "copied to the device once per transition of a batch; build one array on the host, upload it once",
                fix=_fix(module, flow, creation) if creation is not None else None,
                doubts=() if sure else ("that it is a tensor in host memory",),
            )


def _is_field(module: Module, flow: FileFlow, upload: ast.AST) -> bool:
    """Whether the elements of something that is only called a batch are uploaded whole: these are its fields then.

    A transition has parts. Where rows are known to be drawn, a loop over one of their columns is one over rows.
    """
    name = _uploaded(module, upload)
    bindings = module.names.bindings(name.id, name) if isinstance(name, ast.Name) else []
    loops = [module.parent(binding.node) for binding in bindings]
    batches = [loop.iter for loop in loops if isinstance(loop, ast.For | ast.comprehension)]
    drawn = any(ROWS in atom.marks for batch in batches for atom in flow.value(batch).atoms.values())
    return bool(batches) and not drawn and all(isinstance(batch, ast.Name) for batch in batches)


def _uploaded(module: Module, node: ast.AST) -> ast.AST:
    """What is uploaded, without the functions and methods around it."""
    while isinstance(node, ast.Call | ast.Attribute):
        if isinstance(node, ast.Attribute):
            node = node.value
        elif module.resolve(node.func) is None or not node.args:
            node = node.func
        else:
            node = node.args[0]
    return node


def _fix(module: Module, flow: FileFlow, creation: Creation) -> Fix | None:
    loop = module.parent(creation.whole)
    if not isinstance(loop, ast.ListComp | ast.GeneratorExp) or loop.elt is not creation.whole:
        return None
    call = module.parent(loop)
    joining = _JOINING.get(module.resolve(call.func) or "") if isinstance(call, ast.Call) else None
    if not isinstance(call, ast.Call) or joining is None or not _joins_rows(call, loop):
        return None
    if creation.data is None or creation.keywords - {"dtype", "device"} or len(creation.call.args) > 1:
        return None
    if creation.methods or not names_device(flow, creation):
        return None
    value = flow.value(creation.data)
    if creation.dtype is None and creation.legacy_dtype is None and not value.only(ARRAY):
        return None
    known = value.only(ARRAY, NUMBER, NUMPY_SCALAR, ROWS, SEQUENCE)
    reason = "" if known else "NumPy cannot stack what is a tensor of the device"
    return rewrite("Upload one array", call, batch_uploaded(creation, joining), unsafe_because=reason)


def _joins_rows(call: ast.Call, loop: ast.expr) -> bool:
    """Whether the comprehension is joined along the first dimension, and nothing else is asked for."""
    dimension = call.args[1] if len(call.args) > 1 else keyword(call, "dim")
    first = dimension is None or (isinstance(dimension, ast.Constant) and dimension.value == 0)
    named = {argument.arg for argument in call.keywords} - {"dim"}
    return first and not named and bool(call.args) and call.args[0] is loop

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npuport.analysis.choices import availability_around
from npuport.analysis.cuda_api import CudaUse, Kind, cuda_uses, is_imported
from npuport.analysis.module import Module
from npuport.engine.fix import Fix, Transform, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.imports import import_fix
from npuport.engine.rewriting.questions import question
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer

_DTYPE = {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64",
    "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool",
}  # fmt: skip
_TYPE_NAME = re.compile(r"torch\.cuda\.(\w+)Tensor")


class CudaTensorType(Rule):
    """A legacy tensor type of CUDA is used, ``torch.cuda.FloatTensor``.

    What it does
    ------------
    Reports ``torch.cuda.FloatTensor`` and its siblings as constructor, as argument of ``.type()``, in
    ``isinstance`` and by their names in strings, and ``torch.set_default_tensor_type`` with one of them.

    Why on an NPU
    -------------
    The types need CUDA. ``torch.npu.FloatTensor`` exists, but ``set_default_tensor_type`` does not take it, and
    ``DoubleTensor`` makes float64 on the device, which few NPU kernels accept.

    Example
    -------
    ::

        zeros = torch.cuda.FloatTensor(batch_size, 1).fill_(0)

    Use instead
    -----------
    ::

        zeros = torch.empty(batch_size, 1, dtype=torch.float32, device="npu").fill_(0)

    Fix safety
    ----------
    Safe: lists become ``torch.tensor``, sizes ``torch.empty``; an argument that may be either keeps the legacy
    constructor of the NPU. Replacing ``set_default_tensor_type`` is unsafe: ``torch.Tensor(...)`` is no longer
    moved.

    Sources
    -------
    - The legacy types and the default type were tried under torch_npu 2.13.0.
    """

    code = "NPU106"
    name = "cuda-tensor-type"
    topic = "device"
    triggers = Triggers(("cuda",))

    def check(self, module: Module) -> Iterator[Hit]:
        for use in cuda_uses(module):
            assigned = use.alias and not is_imported(use)  # reported, and changed, where it is assigned
            if use.kind is Kind.TENSOR_TYPE and not assigned:
                yield self._used(module, use)
        for node in module.index.strings:
            if (
                str(node.value).startswith("torch.cuda.")
                and _TYPE_NAME.fullmatch(str(node.value))
                and not module.knows_npu(node)
            ):
                yield from self._named(module, node)

    def _used(self, module: Module, use: CudaUse) -> Hit:
        message = f"{use.dotted} needs CUDA, which an NPU machine has not"
        bound = use.reference.binding.node if use.reference.binding else None
        if use.alias:
            fix = import_fix(module, bound) if isinstance(bound, ast.Import | ast.ImportFrom) else None
            return Hit(use.node, message, fix)
        type_name = use.dotted.rpartition(".")[2]
        call = module.parent(use.node)
        dtype = _DTYPE.get(type_name.removesuffix("Tensor"))
        if isinstance(call, ast.Call) and dtype:
            if call.func is use.node and (function := _constructor(module, call)):
                return Hit(use.node, message, rewrite("Say dtype and device", call, _constructed(function, dtype)))
            if use.node in call.args and (fix := _type_call(module, call, dtype)):
                return Hit(use.node, message, fix)
        together = availability_around(module, use.node)
        if _is_default_type(module, use.node):
            return Hit(use.node, f"{message}; set_default_tensor_type takes no NPU type", together=together)
        legacy = rewrite("Use the NPU's type", use.node, lambda node, writer: f"{writer.device_module()}.{type_name}")
        return Hit(use.node, message, legacy, together=together)

    def _named(self, module: Module, node: ast.Constant) -> Iterator[Hit]:
        text = str(node.value)
        dtype = _DTYPE.get(text.rpartition(".")[2].removesuffix("Tensor"), "float32")
        parent = module.parent(node)
        message = f"{text!r} names a CUDA type"
        if not isinstance(parent, ast.Call) and _is_default_type(module, node):
            together = availability_around(module, node)
            yield Hit(node, f"{message}; set_default_tensor_type takes no NPU type", together=together)
        elif isinstance(parent, ast.Call) and (fix := _type_call(module, parent, dtype)):
            yield Hit(node, message, fix)
        elif isinstance(parent, ast.Tuple | ast.List | ast.Set) and isinstance(
            compared := module.parent(parent), ast.Compare
        ):
            fix = rewrite("Ask for the NPU's type", compared, question(text, text.replace("cuda", "npu")))
            yield Hit(node, f"asks for {text!r}, which is never true on an NPU", fix)
        elif isinstance(parent, ast.Compare):
            yield Hit(
                node,
                f"asks for {text!r}, which is never true on an NPU",
                rewrite("Ask for the NPU's type", parent, _type_question(text)),
            )


def _is_default_type(module: Module, node: ast.expr) -> bool:
    """Whether the type is chosen inside ``torch.set_default_tensor_type(...)``."""
    call = module.enclosing(node, ast.Call)
    return call is not None and module.resolve(call.func) == "torch.set_default_tensor_type"


def _type_call(module: Module, call: ast.Call, dtype: str) -> Fix | None:
    """``x.type(T)`` and ``torch.set_default_tensor_type(T)``."""
    if module.resolve(call.func) == "torch.set_default_tensor_type" and isinstance(module.parent(call), ast.Expr):
        why = "torch.Tensor(...) is no longer moved to the device"
        return rewrite("Set the default device and dtype", call, _default_type(dtype), unsafe_because=why)
    if isinstance(call.func, ast.Attribute) and call.func.attr == "type" and len(call.args) == 1:
        return rewrite("Say device and dtype", call, _converted(dtype))
    return None


def _constructor(module: Module, call: ast.Call) -> str | None:
    """``tensor`` for data, ``empty`` for sizes, None where an argument may be either."""
    if call.keywords or any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    if len(call.args) == 1 and isinstance(call.args[0], ast.List | ast.ListComp | ast.Tuple):
        return "tensor"
    if len(call.args) == 1 and (module.resolve(getattr(call.args[0], "func", None)) or "").startswith("numpy."):
        return "tensor"
    return "empty" if call.args and all(_is_size(module, arg) for arg in call.args) else None


def _is_size(module: Module, node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    if isinstance(node, ast.Call):
        return (isinstance(node.func, ast.Name) and node.func.id in ("len", "int")) or (
            isinstance(node.func, ast.Attribute) and node.func.attr == "size" and bool(node.args)
        )
    if isinstance(node, ast.BinOp):
        return _is_size(module, node.left) and _is_size(module, node.right)
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape"


def _constructed(function: str, dtype: str) -> Transform:
    def transform(node: cst.CSTNode, writer: Writer) -> str:
        assert isinstance(node, cst.Call)
        torch = writer.torch()
        arguments = ", ".join(writer.code(arg.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for arg in node.args)
        return f"{torch}.{function}({arguments}, dtype={torch}.{dtype}, device={writer.device_type()})"

    return transform


def _converted(dtype: str) -> Transform:
    def transform(node: cst.CSTNode, writer: Writer) -> str:
        assert isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)
        return f"{writer.code(node.func.value)}.to({writer.device_type()}, {writer.torch()}.{dtype})"

    return transform


def _default_type(dtype: str) -> Transform:
    def transform(node: cst.CSTNode, writer: Writer) -> str:
        torch = writer.torch()
        return f"{torch}.set_default_device({writer.device_type()}); {torch}.set_default_dtype({torch}.{dtype})"

    return transform


def _type_question(text: str) -> Transform:
    npu = text.replace("cuda", "npu")

    def transform(node: cst.CSTNode, writer: Writer) -> str:
        assert isinstance(node, cst.Comparison)
        other = node.left if not isinstance(node.left, cst.SimpleString) else node.comparisons[0].comparator
        equal = isinstance(node.comparisons[0].operator, cst.Equal)
        if not writer.portable:
            return f'{writer.code(other)} {"==" if equal else "!="} "{npu}"'
        return f'{writer.code(other)} {"in" if equal else "not in"} ("{text}", "{npu}")'

    return transform

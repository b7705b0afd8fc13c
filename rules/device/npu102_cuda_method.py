from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.device_evidence import class_of, has_method, makers_of
from npuport.analysis.module import Module
from npuport.analysis.vocabulary import is_index_name
from npuport.engine.fix import Fix, NotFixable, Transform, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.precedence import as_comparison
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer

_WITHOUT_NPU = ("tensordict.", "torch_geometric.", "dgl.")


class CudaMethod(Rule):
    """A tensor or module is moved with ``.cuda()`` or asked with ``.is_cuda``.

    What it does
    ------------
    Reports calls of ``.cuda()`` and reads of ``.is_cuda`` on tensors, modules and packed sequences. A receiver
    that is known to be something else (numba, cupy, a class of the program with its own ``cuda`` method) is
    not touched; a receiver of unknown kind is reported, since hardly anything else has these names.

    Why on an NPU
    -------------
    ``.cuda()`` raises "Torch not compiled with CUDA enabled". ``.is_cuda`` is False, so the feature behind it
    is silently off.

    Example
    -------
    ::

        net = Net().cuda()
        batch = batch.cuda(non_blocking=True)

    Use instead
    -----------
    ::

        net = Net().npu()
        batch = batch.npu(non_blocking=True)

    Fix safety
    ----------
    Safe, except where a class of the program has a ``cuda`` method of its own and the receiver is unknown.
    With ``--style portable`` the call becomes ``.to(DEVICE_TYPE)`` and the question
    ``.device.type in ("cuda", "npu")``.

    Sources
    -------
    - ``torch.Tensor.npu``, ``torch.nn.Module.npu``: https://github.com/Ascend/pytorch
    """

    code = "NPU102"
    name = "cuda-method"
    topic = "device"
    triggers = Triggers(("cuda",), torch=False)

    def check(self, module: Module) -> Iterator[Hit]:
        if not module.in_torch_program:
            return
        for attribute in module.index.attributes.get("cuda", ()):
            call = module.parent(attribute)
            if isinstance(call, ast.Call) and call.func is attribute and self._is_move(module, attribute):
                yield self._moved(module, call, attribute)
        for attribute in module.index.attributes.get("is_cuda", ()):
            if isinstance(attribute.ctx, ast.Load) and self._is_question(module, attribute):
                yield self._asked(module, attribute)

    def _is_move(self, module: Module, attribute: ast.Attribute) -> bool:
        dotted = module.resolve(attribute)
        if dotted or module.is_foreign(attribute) or module.knows_npu(attribute):
            return False
        return not has_method(module, attribute.value, "cuda")

    def _is_question(self, module: Module, attribute: ast.Attribute) -> bool:
        owner = class_of(module, attribute.value)
        stored = [a for a in module.index.attributes["is_cuda"] if isinstance(a.ctx, ast.Store)]
        own = owner is not None and any(module.enclosing(a, ast.ClassDef) is owner for a in stored)
        return not own and not module.is_foreign(attribute) and not module.knows_npu(attribute)

    def _moved(self, module: Module, call: ast.Call, attribute: ast.Attribute) -> Hit:
        loader = _map_location(module, call)
        if loader is not None:
            fix: Fix = rewrite("Name the NPU", loader, _loaded_to(module, call))
            return Hit(call, "loads a checkpoint to a CUDA device", fix)
        fix = rewrite("Move it to the NPU", call, self._to_npu(module, call, attribute.value))
        own = sorted(module.project.classes_with_cuda)
        receiver = module.text_of(attribute.value)
        shown = receiver if "\n" not in receiver and len(receiver) <= 40 else "(...)"
        message = f"{shown}.cuda() needs CUDA, which an NPU machine has not"
        evidence: tuple[str, ...] = ()
        if not _known(module, attribute.value):
            evidence = ("the receiver's kind is not known; tensors and modules have this method",)
            if own:
                fix = fix.demoted(f"{', '.join(own)} of this program has a cuda() of its own")
                message += " (likely a tensor or module)"
        return Hit(call, message, fix, evidence=evidence)

    def _to_npu(self, module: Module, call: ast.Call, receiver: ast.expr) -> Transform:
        takes_index = _takes_index(module, call)
        storage = _is_storage(module, receiver)  # its .to() takes keywords only
        lacks_npu = _is_of_other_library(module, receiver)

        def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
            assert isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)
            if not writer.portable and not lacks_npu:
                writer.need_torch_npu()
                return node.with_changes(func=node.func.with_changes(attr=cst.Name("npu")))
            device = writer.device_type()
            target = [arg for arg in node.args if arg.keyword is None or arg.keyword.value == "device"]
            if target and not takes_index:
                # None, an index or a device: only the method itself takes all three.
                return node.with_changes(func=writer.expression(f"getattr({writer.code(node.func.value)}, {device})"))
            others = [arg for arg in node.args if arg not in target]
            value = f"{writer.torch()}.device({device}, {writer.code(target[0].value)})" if target else device
            comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")) if others else cst.MaybeSentinel.DEFAULT
            args = [writer.argument(value, "device" if storage else None).with_changes(comma=comma), *others]
            return node.with_changes(func=node.func.with_changes(attr=cst.Name("to")), args=args)

        return transform

    def _asked(self, module: Module, attribute: ast.Attribute) -> Hit:
        def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
            assert isinstance(node, cst.Attribute)
            if not writer.portable:
                writer.need_torch_npu()
                return node.with_changes(attr=cst.Name("is_npu"))
            asked = f'{writer.code(node.value)}.device.type in ("cuda", "npu")'
            return as_comparison(asked, attribute, module.parent(attribute))

        reason = module.branches.cuda_only_reason(attribute)
        fix = rewrite("Ask for the NPU", attribute, transform, unsafe_because=reason)
        return Hit(attribute, ".is_cuda is False for a tensor on an NPU", fix)


def _target(call: ast.Call) -> ast.expr | None:
    """The argument of ``.cuda(device)``, given by position or by name."""
    return next(iter([*call.args, *(k.value for k in call.keywords if k.arg == "device")]), None)


def _loaded_to(module: Module, call: ast.Call) -> Transform:
    """What stands for ``lambda storage, location: storage.cuda(i)``."""

    def transform(node: cst.CSTNode, writer: Writer) -> str:
        index = _target(call)
        if index is None or (isinstance(index, ast.Constant) and index.value is None):
            return writer.device_type()
        if isinstance(index, ast.Constant) and isinstance(index.value, int):
            return writer.device(str(index.value))
        if not _takes_index(module, call):
            raise NotFixable("the argument of .cuda() may be an index, a device or None")
        return f"{writer.torch()}.device({writer.device_type()}, {module.text_of(index)})"

    return transform


def _takes_index(module: Module, call: ast.Call) -> bool:
    """Whether the argument of ``.cuda(i)`` is a number."""
    value = _target(call)
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int)
    if isinstance(value, ast.Name):
        bound = [b.value for b in module.names.bindings(value.id, value)]
        if bound and all(isinstance(v, ast.Constant) for v in bound):
            return all(isinstance(v.value, int) for v in bound if isinstance(v, ast.Constant))
        return is_index_name(value.id)
    return isinstance(value, ast.Attribute) and is_index_name(value.attr) and not _may_be_none(module, value.attr)


def _may_be_none(module: Module, option: str) -> bool:
    """Whether an option of the file is None when it is not given, like ``--gpu`` of many training scripts."""
    for attribute in module.index.attributes.get("add_argument", ()):
        call = module.parent(attribute)
        if not isinstance(call, ast.Call):
            continue
        flags = [str(a.value).strip("-").replace("-", "_") for a in call.args if isinstance(a, ast.Constant)]
        default = next((k.value for k in call.keywords if k.arg == "default"), None)
        if option in flags:
            return default is None or (isinstance(default, ast.Constant) and default.value is None)
    return False


def _known(module: Module, receiver: ast.expr) -> bool:
    """Whether the receiver is made by torch in plain sight."""
    dotted = module.resolve(receiver.func if isinstance(receiver, ast.Call) else receiver)
    return bool(dotted and dotted.startswith("torch"))


def _is_storage(module: Module, receiver: ast.expr) -> bool:
    """Whether the receiver is an untyped storage, by its name, its maker, or as ``map_location``'s first parameter."""
    if isinstance(receiver, ast.Call):
        return isinstance(receiver.func, ast.Attribute) and receiver.func.attr.endswith("storage")
    if not isinstance(receiver, ast.Name):
        return False
    function = module.function(receiver)
    loader = module.parent(function) if isinstance(function, ast.Lambda) else None
    loads = isinstance(loader, ast.keyword) and loader.arg == "map_location"
    return "storage" in receiver.id or (loads and receiver.id == _first_parameter(function))


def _first_parameter(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None) -> str:
    return function.args.args[0].arg if function is not None and function.args.args else ""


def _is_of_other_library(module: Module, receiver: ast.expr) -> bool:
    """Whether the receiver has ``cuda()`` and ``to()`` but no ``npu()``: read in the sources of these libraries."""
    if isinstance(receiver, ast.Name) and receiver.id in ("td", "tensordict"):
        return True
    return any(maker.startswith(_WITHOUT_NPU) for maker in makers_of(module, receiver))


def _map_location(module: Module, call: ast.Call) -> ast.Lambda | None:
    """The lambda of ``map_location=lambda storage, loc: storage.cuda(0)``."""
    function = module.parent(call)
    if isinstance(function, ast.Lambda) and function.body is call:
        keyword = module.parent(function)
        if isinstance(keyword, ast.keyword) and keyword.arg == "map_location":
            return function
        loader = keyword if isinstance(keyword, ast.Call) else None
        if loader is not None and module.resolve(loader.func) == "torch.load":
            return function
    return None

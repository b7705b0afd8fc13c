"""Tensors that are made where they are needed: ``device=`` in the place of ``.to(device)``."""

from __future__ import annotations

import ast

from npuport.analysis.tensor_creation import Creation
from npuport.engine.fix import Transform
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.names import with_argument
from npuport.engine.writer import Writer


def made_on_device(creation: Creation) -> Transform:
    """``torch.zeros(n).float().to(device)`` to ``torch.zeros(n, device=device).float()``."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        chain = inner = _receiver(node)
        for _ in range(creation.methods):
            inner = _receiver(inner)
        made = with_argument(inner, writer.argument(device_text(creation, writer), "device"))
        return made if inner is chain else cst.ensure_type(chain.deep_replace(inner, made), cst.Call)

    return transform


def _receiver(node: cst.CSTNode) -> cst.Call:
    """The call whose result a method is called on."""
    method = cst.ensure_type(cst.ensure_type(node, cst.Call).func, cst.Attribute)
    return cst.ensure_type(method.value, cst.Call)


def filled_on_device(creation: Creation, shape: str, value: ast.expr) -> Transform:
    """``torch.tensor(0.0).to(device)`` to ``torch.full((), 0.0, device=device)``."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        arguments = [shape, writer.module.text_of(value), *dtype_argument(creation, writer)]
        return f"{writer.torch()}.full({', '.join(arguments)}, device={device_text(creation, writer)})"

    return transform


def device_text(creation: Creation, writer: Writer) -> str:
    """The device that a tensor goes to, as source text."""
    if creation.device is not None:
        return writer.module.text_of(creation.device)
    return writer.device_type()


def dtype_argument(creation: Creation, writer: Writer) -> list[str]:
    """``dtype=...`` where the creation names one; empty otherwise."""
    if creation.legacy_dtype is not None:
        return [f"dtype={writer.torch()}.{creation.legacy_dtype}"]
    return [f"dtype={writer.module.text_of(creation.dtype)}"] if creation.dtype is not None else []


def batch_uploaded(creation: Creation, joining: str) -> Transform:
    """``torch.stack([torch.FloatTensor(r.x).to(device) for r in rows])`` to one array that is uploaded once.

    Args:
        creation: what is made of each row.
        joining: NumPy's function that joins them: ``stack`` or ``concatenate``.
    """

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        assert isinstance(node, cst.Call)
        assert creation.data is not None
        rows = node.args[0].value
        assert isinstance(rows, cst.ListComp | cst.GeneratorExp)
        data = writer.expression(writer.module.text_of(creation.data))
        listed = cst.ListComp(data, rows.for_in)
        arguments = [f"{writer.numpy()}.{joining}({writer.code(listed)})", *dtype_argument(creation, writer)]
        return f"{writer.torch()}.as_tensor({', '.join(arguments)}, device={device_text(creation, writer)})"

    return transform


def through_numpy(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
    """``rows`` to ``np.asarray(rows)``."""
    return f"{writer.numpy()}.asarray({writer.code(node)})"


def device_of(device: str) -> Transform:
    """``torch.randn(n)`` to ``torch.randn(n, device=device)``."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        assert isinstance(node, cst.Call)
        return with_argument(node, writer.argument(device, "device"))

    return transform


def device_handed_on(device: str) -> Transform:
    """``f(n)`` to ``f(n, device)``; behind named arguments by name."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        assert isinstance(node, cst.Call)
        named = any(argument.keyword is not None for argument in node.args)
        return with_argument(node, writer.argument(device, "device" if named else None))

    return transform


def device_parameter(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
    """One more parameter behind the last one, whose name or annotation is the node."""
    return f"{writer.code(node)}, device"


def counted_on_device(device: str) -> Transform:
    """``np.arange(n)`` and ``range(n)`` to ``torch.arange(n, device=device)``."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        assert isinstance(node, cst.Call)
        counting = node.with_changes(func=writer.expression(f"{writer.torch()}.arange"))
        return with_argument(counting, writer.argument(device, "device"))

    return transform


def index_uploaded(device: str) -> Transform:
    """``inds[a:b]`` to ``torch.as_tensor(inds[a:b], device=device)``."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        return f"{writer.torch()}.as_tensor({writer.code(node)}, device={device})"

    return transform

"""Products of matrices and vectors, and the linear layers that are made of them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from tests.operator_sweep.inputs import ANY, FLOATS, Inputs, given
from tests.operator_sweep.rows import Row

BLOCKS = "the product is summed in blocks that depend on the layout, and torch_npu closes gaps or transposes first"


def matrices(*shapes: tuple[int, ...]) -> Inputs:
    """Tensors of these shapes; the same with each matrix transposed in memory; and with every other row."""

    def transposed(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        if len(shape) < 2:
            return ANY((*shape, 2), dtype)[..., 0]
        return ANY((*shape[:-2], shape[-1], shape[-2]), dtype).transpose(-1, -2)

    def strided(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        return ANY((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2] if shape else ANY(shape, dtype)

    return given(
        lambda dtype: tuple(ANY(shape, dtype) for shape in shapes),
        lambda dtype: tuple(transposed(shape, dtype) for shape in shapes),
        lambda dtype: tuple(strided(shape, dtype) for shape in shapes),
    )


def product(name: str, call: Callable[..., object], *shapes: tuple[int, ...], gradient: bool = True) -> Row:
    """A row over the three floating-point dtypes."""
    return Row(name, call, matrices(*shapes), FLOATS, gradient, tolerance=1e-6, reason=BLOCKS)


ROWS = [
    product("mm", torch.mm, (3, 4), (4, 5)),
    product("mm_empty_inner", torch.mm, (3, 0), (0, 5)),
    product("mm_empty", torch.mm, (0, 4), (4, 5)),
    product("matmul", torch.matmul, (3, 4), (4, 5)),
    product("matmul_vector", torch.matmul, (3, 4), (4,)),
    product("matmul_of_vector", torch.matmul, (4,), (4, 5)),
    product("matmul_vectors", torch.matmul, (4,), (4,)),
    product("matmul_batch", torch.matmul, (2, 3, 4), (2, 4, 5)),
    product("matmul_broadcast", torch.matmul, (2, 1, 3, 4), (6, 4, 5)),
    product("matmul_batch_matrix", torch.matmul, (2, 3, 4), (4, 5)),
    product("matmul_batch_vector", torch.matmul, (2, 3, 4), (4,)),
    product("matmul_of_transposed", lambda x, y: x.t() @ y, (4, 3), (4, 5)),
    product("bmm", torch.bmm, (2, 3, 4), (2, 4, 5)),
    product("bmm_empty", torch.bmm, (0, 3, 4), (0, 4, 5)),
    product("mv", torch.mv, (3, 4), (4,)),
    product("dot", torch.dot, (7,), (7,)),
    product("vdot", torch.vdot, (7,), (7,), gradient=False),
    product("inner", torch.inner, (3, 4), (5, 4)),
    product("outer", torch.outer, (3,), (4,)),
    product("kron", torch.kron, (2, 3), (2, 2)),
    product("addmm", torch.addmm, (5,), (3, 4), (4, 5)),
    product("addmm_scaled", lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), (3, 5), (3, 4), (4, 5)),
    product("addmm_", lambda c, a, b: c.addmm_(a, b, beta=2), (3, 5), (3, 4), (4, 5), gradient=False),
    product("addmv", lambda c, a, b: torch.addmv(c, a, b, beta=0.5, alpha=2), (3,), (3, 4), (4,)),
    product("addmv_", lambda c, a, b: c.addmv_(a, b, alpha=2), (3,), (3, 4), (4,), gradient=False),
    product("addr", lambda c, a, b: torch.addr(c, a, b, beta=0.5, alpha=2), (3, 4), (3,), (4,)),
    product("addr_", lambda c, a, b: c.addr_(a, b), (3, 4), (3,), (4,), gradient=False),
    product("addbmm", lambda c, a, b: torch.addbmm(c, a, b, beta=0.5, alpha=2), (3, 5), (2, 3, 4), (2, 4, 5)),
    product("baddbmm", lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5, alpha=2), (2, 3, 5), (2, 3, 4), (2, 4, 5)),
    product("baddbmm_broadcast", torch.baddbmm, (1, 5), (2, 3, 4), (2, 4, 5)),
    product("baddbmm_", lambda c, a, b: c.baddbmm_(a, b), (2, 3, 5), (2, 3, 4), (2, 4, 5), gradient=False),
    product("chain_matmul", lambda a, b, c: torch.linalg.multi_dot([a, b, c]), (3, 4), (4, 5), (5, 2)),
    product("matrix_power", lambda a: torch.linalg.matrix_power(a, 3), (3, 3)),
    product("einsum", lambda a, b: torch.einsum("ij,jk->ik", a, b), (3, 4), (4, 5)),
    product("einsum_batch", lambda a, b: torch.einsum("bij,bjk->bik", a, b), (2, 3, 4), (2, 4, 5)),
    product("einsum_trace", lambda a: torch.einsum("ii->i", a), (3, 3)),
    product("einsum_weighted", lambda a, b: torch.einsum("bn,bnd->bd", a, b), (2, 3), (2, 3, 4)),
    product("tensordot", lambda a, b: torch.tensordot(a, b, dims=2), (2, 3, 4), (3, 4, 5)),
    product("linear", functional.linear, (3, 4), (5, 4)),
    product("linear_bias", functional.linear, (3, 4), (5, 4), (5,)),
    product("linear_vector", functional.linear, (4,), (5, 4), (5,)),
    product("linear_batch", functional.linear, (2, 3, 4), (5, 4), (5,)),
    product("linear_empty", functional.linear, (0, 4), (5, 4), (5,)),
    product("bilinear", functional.bilinear, (3, 4), (3, 5), (2, 4, 5), (2,)),
]

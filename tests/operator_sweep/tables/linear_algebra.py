"""Decompositions, inverses, triangular systems, determinants and distances."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tests.operator_sweep.inputs import ANY, SIGNED_UNIT, Inputs, Maker, given, shaped
from tests.operator_sweep.rows import Row

NO_KERNEL = "op-plugin has no kernel; torch_npu warns that it falls back to the CPU"
ROUNDING = "the factorisation depends on the layout, and torch_npu closes gaps first"
SQUARE = shaped((4, 4), (2, 3, 3))
TALL = shaped((5, 3), (2, 4, 3))


def definite(size: int, *batch: int) -> Maker:
    """A symmetric positive definite matrix, and a right-hand side."""

    def make(dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
        factor = SIGNED_UNIT((*batch, size, size), dtype)
        return factor @ factor.mT + torch.eye(size), ANY((*batch, size, 2), dtype)

    return make


DEFINITE = given(definite(4), definite(3, 2))
MATRIX_ONLY = given(lambda dtype: definite(4)(dtype)[:1], lambda dtype: definite(3, 2)(dtype)[:1])


ORDERS = (1.0, 2.0, 0.5, 3.0, float("inf"))
TWO_SETS = given(
    lambda dtype: (ANY((5, 3), dtype), ANY((4, 3), dtype)),
    lambda dtype: (ANY((2, 5, 3), dtype), ANY((2, 4, 3), dtype)),
    lambda dtype: (ANY((5, 3), dtype), ANY((0, 3), dtype)),
)
ONE_SET = given(lambda dtype: (ANY((5, 3), dtype),))


def cdist(order: float) -> Callable[..., object]:
    return lambda x, y: torch.cdist(x, y, p=order).square()


def pdist(order: float) -> Callable[..., object]:
    return lambda x: torch.nn.functional.pdist(x, p=order)


def on_cpu(name: str, call: Callable[..., object], inputs: Inputs = MATRIX_ONLY, gradient: bool = True) -> Row:
    """A call without kernel."""
    return Row(name, call, inputs, gradient=gradient, tolerance=1e-5, falls_back=True, reason=NO_KERNEL)


def on_device(name: str, call: Callable[..., object], inputs: Inputs = MATRIX_ONLY, gradient: bool = True) -> Row:
    """A call with a kernel."""
    return Row(name, call, inputs, gradient=gradient, tolerance=1e-5, reason=ROUNDING)


ROWS = [
    on_device("inverse", torch.inverse),
    on_device("linalg_inv", torch.linalg.inv),
    on_device("cholesky", torch.linalg.cholesky),
    on_device("cholesky_upper", lambda x: torch.linalg.cholesky(x, upper=True)),
    on_cpu("cholesky_ex", lambda x: tuple(torch.linalg.cholesky_ex(x)), gradient=False),
    on_device("cholesky_solve", lambda x, y: torch.cholesky_solve(y, torch.linalg.cholesky(x)), DEFINITE),
    on_device("qr", lambda x: tuple(torch.linalg.qr(x)), TALL),
    on_device("svd_values", torch.linalg.svdvals, TALL),
    on_device("svd", lambda x: torch.linalg.svd(x, full_matrices=False).S, TALL),
    on_device("pinv", torch.linalg.pinv, gradient=False),
    on_device("solve_triangular", lambda x, y: torch.linalg.solve_triangular(x.tril(), y, upper=False), DEFINITE),
    on_device("triangular_solve", lambda x, y: tuple(torch.triangular_solve(y, x.triu())), DEFINITE, gradient=False),
    on_device("solve", torch.linalg.solve, DEFINITE),
    on_cpu("det", torch.linalg.det),
    on_cpu("slogdet", lambda x: tuple(torch.linalg.slogdet(x))),
    on_device("slogdet_kernel", lambda x: tuple(torch.slogdet(x)), gradient=False),
    on_device("logdet", torch.logdet),
    on_cpu("eigh", lambda x: torch.linalg.eigh(x).eigenvalues),
    on_cpu("eigvalsh", torch.linalg.eigvalsh),
    on_device("matrix_norm", torch.linalg.matrix_norm, SQUARE),
    on_device("matrix_rank", torch.linalg.matrix_rank, gradient=False),
    on_device("cross", torch.linalg.cross, given(lambda dtype: (ANY((4, 3), dtype), ANY((4, 3), dtype)))),
    *[on_device(f"cdist_{order}", cdist(order), TWO_SETS) for order in ORDERS],
    *[on_device(f"pdist_{order}", pdist(order), ONE_SET, gradient=False) for order in ORDERS],
    on_device("cov", torch.cov, shaped((3, 5))),
    on_device("corrcoef", torch.corrcoef, shaped((3, 5))),
]

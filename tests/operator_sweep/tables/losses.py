"""Losses and their gradients, with each reduction."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.nn import functional

from tests.operator_sweep.inputs import ANY, FLOATS, UNIT, Inputs, between, given
from tests.operator_sweep.rows import Row

REDUCTIONS = ("none", "mean", "sum")
ORDER = "the sum runs in another order over a tensor with gaps, which torch_npu closes first"
NO_KERNEL = "op-plugin has no kernel; torch_npu warns that it falls back to the CPU"
INSIDE_UNIT = between(0.05, 0.95)
CLASSES = between(0, 3)
FLAGS = between(0, 1)
FLOAT = (torch.float32,)

Loss = Callable[..., torch.Tensor]

PAIRS = given(
    lambda dtype: (ANY((5, 3), dtype), ANY((5, 3), dtype)),
    lambda dtype: (ANY((7,), dtype), ANY((7,), dtype)),
    lambda dtype: (ANY((3, 5), dtype).t(), ANY((10, 3), dtype)[::2]),
    lambda dtype: (ANY((), dtype), ANY((), dtype)),
)
BROADCAST = given(lambda dtype: (ANY((5, 3), dtype), ANY((3,), dtype)))
PROBABILITIES = given(
    lambda dtype: (INSIDE_UNIT((5, 3), dtype), UNIT((5, 3), dtype)),
    lambda dtype: (INSIDE_UNIT((3, 5), dtype).t(), UNIT((5, 3), dtype)),
)
LOGITS = given(
    lambda dtype: (ANY((5, 3), dtype), UNIT((5, 3), dtype)),
    lambda dtype: (ANY((3, 5), dtype).t(), UNIT((5, 3), dtype)),
)
WEIGHTED = given(lambda dtype: (ANY((5, 3), dtype), UNIT((5, 3), dtype), UNIT((3,), dtype)))
DISTRIBUTIONS = given(
    lambda dtype: (functional.log_softmax(ANY((5, 3), dtype), -1), functional.softmax(ANY((5, 3), dtype), -1))
)
LABELLED = given(
    lambda dtype: (ANY((6, 4), dtype), CLASSES((6,), torch.int64)),
    lambda dtype: (ANY((4, 6), dtype).t(), CLASSES((6,), torch.int64)),
    lambda dtype: (ANY((4,), dtype), CLASSES((), torch.int64)),
)
LABELLED_IMAGES = given(lambda dtype: (ANY((2, 4, 3, 5), dtype), CLASSES((2, 3, 5), torch.int64)))
LABELLED_WEIGHTED = given(lambda dtype: (ANY((6, 4), dtype), CLASSES((6,), torch.int64), INSIDE_UNIT((4,), dtype)))
SIGNED = given(lambda dtype: (ANY((5, 3), dtype), (FLAGS((5, 3), torch.int64) * 2 - 1).to(dtype)))


def reduced(name: str, loss: Loss, inputs: Inputs, dtypes: tuple[torch.dtype, ...] = FLOATS, **more: Any) -> list[Row]:
    """A row of each reduction, with gradients."""
    rows = []
    for reduction in REDUCTIONS:
        options: dict[str, Any] = {"tolerance": 1e-6, "reason": ORDER, **more}
        call = partial(loss, reduction=reduction)
        rows.append(Row(f"{name}_{reduction}", call, inputs, dtypes, gradient=True, **options))
    return rows


def of_input_only(loss: Loss) -> Loss:
    """Without gradients of targets and weights, which torch or torch_npu do not give."""

    def call(x: torch.Tensor, *others: torch.Tensor, reduction: str) -> torch.Tensor:
        return loss(x, *[other.detach() for other in others], reduction=reduction)

    return call


def nll(x: torch.Tensor, target: torch.Tensor, reduction: str) -> torch.Tensor:
    return functional.nll_loss(functional.log_softmax(x, -1), target, reduction=reduction)


def weighted_nll(x: torch.Tensor, target: torch.Tensor, weight: torch.Tensor, reduction: str) -> torch.Tensor:
    return functional.nll_loss(functional.log_softmax(x, -1), target, weight, ignore_index=2, reduction=reduction)


def cross_entropy_of_shares(x: torch.Tensor, target: torch.Tensor, reduction: str) -> torch.Tensor:
    return functional.cross_entropy(x, functional.softmax(target, -1), reduction=reduction)


ROWS = [
    *reduced("mse", functional.mse_loss, PAIRS),
    *reduced("l1", functional.l1_loss, PAIRS),
    *reduced("smooth_l1", functional.smooth_l1_loss, PAIRS),
    *reduced(
        "smooth_l1_beta", lambda x, y, reduction: functional.smooth_l1_loss(x, y, reduction=reduction, beta=2.0), PAIRS
    ),
    *reduced("huber", functional.huber_loss, PAIRS, FLOAT, falls_back=True, reason=NO_KERNEL),
    *reduced("binary_cross_entropy", functional.binary_cross_entropy, PROBABILITIES),
    *reduced("binary_cross_entropy_with_logits", of_input_only(functional.binary_cross_entropy_with_logits), LOGITS),
    *reduced("weighted_logits", of_input_only(functional.binary_cross_entropy_with_logits), WEIGHTED),
    *reduced(
        "positive_weight",
        of_input_only(
            lambda x, y, w, reduction: functional.binary_cross_entropy_with_logits(
                x, y, pos_weight=w, reduction=reduction
            )
        ),
        WEIGHTED,
    ),
    *reduced("soft_margin", of_input_only(functional.soft_margin_loss), SIGNED, FLOAT),
    *reduced("hinge_embedding", functional.hinge_embedding_loss, SIGNED, FLOAT),
    *reduced("cross_entropy", functional.cross_entropy, LABELLED),
    *reduced("cross_entropy_images", functional.cross_entropy, LABELLED_IMAGES, FLOAT),
    *reduced(
        "cross_entropy_smoothed",
        lambda x, y, reduction: functional.cross_entropy(x, y, label_smoothing=0.1, reduction=reduction),
        LABELLED,
    ),
    *reduced("cross_entropy_of_shares", cross_entropy_of_shares, PAIRS, FLOAT),
    *reduced("cross_entropy_weighted", of_input_only(functional.cross_entropy), LABELLED_WEIGHTED, FLOAT),
    *reduced("nll", nll, LABELLED),
    *reduced("nll_weighted_ignored", of_input_only(weighted_nll), LABELLED_WEIGHTED, FLOAT),
    *reduced("kl_div", functional.kl_div, DISTRIBUTIONS),
    *reduced(
        "kl_div_of_logarithms",
        lambda x, y, reduction: functional.kl_div(x, y.log(), reduction=reduction, log_target=True),
        DISTRIBUTIONS,
    ),
    *reduced(
        "gaussian_nll",
        lambda x, y, reduction: functional.gaussian_nll_loss(x, y, y.abs() + 1, reduction=reduction),
        PAIRS,
        FLOAT,
    ),
    *reduced("poisson_nll", functional.poisson_nll_loss, PROBABILITIES, FLOAT),
    *reduced(
        "margin_ranking",
        lambda x, y, reduction: functional.margin_ranking_loss(x, y, torch.ones_like(x), reduction=reduction),
        PAIRS,
        FLOAT,
    ),
    Row("mse_broadcast", functional.mse_loss, BROADCAST, FLOATS, True, 1e-6, reason=ORDER),
    Row("smooth_l1_broadcast", functional.smooth_l1_loss, BROADCAST, FLOATS, True, 1e-6, reason=ORDER),
    Row("cosine_similarity", functional.cosine_similarity, PAIRS, FLOAT, True, 1e-6, reason=ORDER),
    Row(
        "triplet_margin",
        functional.triplet_margin_loss,
        given(lambda dtype: (ANY((5, 3), dtype), ANY((5, 3), dtype), ANY((5, 3), dtype))),
        FLOAT,
        True,
        1e-6,
        reason=ORDER,
    ),
    Row(
        "quantile_huber",
        lambda x, y: (
            torch.abs(0.3 - (x.detach() > y).float()) * functional.smooth_l1_loss(x, y, reduction="none")
        ).mean(),
        PAIRS,
        FLOAT,
        True,
        1e-6,
        reason=ORDER,
    ),
]

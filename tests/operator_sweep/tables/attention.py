"""scaled_dot_product_attention and the layers that are made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from tests.operator_sweep.inputs import SIGNED_UNIT, Inputs, Maker, given, shaped
from tests.operator_sweep.rows import Row

FUSED = "the device computes in another order, half precision in float32"
attention = functional.scaled_dot_product_attention


def heads(batch: int, count: int, queries: int, keys: int, features: int) -> Maker:
    """Queries, keys and values, heads before positions."""

    def make(dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
        return (
            SIGNED_UNIT((batch, count, queries, features), dtype),
            SIGNED_UNIT((batch, count, keys, features), dtype),
            SIGNED_UNIT((batch, count, keys, features), dtype),
        )

    return make


EQUAL = given(
    heads(2, 4, 5, 5, 16),
    heads(1, 2, 3, 7, 8),
    lambda dtype: tuple(x.transpose(1, 2) for x in heads(2, 5, 4, 4, 16)(dtype)),
)
SQUARE = given(heads(2, 4, 5, 5, 16))
FLOAT_AND_HALF = (torch.float32, torch.float16, torch.bfloat16)


def layer(make: Callable[[], torch.nn.Module], call: Callable[..., Any]) -> Callable[..., object]:
    """A layer with the same weights on each device, applied to tensors; results with the gradients of its weights."""

    def run(*tensors: torch.Tensor) -> object:
        torch.manual_seed(3)
        made = make().to(tensors[0].device, tensors[0].dtype)
        result = call(made, *tensors)
        first = result[0] if isinstance(result, tuple) else result
        first.square().sum().backward(inputs=list(made.parameters()))
        return result, [parameter.grad for parameter in made.parameters()]

    return run


def self_attention(module: torch.nn.Module, x: torch.Tensor) -> object:
    return module(x, x, x)


def multihead(**options: Any) -> Callable[..., object]:
    return layer(lambda: torch.nn.MultiheadAttention(16, 4, batch_first=True, **options), self_attention)


def causal(module: torch.nn.Module, x: torch.Tensor) -> object:
    mask = torch.nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device, dtype=x.dtype)
    return module(x, x, x, attn_mask=mask, need_weights=False)


def padded(module: torch.nn.Module, x: torch.Tensor) -> object:
    hidden = torch.arange(x.shape[1], device=x.device).expand(x.shape[:2]) > 3
    return module(x, x, x, key_padding_mask=hidden)


def linear_in_values(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Zero where the gradient knows what dropout has dropped: the result is linear in the values."""
    value = value.detach().requires_grad_()
    total = attention(query, key, value, dropout_p=0.5).sum()
    return total.detach() - (torch.autograd.grad(total, value)[0] * value.detach()).sum()


SEQUENCES = shaped((2, 5, 16), values=SIGNED_UNIT)


def fused(name: str, call: Callable[..., object], inputs: Inputs = EQUAL) -> Row:
    return Row(name, call, inputs, FLOAT_AND_HALF, gradient=True, tolerance=2e-6, reason=FUSED)


def composed(name: str, call: Callable[..., object]) -> Row:
    return Row(name, call, SEQUENCES, tolerance=1e-5, reason=FUSED)


ROWS = [
    fused("attention", attention),
    fused("attention_scale", lambda q, k, v: attention(q, k, v, scale=0.3)),
    fused("attention_causal", lambda q, k, v: attention(q, k, v, is_causal=True), SQUARE),
    fused(
        "attention_mask",
        lambda q, k, v: attention(q, k, v, torch.ones(5, 5, dtype=torch.bool, device=q.device).tril()),
        SQUARE,
    ),
    fused(
        "attention_bias",
        lambda q, k, v: attention(q, k, v, torch.linspace(-1, 1, 25, device=q.device).view(5, 5).to(q.dtype)),
        SQUARE,
    ),
    fused("attention_unbatched", lambda q, k, v: attention(q[0], k[0], v[0])),
    Row("attention_dropout", linear_in_values, EQUAL, tolerance=1e-5, reason=FUSED),
    composed("multihead", multihead()),
    composed("multihead_without_bias", multihead(bias=False)),
    composed("multihead_causal", layer(lambda: torch.nn.MultiheadAttention(16, 4, batch_first=True), causal)),
    composed("multihead_padded", layer(lambda: torch.nn.MultiheadAttention(16, 4, batch_first=True), padded)),
    composed(
        "encoder_layer",
        layer(lambda: torch.nn.TransformerEncoderLayer(16, 4, 32, 0.0, batch_first=True), lambda module, x: module(x)),
    ),
    composed(
        "encoder_layer_norm_first",
        layer(
            lambda: torch.nn.TransformerEncoderLayer(16, 4, 32, 0.0, norm_first=True, batch_first=True),
            lambda module, x: module(x),
        ),
    ),
    composed(
        "decoder_layer",
        layer(
            lambda: torch.nn.TransformerDecoderLayer(16, 4, 32, 0.0, batch_first=True), lambda module, x: module(x, x)
        ),
    ),
]

"""Normalisation over features, groups, instances and batches, in training and in evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch.nn import functional

from tests.operator_sweep.inputs import ANY, FLOATS, POSITIVE, Case, Inputs, given
from tests.operator_sweep.rows import Row

VENDOR = "an operator of torch_npu that no other device has"
ORDER = "means run in another order over a tensor with gaps, which torch_npu closes first"
SHAPES: tuple[tuple[int, ...], ...] = ((6, 4), (2, 4, 5), (2, 4, 3, 5))


def over_channels(*shapes: tuple[int, ...]) -> Inputs:
    """Input of each shape, weight and bias a channel; each also with its last dimensions swapped in memory."""

    def make(shape: tuple[int, ...], swapped: bool) -> Callable[[torch.dtype], tuple[torch.Tensor, ...]]:
        def tensors(dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
            inputs = ANY((*shape[:-2], shape[-1], shape[-2]), dtype).transpose(-1, -2) if swapped else ANY(shape, dtype)
            return inputs, ANY((shape[1],), dtype), ANY((shape[1],), dtype)

        return tensors

    return given(*[make(shape, swapped) for shape in shapes for swapped in (False, True)])


def with_statistics(*shapes: tuple[int, ...]) -> Inputs:
    """As ``over_channels``, and a running mean and variance; all but the input are float32."""

    def cases(dtype: torch.dtype) -> Iterator[Case]:
        for case in over_channels(*shapes)(dtype):
            inputs, weight, bias = case.tensors
            mean, variance = ANY(weight.shape, torch.float32), POSITIVE(weight.shape, torch.float32)
            yield Case(case.label, (inputs, weight.float(), bias.float(), mean, variance))

    return cases


def batch_norm(training: bool) -> Callable[..., object]:
    """Batch normalisation; results include the running statistics, which training changes."""

    def call(
        x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor
    ) -> object:
        mean, variance = mean.detach().clone(), variance.detach().clone()
        result = functional.batch_norm(x, mean, variance, weight, bias, training, 0.1, 1e-5)
        return result, mean, variance

    return call


def twice(layer: torch.nn.Module) -> Callable[..., object]:
    """A layer in training, then in evaluation; its state is made anew."""

    def call(x: torch.Tensor) -> object:
        layer.to("cpu").reset_parameters()
        layer.to(x.device)
        trained = layer.train()(x)
        return trained, layer.eval()(x), *[value.clone() for value in layer.state_dict().values()]

    return call


def over_features(*shape: int) -> Inputs:
    return given(
        lambda dtype: (ANY((6, *shape), dtype), ANY(shape, dtype), ANY(shape, dtype)),
        lambda dtype: (ANY((2, 3, *shape), dtype), ANY(shape, dtype), ANY(shape, dtype)),
        lambda dtype: (ANY((*shape, 6), dtype).movedim(-1, 0), ANY(shape, dtype), ANY(shape, dtype)),
        lambda dtype: (ANY((0, *shape), dtype), ANY(shape, dtype), ANY(shape, dtype)),
    )


def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return functional.layer_norm(x, weight.shape, weight, bias)


def rms_norm(x: torch.Tensor, weight: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    wide = x.float()
    return (wide * wide.square().mean(-1, keepdim=True).add(1e-6).rsqrt() * weight).to(x.dtype)


def images(dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    return (ANY((2, 4, 3, 5), dtype),)


def close(name: str, call: Callable[..., object], inputs: Inputs, dtypes: tuple[torch.dtype, ...] = FLOATS) -> Row:
    """A row with gradients; sums of a whole batch round in another order."""
    return Row(name, call, inputs, dtypes, gradient=True, tolerance=4e-6, reason=ORDER)


ROWS = [
    close("layer_norm", layer_norm, over_features(5)),
    close("layer_norm_two_dims", layer_norm, over_features(3, 4)),
    close("layer_norm_plain", lambda x: functional.layer_norm(x, x.shape[-1:]), given(images)),
    close("layer_norm_without_bias", lambda x, w, b: functional.layer_norm(x, w.shape, w), over_features(5)),
    close("layer_norm_epsilon", lambda x: functional.layer_norm(x, x.shape[1:], eps=0.5), given(images)),
    close("rms_norm", lambda x, w, b: functional.rms_norm(x, w.shape, w), over_features(5)),
    Row(
        "npu_rms_norm",
        lambda x, w, b: torch.ops.npu.npu_rms_norm(x, w, 1e-6)[0],
        over_features(5),
        FLOATS,
        True,
        4e-6,
        expected=rms_norm,
        reason=VENDOR,
    ),
    close("group_norm", lambda x, w, b: functional.group_norm(x, 2, w, b), over_channels(*SHAPES[1:])),
    close("group_norm_one", lambda x, w, b: functional.group_norm(x, 1, w, b), over_channels(*SHAPES[1:])),
    close("group_norm_vectors", lambda x, w, b: functional.group_norm(x, 2, w, b), over_channels((6, 4))),
    close("group_norm_plain", lambda x: functional.group_norm(x, 2), given(images)),
    close("instance_norm", lambda x, w, b: functional.instance_norm(x, None, None, w, b), over_channels(*SHAPES[1:])),
    close("local_response_norm", lambda x: functional.local_response_norm(x, 2), given(images), (torch.float32,)),
    close("batch_norm_training", batch_norm(True), with_statistics(*SHAPES)),
    close("batch_norm_evaluation", batch_norm(False), with_statistics(*SHAPES)),
    close("batch_norm_plain", lambda x: functional.batch_norm(x, None, None, training=True), given(images)),
    close(
        "batch_norm_without_weight",
        lambda x, w, b, m, v: functional.batch_norm(x, m.detach(), v.detach()),
        with_statistics(*SHAPES),
    ),
    close(
        "batch_norm_1d_layer",
        twice(torch.nn.BatchNorm1d(4)),
        given(lambda dtype: (ANY((6, 4), dtype),)),
        (torch.float32,),
    ),
    close("batch_norm_2d_layer", twice(torch.nn.BatchNorm2d(4)), given(images), (torch.float32,)),
    close(
        "batch_norm_cumulative_layer",
        twice(torch.nn.BatchNorm1d(4, momentum=None)),
        given(lambda dtype: (ANY((6, 4), dtype),)),
        (torch.float32,),
    ),
]

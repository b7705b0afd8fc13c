"""LSTM and GRU: whole sequences, step by step, single cells; gradients of inputs, states, weights and biases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from tests.operator_sweep.inputs import SIGNED_UNIT, Case, Inputs
from tests.operator_sweep.rows import Row

STEPS, SEQUENCES, FEATURES, STATE = 5, 3, 4, 6
GATES = {"lstm": 4, "gru": 3}
TOLERANCE = 1e-5
HALF_TOLERANCE = {torch.float16: 1e-2, torch.bfloat16: 1e-1}
ROUNDING = "products are added in another order"
HALF_ROUNDING = "sums over steps and sequences are rounded to the dtype in another order"
NO_PACKED = "the kernel takes padded sequences with lengths, which is not emulated"

Layer = Callable[..., object]


def layer_inputs(kind: str, layers: int, directions: int, biases: bool, batch_first: bool) -> Inputs:
    """Input, states, then weights and biases in the order of ``torch.nn.LSTM``; sequences of some steps and of one."""

    def cases(dtype: torch.dtype) -> Iterator[Case]:
        for steps, sequences in ((STEPS, SEQUENCES), (1, SEQUENCES), (STEPS, 1)):
            shape = (sequences, steps, FEATURES) if batch_first else (steps, sequences, FEATURES)
            states = [SIGNED_UNIT((layers * directions, sequences, STATE), dtype) for _ in range(2)]
            weights = []
            for layer in range(layers):
                entering = FEATURES if layer == 0 else STATE * directions
                for _ in range(directions):
                    rows = GATES[kind] * STATE
                    shapes: list[tuple[int, ...]] = [(rows, entering), (rows, STATE), *[(rows,)] * (2 * biases)]
                    weights += [SIGNED_UNIT(each, dtype) for each in shapes]
            states = states[: 2 if kind == "lstm" else 1]
            yield Case(f"{steps} steps of {sequences}", (SIGNED_UNIT(shape, dtype), *states, *weights))

    return cases


def layer(kind: str, layers: int, directions: int, biases: bool, batch_first: bool, train: bool) -> Layer:
    options = (biases, layers, 0.0, train, directions == 2, batch_first)

    def lstm(inputs: torch.Tensor, hidden: torch.Tensor, cell: torch.Tensor, *weights: torch.Tensor) -> object:
        return torch.lstm(inputs, (hidden, cell), weights, *options)

    def gru(inputs: torch.Tensor, hidden: torch.Tensor, *weights: torch.Tensor) -> object:
        return torch.gru(inputs, hidden, weights, *options)

    return lstm if kind == "lstm" else gru


def rows_of(name: str, train: bool = True, **form: Any) -> Iterator[Row]:
    """One form of layer, with gradients in float32, without in the two halves."""
    form = {"layers": 1, "directions": 1, "biases": True, "batch_first": False, **form}
    for kind in GATES:
        call, inputs = layer(kind, train=train, **form), layer_inputs(kind, **form)
        yield Row(f"{kind}{name}", call, inputs, gradient=train, tolerance=TOLERANCE, reason=ROUNDING)
        for dtype, tolerance in HALF_TOLERANCE.items():
            called = f"{kind}{name}_{str(dtype).removeprefix('torch.')}"
            yield Row(called, call, inputs, (dtype,), tolerance=tolerance, reason=HALF_ROUNDING)


def one_step_at_a_time(kind: str) -> Layer:
    """As a recurrent agent acts: sequences of one step, and the state is reset where an episode has ended."""
    step = layer(kind, 1, 1, True, False, train=True)

    def run(inputs: torch.Tensor, *rest: torch.Tensor) -> object:
        states, weights = rest[: 2 if kind == "lstm" else 1], rest[2 if kind == "lstm" else 1 :]
        outputs = []
        for number, each in enumerate(inputs):
            going_on = 0.0 if number == 2 else 1.0
            states = tuple(going_on * state for state in states)
            found: Any = step(each.unsqueeze(0), *states, *weights)
            outputs.append(found[0].squeeze(0))
            states = found[1:]
        return (torch.stack(outputs), *states)

    return run


def cell_inputs(kind: str, biases: bool) -> Inputs:
    def cases(dtype: torch.dtype) -> Iterator[Case]:
        rows = GATES[kind] * STATE
        states = [SIGNED_UNIT((SEQUENCES, STATE), dtype) for _ in range(2 if kind == "lstm" else 1)]
        shapes: list[tuple[int, ...]] = [(rows, FEATURES), (rows, STATE), *[(rows,)] * (2 * biases)]
        weights = [SIGNED_UNIT(shape, dtype) for shape in shapes]
        yield Case("one step", (SIGNED_UNIT((SEQUENCES, FEATURES), dtype), *states, *weights))

    return cases


def lstm_cell(inputs: torch.Tensor, hidden: torch.Tensor, cell: torch.Tensor, *weights: torch.Tensor) -> object:
    return torch.lstm_cell(inputs, (hidden, cell), *weights)


def fused_cell_inputs(dtype: torch.dtype) -> Iterator[Case]:
    gates = [SIGNED_UNIT((SEQUENCES, 4 * STATE), dtype) for _ in range(2)]
    biases = [SIGNED_UNIT((4 * STATE,), dtype) for _ in range(2)]
    yield Case("with biases", (*gates, SIGNED_UNIT((SEQUENCES, STATE), dtype), *biases))
    yield Case("without", (*gates, SIGNED_UNIT((SEQUENCES, STATE), dtype)))


def fused_cell(gates: torch.Tensor, more: torch.Tensor, cell: torch.Tensor, *biases: torch.Tensor) -> object:
    """On the device the new state and cell; on the CPU, which has no such kernel, their definition."""
    if gates.device.type != "cpu":
        return torch.ops.aten._thnn_fused_lstm_cell(gates, more, cell, *biases)[:2]
    i, f, j, o = (sum(biases, gates + more)).chunk(4, 1)
    new_cell = f.sigmoid() * cell + i.sigmoid() * j.tanh()
    return o.sigmoid() * new_cell.tanh(), new_cell


def packed(inputs: torch.Tensor, hidden: torch.Tensor, cell: torch.Tensor, *weights: torch.Tensor) -> object:
    lengths = torch.full((inputs.shape[0],), inputs.shape[1], dtype=torch.int64)
    return torch.lstm(inputs.flatten(0, 1), lengths, (hidden, cell), weights, True, 1, 0.0, True, False)


ROWS = [
    *rows_of(""),
    *rows_of("_without_gradients", train=False),
    *rows_of("_batch_first", batch_first=True),
    *rows_of("_without_biases", biases=False),
    *rows_of("_two_layers", layers=2),
    *rows_of("_two_layers_without_biases", layers=2, biases=False),
    *rows_of("_two_directions", directions=2),
    *rows_of("_three_layers_two_directions_batch_first", layers=3, directions=2, batch_first=True),
    *[
        Row(
            f"{kind}_step_by_step",
            one_step_at_a_time(kind),
            layer_inputs(kind, 1, 1, True, False),
            gradient=True,
            tolerance=TOLERANCE,
            reason=ROUNDING,
        )
        for kind in GATES
    ],
    *[
        Row(
            f"{kind}_cell{'' if biases else '_without_biases'}",
            call,
            cell_inputs(kind, biases),
            gradient=True,
            tolerance=TOLERANCE,
            reason=ROUNDING,
        )
        for kind, call in (("lstm", lstm_cell), ("gru", torch.gru_cell))
        for biases in (True, False)
    ],
    Row("fused_lstm_cell", fused_cell, fused_cell_inputs, gradient=True, tolerance=TOLERANCE, reason=ROUNDING),
    Row(
        "packed_lstm",
        packed,
        layer_inputs("lstm", 1, 1, True, False),
        refused="packed sequences are not emulated",
        reason=NO_PACKED,
    ),
]

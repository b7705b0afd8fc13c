"""Random numbers: seeds, ranges and moments. Which numbers come is not compared: it is not Ascend's stream."""

from __future__ import annotations

import torch
from torch.nn import functional

from tests.operator_sweep.rows import RandomRow

COUNT = 4000
HALF = 12**-0.5  # standard deviation of a uniform number between 0 and 1
WEIGHTS = (0.1, 0.2, 0.3, 0.4)  # mean 2, variance 1 over their places


def ones(device: str, *shape: int) -> torch.Tensor:
    return torch.ones(shape or (COUNT,), device=device)


def weights(device: str, rows: int) -> torch.Tensor:
    return torch.tensor(WEIGHTS, device=device).expand(rows, -1)


def attention_with_dropout(device: str) -> torch.Tensor:
    """The share of 64 keys, each of the same weight, that is kept for each query, doubled."""
    same = torch.zeros(8, 8, 64, 16, device=device)
    return functional.scaled_dot_product_attention(same, same, same + 1, dropout_p=0.5)[..., 0]


UNIFORM = [
    RandomRow("rand", lambda device: torch.rand(COUNT, device=device), 0.5, HALF, 0, 1),
    RandomRow("rand_half", lambda device: torch.rand(COUNT, device=device, dtype=torch.float16), 0.5, HALF, 0, 1),
    RandomRow("rand_like", lambda device: torch.rand_like(ones(device, 50, 80)), 0.5, HALF, 0, 1),
    RandomRow("rand_bfloat16", lambda device: torch.rand_like(ones(device).bfloat16()), 0.5, HALF, 0, 1),
    RandomRow("uniform_", lambda device: ones(device).uniform_(-3, 1), -1, 4 * HALF, -3, 1),
    RandomRow("uniform_strided", lambda device: ones(device, 50, 160)[:, ::2].uniform_(), 0.5, HALF, 0, 1),
    RandomRow(
        "uniform_of_generator", lambda device: ones(device).uniform_(generator=generator(device)), 0.5, HALF, 0, 1
    ),
    RandomRow(
        "xavier_uniform",
        lambda device: torch.nn.init.xavier_uniform_(ones(device, 50, 70)),
        0,
        0.1 * 2**0.5,
        -0.25,
        0.25,
    ),
    RandomRow(
        "kaiming_uniform", lambda device: torch.nn.init.kaiming_uniform_(ones(device, 40, 96)), 0, 48**-0.5, -0.25, 0.25
    ),
]

NORMAL = [
    RandomRow("randn", lambda device: torch.randn(COUNT, device=device), 0, 1),
    RandomRow("randn_half", lambda device: torch.randn(COUNT, device=device, dtype=torch.float16), 0, 1),
    RandomRow("randn_like", lambda device: torch.randn_like(ones(device, 50, 80)), 0, 1),
    RandomRow("normal_", lambda device: ones(device).normal_(2, 3), 2, 3),
    RandomRow("normal_numbers", lambda device: torch.normal(2.0, 3.0, (COUNT,), device=device), 2, 3),
    RandomRow("normal_mean_tensor", lambda device: torch.normal(2 * ones(device), 3.0), 2, 3),
    RandomRow("normal_deviation_tensor", lambda device: torch.normal(2.0, 3 * ones(device)), 2, 3),
    RandomRow("normal_tensors", lambda device: torch.normal(2 * ones(device), 3 * ones(device)), 2, 3),
    RandomRow("trunc_normal", lambda device: torch.nn.init.trunc_normal_(ones(device), 0, 1, -1, 1), 0, 0.5396, -1, 1),
]

WHOLE = [
    RandomRow(
        "randint", lambda device: torch.randint(0, 10, (COUNT,), device=device), 4.5, 8.25**0.5, 0, 9, whole=True
    ),
    RandomRow(
        "randint_negative",
        lambda device: torch.randint(-3, 3, (COUNT,), device=device),
        -0.5,
        35**0.5 / 12**0.5,
        -3,
        2,
        whole=True,
    ),
    RandomRow(
        "randint_int32",
        lambda device: torch.randint(2, (COUNT,), device=device, dtype=torch.int32),
        0.5,
        0.5,
        0,
        1,
        whole=True,
    ),
    RandomRow("randint_like", lambda device: torch.randint_like(ones(device), 10), 4.5, 8.25**0.5, 0, 9, whole=True),
    RandomRow("random_", lambda device: ones(device).random_(0, 10), 4.5, 8.25**0.5, 0, 9, whole=True),
    RandomRow("random_to_", lambda device: ones(device).long().random_(10), 4.5, 8.25**0.5, 0, 9, whole=True),
    RandomRow(
        "randperm",
        lambda device: torch.randperm(COUNT, device=device),
        (COUNT - 1) / 2,
        COUNT * HALF,
        0,
        COUNT - 1,
        whole=True,
    ),
    RandomRow(
        "randperm_int32",
        lambda device: torch.randperm(COUNT, device=device, dtype=torch.int32),
        (COUNT - 1) / 2,
        COUNT * HALF,
        0,
        COUNT - 1,
        whole=True,
    ),
]

CHOSEN = [
    RandomRow("bernoulli", lambda device: torch.bernoulli(0.3 * ones(device)), 0.3, 0.21**0.5, 0, 1, whole=True),
    RandomRow("bernoulli_number", lambda device: torch.bernoulli(ones(device), 0.3), 0.3, 0.21**0.5, 0, 1, whole=True),
    RandomRow("bernoulli_", lambda device: ones(device).bernoulli_(0.3), 0.3, 0.21**0.5, 0, 1, whole=True),
    RandomRow(
        "bernoulli_tensor_",
        lambda device: ones(device).bernoulli_(0.3 * ones(device)),
        0.3,
        0.21**0.5,
        0,
        1,
        whole=True,
    ),
    RandomRow(
        "multinomial", lambda device: torch.multinomial(weights(device, 1)[0], COUNT, True), 2, 1, 0, 3, whole=True
    ),
    RandomRow("multinomial_rows", lambda device: torch.multinomial(weights(device, COUNT), 1), 2, 1, 0, 3, whole=True),
    RandomRow(
        "multinomial_without_replacement",
        lambda device: torch.multinomial(weights(device, 1000), 4),
        1.5,
        1.25**0.5,
        0,
        3,
        whole=True,
    ),
    RandomRow(
        "categorical",
        lambda device: torch.distributions.Categorical(weights(device, 1)[0]).sample((COUNT,)),
        2,
        1,
        0,
        3,
        whole=True,
    ),
    RandomRow("exponential_", lambda device: ones(device).exponential_(2), 0.5, 0.5, 0),
    RandomRow("dropout", lambda device: functional.dropout(ones(device), 0.2), 1, 0.5, 0, 1.25),
    RandomRow("dropout_half", lambda device: functional.dropout(ones(device).half(), 0.5), 1, 1, 0, 2),
    RandomRow("dropout_of_attention", attention_with_dropout, 1, 0.125, 0, 2),
    RandomRow("dropout_strided", lambda device: functional.dropout(ones(device, 80, 50).t(), 0.5), 1, 1, 0, 2),
    RandomRow("dropout_gradient", lambda device: gradient_of_dropout(device), 1, 0.5, 0, 1.25),
    RandomRow("dropout1d", lambda device: functional.dropout1d(ones(device, COUNT, 2, 1), 0.2), 1, 0.5, 0, 1.25),
    RandomRow(
        "alpha_dropout", lambda device: functional.alpha_dropout(torch.randn(COUNT, device=device), 0.2, True), 0, 1
    ),
    RandomRow("rrelu", lambda device: functional.rrelu(-ones(device), 0.1, 0.3, True), -0.2, 0.2 * HALF, -0.3, -0.1),
    RandomRow(
        "rrelu_",
        lambda device: functional.rrelu(-ones(device), 0.1, 0.3, True, inplace=True),
        -0.2,
        0.2 * HALF,
        -0.3,
        -0.1,
    ),
    RandomRow(
        "gumbel_softmax",
        lambda device: functional.gumbel_softmax(torch.zeros(COUNT, 2, device=device), hard=True)[:, 0],
        0.5,
        0.5,
        0,
        1,
        whole=True,
    ),
]


def generator(device: str) -> torch.Generator:
    """A generator of the device, seeded by the default one."""
    made = torch.Generator(device)
    return made.manual_seed(int(torch.randint(0, 1 << 30, ())))


def gradient_of_dropout(device: str) -> torch.Tensor:
    """Which elements dropout keeps, read off the gradient."""
    numbers = ones(device).requires_grad_()
    return torch.autograd.grad(functional.dropout(numbers, 0.2).sum(), numbers)[0]


ROWS = [*UNIFORM, *NORMAL, *WHOLE, *CHOSEN]

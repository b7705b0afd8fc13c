"""torch.distributions as agents use them: log-probabilities, entropies, samples' gradients, divergences."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import distributions
from torch.nn import functional

from tests.operator_sweep.inputs import ANY, SIGNED_UNIT, Inputs, between, given
from tests.operator_sweep.rows import Row

SCALE = between(0.3, 2)
INSIDE_UNIT = between(0.05, 0.95)
CHOICES = between(0, 3)
FLAGS = between(0, 1)
PARTS = "the device composes it of other kernels, which round otherwise"
NO_TARGET_GRADIENT = (
    "torch_npu gives binary_cross_entropy_with_logits no gradient of its target, op-plugin derivatives.yaml; torch "
    "computes the entropy as that loss against the probabilities, so on the device its gradient is zero"
)
NO_KERNEL = "op-plugin has no kernel of the gamma function or of cholesky_ex; torch_npu falls back to the CPU"

GAUSSIAN = given(
    lambda dtype: (ANY((5, 3), dtype), SCALE((5, 3), dtype), ANY((5, 3), dtype)),
    lambda dtype: (ANY((5, 3), dtype), SCALE((3,), dtype), ANY((5, 3), dtype)),
    lambda dtype: (ANY((), dtype), SCALE((), dtype), ANY((4,), dtype)),
)
TWO_GAUSSIANS = given(
    lambda dtype: (ANY((5, 3), dtype), SCALE((5, 3), dtype), ANY((5, 3), dtype), SCALE((5, 3), dtype))
)
SQUASHED = given(lambda dtype: (ANY((5, 3), dtype), SCALE((5, 3), dtype), SIGNED_UNIT((5, 3), dtype)))
LOGITS = given(
    lambda dtype: (ANY((6, 4), dtype), CHOICES((6,), torch.int64)),
    lambda dtype: (ANY((4,), dtype), CHOICES((), torch.int64)),
)
TWO_LOGITS = given(lambda dtype: (ANY((6, 4), dtype), ANY((6, 4), dtype)))
BINARY = given(lambda dtype: (ANY((6, 4), dtype), FLAGS((6, 4), torch.int64).to(dtype)))
UNIT_INTERVAL = given(lambda dtype: (SCALE((5, 3), dtype), SCALE((5, 3), dtype), INSIDE_UNIT((5, 3), dtype)))
VECTORS = given(lambda dtype: (ANY((5, 3), dtype), SCALE((3,), dtype), ANY((5, 3), dtype)))


def stochastic(name: str, call: Callable[..., object], inputs: Inputs, *, falls_back: bool = False) -> Row:
    """A row with gradients of parameters and values."""
    return Row(
        name,
        call,
        inputs,
        gradient=True,
        tolerance=2e-6,
        falls_back=falls_back,
        reason=NO_KERNEL if falls_back else PARTS,
    )


def normal(mean: torch.Tensor, deviation: torch.Tensor) -> distributions.Normal:
    return distributions.Normal(mean, deviation)


def reparameterised(mean: torch.Tensor, deviation: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    """What rsample computes, with given noise."""
    return mean + noise * deviation


def squashed(mean: torch.Tensor, deviation: torch.Tensor) -> distributions.TransformedDistribution:
    return distributions.TransformedDistribution(normal(mean, deviation), [distributions.TanhTransform(cache_size=1)])


def soft_actor(mean: torch.Tensor, log_deviation: torch.Tensor, noise: torch.Tensor) -> object:
    """The action and its log-probability as soft actor-critic has them."""
    deviation = (-5 + 0.5 * 7 * (torch.tanh(log_deviation) + 1)).exp()
    drawn = reparameterised(mean, deviation, noise)
    action = torch.tanh(drawn)
    log_probability = normal(mean, deviation).log_prob(drawn) - torch.log(1 - action.pow(2) + 1e-6)
    return action, log_probability.sum(1, keepdim=True)


def categorical(logits: torch.Tensor) -> distributions.Categorical:
    return distributions.Categorical(logits=logits)


def multivariate(mean: torch.Tensor, deviation: torch.Tensor) -> distributions.MultivariateNormal:
    return distributions.MultivariateNormal(mean, torch.diag(deviation * deviation))


def triangular(mean: torch.Tensor, deviation: torch.Tensor) -> distributions.MultivariateNormal:
    return distributions.MultivariateNormal(mean, scale_tril=torch.diag(deviation))


def constant_probabilities(logits: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    """The entropy of binary choices, with the gradient that it has on the device."""
    shares = torch.sigmoid(logits).detach()
    return functional.binary_cross_entropy_with_logits(logits, shares, reduction="none")


def noiseless(make: Callable[..., distributions.Distribution]) -> Callable[..., object]:
    """The shape of a sample and whether it is differentiable; its numbers differ by device."""

    def call(*parameters: torch.Tensor) -> object:
        sample = make(*parameters).sample((7,))
        return tuple(sample.shape), str(sample.dtype), bool(sample.isfinite().all())

    return call


ROWS = [
    stochastic("normal_log_prob", lambda m, s, x: normal(m, s).log_prob(x), GAUSSIAN),
    stochastic("normal_entropy", lambda m, s, x: normal(m, s).entropy(), GAUSSIAN),
    stochastic("normal_cdf", lambda m, s, x: normal(m, s).cdf(x), GAUSSIAN),
    stochastic("normal_reparameterised", reparameterised, GAUSSIAN),
    stochastic("normal_independent", lambda m, s, x: distributions.Independent(normal(m, s), 1).log_prob(x), VECTORS),
    stochastic(
        "normal_divergence", lambda m, s, n, t: distributions.kl_divergence(normal(m, s), normal(n, t)), TWO_GAUSSIANS
    ),
    stochastic("ratio_clipped", lambda m, s, x: (normal(m, s).log_prob(x).sum(-1) / 8).exp().clamp(0.8, 1.2), VECTORS),
    stochastic("log_normal", lambda m, s, x: distributions.LogNormal(m, s).log_prob(x.abs() + 1), GAUSSIAN),
    stochastic("laplace", lambda m, s, x: distributions.Laplace(m, s).log_prob(x), GAUSSIAN),
    stochastic("uniform_log_prob", lambda m, s, x: distributions.Uniform(m - 9, m + 9).log_prob(x), GAUSSIAN),
    stochastic("exponential", lambda m, s, x: distributions.Exponential(s).log_prob(x.abs()), GAUSSIAN),
    stochastic("tanh_log_prob", lambda m, s, x: squashed(m, s).log_prob(x), SQUASHED),
    stochastic("tanh_soft_actor", soft_actor, SQUASHED),
    stochastic("categorical_log_prob", lambda x, a: categorical(x).log_prob(a), LOGITS),
    stochastic("categorical_entropy", lambda x, a: categorical(x).entropy(), LOGITS),
    stochastic("categorical_probs", lambda x, a: distributions.Categorical(probs=x.softmax(-1)).log_prob(a), LOGITS),
    stochastic(
        "categorical_divergence", lambda x, y: distributions.kl_divergence(categorical(x), categorical(y)), TWO_LOGITS
    ),
    stochastic(
        "one_hot_categorical",
        lambda x, y: (
            distributions.OneHotCategorical(logits=x).log_prob(torch.eye(4, device=x.device)[:3].repeat(2, 1)) + y.sum()
        ),
        TWO_LOGITS,
    ),
    stochastic("bernoulli_log_prob", lambda x, a: distributions.Bernoulli(logits=x).log_prob(a.detach()), BINARY),
    stochastic(
        "bernoulli_of_probabilities",
        lambda m, s, x: distributions.Bernoulli(x).log_prob((m > 0).float()),
        UNIT_INTERVAL,
    ),
    Row(
        "bernoulli_entropy",
        lambda x, a: distributions.Bernoulli(logits=x).entropy(),
        BINARY,
        gradient=True,
        tolerance=2e-6,
        expected=constant_probabilities,
        reason=NO_TARGET_GRADIENT,
    ),
    stochastic(
        "mixture",
        lambda m, s, x: distributions.MixtureSameFamily(categorical(m), normal(m, s.expand_as(m))).log_prob(x[:, 0]),
        VECTORS,
    ),
    stochastic("multivariate_log_prob", lambda m, s, x: multivariate(m, s).log_prob(x), VECTORS),
    stochastic("multivariate_entropy", lambda m, s, x: multivariate(m, s).entropy(), VECTORS),
    stochastic("multivariate_triangular", lambda m, s, x: triangular(m, s).log_prob(x), VECTORS),
    stochastic("beta_log_prob", lambda a, b, x: distributions.Beta(a + 1, b + 1).log_prob(x), UNIT_INTERVAL),
    stochastic("beta_entropy", lambda a, b, x: distributions.Beta(a + 1, b + 1).entropy(), UNIT_INTERVAL),
    stochastic("gamma_log_prob", lambda a, b, x: distributions.Gamma(a, b).log_prob(x), UNIT_INTERVAL),
    stochastic(
        "dirichlet_log_prob",
        lambda a, b, x: distributions.Dirichlet(a).log_prob(x.softmax(-1)) + b.sum(),
        UNIT_INTERVAL,
    ),
    Row("normal_sample", noiseless(lambda m, s, x: normal(m, s)), GAUSSIAN),
    Row("tanh_sample", noiseless(lambda m, s, x: squashed(m, s)), SQUASHED),
    Row("categorical_sample", noiseless(lambda x, a: categorical(x)), LOGITS),
    Row("bernoulli_sample", noiseless(lambda x, a: distributions.Bernoulli(logits=x)), BINARY),
    Row("multivariate_sample", noiseless(lambda m, s, x: multivariate(m, s)), VECTORS),
    Row("beta_sample", noiseless(lambda a, b, x: distributions.Beta(a, b)), UNIT_INTERVAL),
]

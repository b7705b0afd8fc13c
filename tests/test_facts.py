"""Operator facts: forms are joined, releases are ordered, and public names end in the operators that are listed."""

from __future__ import annotations

import importlib.util
import json
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from npuport.facts.kernels import has_kernel, is_refused, known_names, missing_kernels, operators_behind
from npuport.facts.operators import NOT_TAKEN, operator, operator_key, without_kernel
from npuport.facts.releases import DATA, release_line

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which only `make test` installs"
)


def test_forms_of_an_operator_are_joined() -> None:
    # torch.gather lists no bool, Tensor.gather does; relu_ is relu.
    for form in ("torch.gather", "torch.Tensor.gather"):
        found = operator(form)
        assert found is not None
        assert {"float32", "int64", "bool"} <= found.dtypes
    assert operator_key("torch.nn.functional.relu_") == operator_key("torch.Tensor.relu") == "relu"
    assert operator_key("torch.nn.GRU") == "torch.nn.GRU"


def test_limits_and_fallbacks_are_kept() -> None:
    gru, loss = operator("torch.nn.GRU"), operator("torch.nn.functional.mse_loss")
    assert gru is not None
    assert "dropout" in gru.limits
    assert loss is not None
    assert "float64" not in loss.dtypes
    scatter = operator("torch.Tensor.scatter_")
    assert scatter is not None
    assert scatter.cpu_fallback == "maybe"
    packed = operator("torch.nn.utils.rnn.pack_padded_sequence")
    assert packed is not None
    assert not packed.supported


@pytest.mark.parametrize("name", sorted(NOT_TAKEN))
def test_rows_that_are_plainly_wrong_are_not_taken(name: str) -> None:
    found = operator(name)
    assert found is None or found.supported


def test_operators_without_kernel_are_shipped() -> None:
    rows = json.loads((DATA / "torch_npu_operators.json").read_bytes())
    assert len(rows["without_kernel"]) > 100
    assert set(rows["without_kernel"]) == without_kernel()
    assert {"mse_loss", "multinomial", "exponential", "linalg_qr", "inverse"}.isdisjoint(without_kernel())


def test_kernels_depend_on_the_release() -> None:
    assert missing_kernels("torch.isin", "2.3.1") == ("isin",)
    assert missing_kernels("torch.isin", "2.13.0") == ()
    assert missing_kernels("torch.distributions.MultivariateNormal", "2.9.0") == (
        "linalg_cholesky_ex",
        "linalg_cholesky",
    )
    assert missing_kernels("torch.distributions.MultivariateNormal", "2.9.0.post2") == ("linalg_cholesky_ex",)
    assert not has_kernel("_fused_adam_", "2.12.0")
    assert has_kernel("_fused_adam_", "2.13.0")


def test_release_candidates_come_before_their_release() -> None:
    lines = [release_line(version) for version in ("2.3.1", "2.4.0", "2.4.0.post2", "2.5.1", "2.9.0", "2.12.0")]
    assert lines == sorted(lines)
    assert release_line("2.4.0") < release_line("6.0.0") == release_line("2.4.0.post2")


def test_other_names_of_the_same_operator_are_found() -> None:
    assert operators_behind("torch.Tensor.lgamma_") == operators_behind("torch.lgamma") == ("lgamma",)
    assert operators_behind("torch.distributions.beta.Beta") == operators_behind("torch.distributions.Beta")
    assert operators_behind("torch.nn.modules.loss.HuberLoss") == ("huber_loss",)
    assert operators_behind("torch.relu") == operators_behind("numpy.hypot") == ()
    assert is_refused("torch.Tensor.to_sparse_csr")
    assert not is_refused("torch.lgamma")


# ---- what torch dispatches


def _functions(torch: Any) -> dict[str, Callable[[], object]]:
    """A call of each listed function whose arguments are not one square matrix."""
    x = torch.rand(4, 4) + 0.1
    spd = x @ x.T + 4 * torch.eye(4)
    factor = torch.linalg.cholesky(spd)
    whole, classes = torch.tensor([2, 3]), torch.tensor([0, 1, 2, 3])
    two = ("copysign", "fmax", "fmin", "heaviside", "hypot", "nextafter", "igamma", "igammac", "isin")
    calls: dict[str, Callable[[], object]] = {f"torch.{name}": partial(getattr(torch, name), x, x) for name in two}
    special = torch.special
    return calls | {
        "torch.polygamma": lambda: torch.polygamma(1, x),
        "torch.mvlgamma": lambda: torch.mvlgamma(x + 2, 2),
        "torch.logcumsumexp": lambda: torch.logcumsumexp(x, 0),
        "torch.binomial": lambda: torch.binomial(x * 10 // 1, x.clamp(0, 1)),
        "torch.nonzero_static": lambda: torch.nonzero_static(x, size=3),
        "torch.index_reduce": lambda: torch.index_reduce(x, 0, torch.tensor([0]), x[:1], "mean"),
        "torch.lcm": lambda: torch.lcm(whole, whole),
        "torch.cholesky": lambda: torch.cholesky(spd),
        "torch.cholesky_inverse": lambda: torch.cholesky_inverse(factor),
        "torch.cholesky_solve": lambda: torch.cholesky_solve(x, factor),
        "torch.linalg.cholesky": lambda: torch.linalg.cholesky(spd),
        "torch.linalg.cholesky_ex": lambda: torch.linalg.cholesky_ex(spd),
        "torch.linalg.solve": lambda: torch.linalg.solve(spd, x),
        "torch.linalg.solve_ex": lambda: torch.linalg.solve_ex(spd, x),
        "torch.linalg.lstsq": lambda: torch.linalg.lstsq(spd, x),
        "torch.linalg.householder_product": lambda: torch.linalg.householder_product(x, x[0]),
        "torch.special.polygamma": lambda: special.polygamma(1, x),
        "torch.special.multigammaln": lambda: special.multigammaln(x + 2, 2),
        "torch.special.ndtri": lambda: special.ndtri(x.clamp(0.1, 0.9)),
        "torch.special.xlog1py": lambda: special.xlog1py(x, x),
        "torch.special.zeta": lambda: special.zeta(x + 2, x),
        "torch.nn.functional.huber_loss": lambda: torch.nn.functional.huber_loss(x, x),
        "torch.nn.HuberLoss": lambda: torch.nn.HuberLoss()(x, x),
        "torch.nn.functional.multi_margin_loss": lambda: torch.nn.functional.multi_margin_loss(x, classes),
        "torch.nn.MultiMarginLoss": lambda: torch.nn.MultiMarginLoss()(x, classes),
        "torch.nn.utils.weight_norm": lambda: torch.nn.utils.weight_norm(torch.nn.Linear(4, 4))(x),
        "torch.nn.utils.parametrizations.weight_norm": lambda: torch.nn.utils.parametrizations.weight_norm(
            torch.nn.Linear(4, 4)
        )(x),
        "torch.Tensor.geometric_": lambda: x.clone().geometric_(0.5),
        "torch.Tensor.cauchy_": lambda: x.clone().cauchy_(),
        "torch.Tensor.log_normal_": lambda: x.clone().log_normal_(),
    }


def _distributions(torch: Any) -> dict[str, Callable[[], Any]]:
    """How each listed distribution is made."""
    of = torch.distributions
    v = torch.rand(4) + 0.5
    x = torch.rand(4, 4) + 0.1
    spd = x @ x.T + 4 * torch.eye(4)
    makers: dict[str, Callable[[], Any]] = {
        "Chi2": lambda: of.Chi2(v),
        "StudentT": lambda: of.StudentT(v),
        "Dirichlet": lambda: of.Dirichlet(v),
        "Poisson": lambda: of.Poisson(v),
        "Binomial": lambda: of.Binomial(10, v / 3),
        "NegativeBinomial": lambda: of.NegativeBinomial(10, v / 3),
        "Multinomial": lambda: of.Multinomial(5, v / v.sum()),
        "RelaxedOneHotCategorical": lambda: of.RelaxedOneHotCategorical(torch.tensor(1.0), logits=x),
        "HalfCauchy": lambda: of.HalfCauchy(v),
        "MultivariateNormal": lambda: of.MultivariateNormal(v, spd),
        "LowRankMultivariateNormal": lambda: of.LowRankMultivariateNormal(v, x, v),
        "Wishart": lambda: of.Wishart(torch.tensor(6.0), spd),
        "LKJCholesky": lambda: of.LKJCholesky(3, 1.0),
    }
    for name in ("Gamma", "InverseGamma", "FisherSnedecor", "Beta", "Cauchy"):
        makers[name] = partial(getattr(of, name), v, v)
    return {f"torch.distributions.{name}": maker for name, maker in makers.items()}


def _used(make: Callable[[], Any]) -> Callable[[], None]:
    """Make a distribution, sample, score and take its entropy, where it has one."""

    def use() -> None:
        distribution = make()
        sample = distribution.rsample() if distribution.has_rsample else distribution.sample()
        distribution.log_prob(sample)
        try:
            distribution.entropy()
        except NotImplementedError:
            return

    return use


def _dispatched(call: Callable[[], object]) -> set[str]:
    """The aten operators that a call reaches, without the underscore of their in-place forms."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: set[str] = set()

    class Trace(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.add(func._schema.name.partition("::")[2])
            return func(*args, **(kwargs or {}))

    with Trace(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call()
    return seen | {name.rstrip("_") for name in seen}


def _calls() -> Iterator[tuple[str, Callable[[], object]]]:
    import torch

    functions = _functions(torch)
    distributions = {name: _used(make) for name, make in _distributions(torch).items()}
    x = torch.rand(4, 4) + 0.1
    for name in sorted(known_names()):
        owner: Any = torch
        if name not in functions and name not in distributions:
            for part in name.split(".")[1:]:
                owner = getattr(owner, part)
        yield name, functions.get(name) or distributions.get(name) or partial(owner, x)


# Below the Python level these call another operator, or are registered as one by torch_npu alone.
_SAME_AS = {
    "_logcumsumexp": "logcumsumexp",
    "_cholesky_solve_helper": "cholesky_solve",
    "linalg_cholesky": "linalg_cholesky_ex",
}


@needs_torch
def test_listed_operators_are_what_torch_dispatches() -> None:
    for name, call in _calls():
        seen = _dispatched(call)
        expected = {_SAME_AS.get(aten, aten) for aten in operators_behind(name)}
        assert expected <= seen, name
        # Nothing else behind the name lacks a kernel.
        assert (seen & without_kernel()) - {"linalg_cholesky_ex", "_linalg_slogdet"} <= expected, name

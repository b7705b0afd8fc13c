"""torch.distributions: what their classes make, and what the objects do."""

from __future__ import annotations

from typing import Final

from npuport.analysis.flow.dtypes import ANYWHERE, FLOAT32, FLOAT64, HALF, INT64, together
from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.library.evaluation import Evaluation
from npuport.analysis.flow.value import (
    CHECKED,
    DISTRIBUTION,
    EMPTY,
    TENSOR,
    UNKNOWN,
    Atom,
    Mixed,
    Origin,
    Value,
    is_false,
    tensor,
)

_DISTRIBUTIONS: Final = frozenset({
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli", "Dirichlet",
    "Exponential", "Gamma", "Geometric", "Gumbel", "HalfNormal", "Independent", "Kumaraswamy", "LKJCholesky",
    "Laplace", "LogNormal", "LogisticNormal", "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial",
    "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough",
    "Pareto", "Poisson", "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "TransformedDistribution",
    "Uniform", "VonMises", "Weibull", "TanhNormal",
})  # fmt: skip
_OF_DISTRIBUTION: Final = frozenset({
    "mean", "loc", "probs", "logits", "stddev", "scale", "variance", "concentration", "rate", "covariance_matrix",
})  # fmt: skip
_REPORTED_METHODS: Final = frozenset({"log_prob", "entropy"})


def call(run: Evaluation, dotted: str, last: str, site: CallSite) -> Value:
    """What ``torch.distributions.`` something gives."""
    if last == "kl_divergence":
        known = [atom for atom in (value.get(DISTRIBUTION) for value in site.args) if atom is not None]
        result = tensor(FLOAT32, together(frozenset().union(*(atom.devices for atom in known))))
        if any("Categorical" in atom.refs and not atom.on_host for atom in known):
            run.event("read", site.node, result, last)  # it assigns through a boolean mask
        return result
    if last not in _DISTRIBUTIONS:
        return UNKNOWN
    return make(run, last, site)


def make(run: Evaluation, name: str, site: CallSite) -> Value:
    """A distribution of a class, or of one that inherits it; reported."""
    value = _distribution(name, site, run.origin(site.node))
    if run.recording:
        run.event("distribution", site.node, value, name, tuple(site.args), site.keywords)
    return value


def inherited(bases: frozenset[str]) -> str:
    """The class of torch.distributions among the bases of a class; empty where there is none."""
    names = (base.rpartition(".")[2] for base in bases if base.startswith("torch.distributions."))
    return next((name for name in names if name in _DISTRIBUTIONS), "")


def _distribution(name: str, site: CallSite, origin: Origin) -> Value:
    devices: frozenset[str] = EMPTY
    mixed: frozenset[Mixed] = frozenset()
    dtypes, refs = FLOAT32, frozenset({name})
    checked = not is_false(site.keywords.get("validate_args"))
    for value in (*site.args, *site.keywords.values()):
        base = value.get(DISTRIBUTION)
        atom = base or value.get(TENSOR)
        if atom is None:
            continue
        devices |= atom.devices
        mixed |= atom.mixed
        if base is not None or atom.dtypes == FLOAT64 or (atom.dtypes and atom.dtypes <= HALF):
            dtypes = atom.dtypes
        if base is not None:
            origin = base.origin or origin  # it wraps the distribution that checks
            checked = CHECKED in base.marks or (checked and name != "Independent")
        if base is not None and name == "Independent":
            refs = base.refs  # it samples as what it wraps
    if name == "Categorical":
        dtypes = INT64
    marks = frozenset({CHECKED}) if checked else EMPTY
    return Value(Atom(DISTRIBUTION, dtypes, together(devices), refs=refs, marks=marks, mixed=mixed, origin=origin))


def method(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value | None:
    """A method of a distribution."""
    devices = atom.devices or ANYWHERE
    if name in ("sample", "rsample", "sample_n"):
        if run.recording:
            run.event("sample", site.node, Value(atom), name)
        return tensor(atom.dtypes, devices, run.origin(site.node))
    if name in _REPORTED_METHODS:
        if run.recording:
            run.event("log_prob", site.node, Value(atom), name, tuple(site.args))
        return tensor(_density(atom), devices, mixed=atom.mixed)
    if name in ("cdf", "icdf", "perplexity", "enumerate_support"):
        return tensor(_density(atom), devices)
    return Value(atom) if name == "expand" else UNKNOWN


def _density(atom: Atom) -> frozenset[str]:
    return FLOAT32 if atom.dtypes == INT64 else atom.dtypes


def attribute(atom: Atom, name: str) -> Value | None:
    """An attribute of a distribution."""
    if name in _OF_DISTRIBUTION:
        return tensor(_density(atom), atom.devices or ANYWHERE)
    if name == "mode":
        return tensor(atom.dtypes, atom.devices or ANYWHERE)
    return Value(atom) if name == "base_dist" else None

"""Which public names of torch end in an aten operator without NPU kernel, by release.

An operator without kernel runs on the CPU: its inputs are copied to the host and its results back, with one warning
an operator (``torch_npu/csrc/aten/VariableFallbackKernel.cpp``). Sparse layouts have no such way out: they raise.
"""

from __future__ import annotations

from npuport.facts.operators import without_kernel
from npuport.facts.releases import release_line

# Release lines from which op-plugin registers a kernel, read from its release branches (op_plugin/config); 2.13.0 is
# the wheel itself, newer than the last branch.
_KERNEL_SINCE = {
    "_fused_adamw_": "6.0.rc1",
    "isin": "6.0.rc3",
    "linalg_cholesky": "26.0.0",
    "_fused_adam_": "2.13.0",
    "_fused_sgd_": "2.13.0",
}

# The operators behind public names, as torch 2.13.0 dispatches them (tests/test_facts.py traces each). Names that
# stand for the same operator in other places, such as Tensor methods, are derived in ``_row``.
_GAMMA = ("_standard_gamma", "lgamma", "digamma")
_DIRICHLET = ("_sample_dirichlet", "lgamma", "digamma")
_BEHIND: dict[str, tuple[str, ...]] = {
    "torch.lgamma": ("lgamma",),
    "torch.digamma": ("digamma",),
    "torch.polygamma": ("polygamma",),
    "torch.mvlgamma": ("mvlgamma",),
    "torch.logcumsumexp": ("_logcumsumexp",),
    "torch.poisson": ("poisson",),
    "torch.binomial": ("binomial",),
    "torch.copysign": ("copysign",),
    "torch.fmax": ("fmax",),
    "torch.fmin": ("fmin",),
    "torch.frexp": ("frexp",),
    "torch.heaviside": ("heaviside",),
    "torch.hypot": ("hypot",),
    "torch.nextafter": ("nextafter",),
    "torch.mode": ("mode",),
    "torch.nonzero_static": ("nonzero_static",),
    "torch.index_reduce": ("index_reduce",),
    "torch.isin": ("isin",),
    "torch.i0": ("i0",),
    "torch.lcm": ("lcm",),
    "torch.igamma": ("igamma",),
    "torch.igammac": ("igammac",),
    "torch.cholesky": ("cholesky",),
    "torch.cholesky_inverse": ("cholesky_inverse",),
    "torch.cholesky_solve": ("_cholesky_solve_helper",),
    "torch.det": ("_linalg_det",),
    "torch.logdet": ("_linalg_slogdet",),
    "torch.slogdet": ("_linalg_slogdet",),
    "torch.matrix_exp": ("linalg_matrix_exp",),
    "torch.linalg.cholesky": ("linalg_cholesky",),
    "torch.linalg.cholesky_ex": ("linalg_cholesky_ex",),
    "torch.linalg.det": ("_linalg_det",),
    "torch.linalg.slogdet": ("_linalg_slogdet",),
    "torch.linalg.eigh": ("_linalg_eigh",),
    "torch.linalg.eigvalsh": ("_linalg_eigh",),
    "torch.linalg.eig": ("linalg_eig",),
    "torch.linalg.eigvals": ("linalg_eig",),
    "torch.linalg.solve": ("_linalg_solve_ex",),
    "torch.linalg.solve_ex": ("_linalg_solve_ex",),
    "torch.linalg.inv": ("linalg_inv_ex",),
    "torch.linalg.inv_ex": ("linalg_inv_ex",),
    "torch.linalg.lstsq": ("linalg_lstsq",),
    "torch.linalg.matrix_exp": ("linalg_matrix_exp",),
    "torch.linalg.lu": ("linalg_lu",),
    "torch.linalg.lu_factor": ("linalg_lu_factor_ex",),
    "torch.linalg.householder_product": ("linalg_householder_product",),
    "torch.special.gammaln": ("lgamma",),
    "torch.special.psi": ("digamma",),
    "torch.special.digamma": ("digamma",),
    "torch.special.polygamma": ("polygamma",),
    "torch.special.multigammaln": ("mvlgamma",),
    "torch.special.entr": ("special_entr",),
    "torch.special.log_ndtr": ("special_log_ndtr",),
    "torch.special.ndtri": ("special_ndtri",),
    "torch.special.xlog1py": ("special_xlog1py",),
    "torch.special.zeta": ("special_zeta",),
    "torch.special.i0e": ("special_i0e",),
    "torch.special.i1e": ("special_i1e",),
    "torch.nn.functional.huber_loss": ("huber_loss",),
    "torch.nn.HuberLoss": ("huber_loss",),
    "torch.nn.functional.multi_margin_loss": ("multi_margin_loss",),
    "torch.nn.MultiMarginLoss": ("multi_margin_loss",),
    "torch.nn.utils.weight_norm": ("_weight_norm_interface",),
    "torch.nn.utils.parametrizations.weight_norm": ("_weight_norm_interface",),
    "torch.distributions.Gamma": _GAMMA,
    "torch.distributions.InverseGamma": _GAMMA,
    "torch.distributions.Chi2": _GAMMA,
    "torch.distributions.StudentT": _GAMMA,
    "torch.distributions.FisherSnedecor": ("_standard_gamma", "lgamma"),
    "torch.distributions.Beta": _DIRICHLET,
    "torch.distributions.Dirichlet": _DIRICHLET,
    "torch.distributions.Poisson": ("poisson", "lgamma"),
    "torch.distributions.Binomial": ("binomial", "lgamma"),
    "torch.distributions.NegativeBinomial": ("_standard_gamma", "poisson", "lgamma"),
    "torch.distributions.Multinomial": ("lgamma",),
    "torch.distributions.RelaxedOneHotCategorical": ("lgamma",),
    "torch.distributions.Cauchy": ("cauchy",),
    "torch.distributions.HalfCauchy": ("cauchy",),
    "torch.distributions.MultivariateNormal": ("linalg_cholesky_ex", "linalg_cholesky"),
    "torch.distributions.LowRankMultivariateNormal": ("linalg_cholesky_ex", "linalg_cholesky"),
    "torch.distributions.Wishart": ("linalg_cholesky_ex", "_standard_gamma", "mvlgamma", "digamma"),
    "torch.distributions.LKJCholesky": ("_sample_dirichlet", "lgamma", "mvlgamma"),
    "torch.Tensor.cauchy_": ("cauchy",),
    "torch.Tensor.log_normal_": ("log_normal",),
    "torch.Tensor.geometric_": ("geometric",),
}

# Sparse tensors of these forms raise: their dispatch has no CPU fallback (VariableFallbackKernel.cpp).
_REFUSED = frozenset({
    "torch.sparse_csr_tensor", "torch.sparse_csc_tensor", "torch.sparse_bsr_tensor", "torch.sparse_bsc_tensor",
    "torch.Tensor.to_sparse", "torch.Tensor.to_sparse_csr", "torch.Tensor.to_sparse_csc", "torch.Tensor.to_sparse_bsr",
    "torch.Tensor.to_sparse_bsc", "torch.Tensor.to_dense",
})  # fmt: skip


def known_names() -> frozenset[str]:
    """The public names for which operators behind them are listed."""
    return frozenset(_BEHIND)


def operators_behind(dotted: str) -> tuple[str, ...]:
    """The aten operators that a public name ends in, as far as they ever lacked an NPU kernel; empty if none is known.

    Tensor methods, and classes of ``torch.distributions`` by the name of their module, are found too.
    """
    if dotted in _BEHIND:
        return _BEHIND[dotted]
    parts = dotted.split(".")
    if dotted.startswith("torch.Tensor.") and len(parts) == 3:
        return _BEHIND.get(f"torch.{parts[2].rstrip('_')}", ())
    if dotted.startswith("torch.distributions.") and len(parts) == 4:
        return _BEHIND.get(f"torch.distributions.{parts[3]}", ())
    if dotted.startswith("torch.nn.modules.loss."):
        return _BEHIND.get(f"torch.nn.{parts[-1]}", ())
    return ()


def has_kernel(aten: str, target: str) -> bool:
    """Whether the torch_npu release ``target`` runs an aten operator on the NPU."""
    since = _KERNEL_SINCE.get(aten)
    if since is not None:
        return release_line(target) >= release_line(since)
    return aten not in without_kernel()


def missing_kernels(dotted: str, target: str) -> tuple[str, ...]:
    """The aten operators behind a public name that ``target`` runs on the CPU."""
    return tuple(aten for aten in operators_behind(dotted) if not has_kernel(aten, target))


def is_refused(dotted: str) -> bool:
    """Whether a public name raises on an NPU: sparse layouts, which have no CPU fallback."""
    return dotted in _REFUSED

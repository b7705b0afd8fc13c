"""Operators of torch that exist as functions and as methods: which dtype and what answer each one gives.

Sizes do not matter here. Source: the pages of the operators, https://docs.pytorch.org/docs/stable/torch.html; the
tests compare the dtypes with torch itself.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from npuport.analysis.flow.dtypes import BOOL, FLOAT64, INT64, divided, summed
from npuport.analysis.flow.library.promotion import Conversion


class Operator(NamedTuple):
    """What one operator gives.

    Attributes:
        first: position of the first operand that counts for the dtype.
        last: position after the last one.
        conversion: from the operands' dtypes to the result's; None where they stay.
        answer: what is returned, see the constants.
        evidence: whether a promotion here is evidence for rules about dtypes.
    """

    first: int = 0
    last: int = 1
    conversion: Conversion | None = None
    answer: str = ""
    evidence: bool = True


# Answers other than one tensor.
PIECES: Final = "pieces"  # a tuple of tensors
INDEXED: Final = "indexed"  # values and indices
INDEXED_BY_DIM: Final = "indexed by dim"  # values and indices where a dimension is given
TWO: Final = "two"  # two tensors alike
VERDICT: Final = "verdict"  # a Python bool, for which the host waits


def _to_int64(_: frozenset[str]) -> frozenset[str]:
    return INT64


def _to_bool(_: frozenset[str]) -> frozenset[str]:
    return BOOL


def _to_truth(dtypes: frozenset[str]) -> frozenset[str]:
    """``any`` and ``all`` leave uint8 as it is."""
    return frozenset("uint8" if dtype == "uint8" else "bool" for dtype in dtypes)


def _without_bool(dtypes: frozenset[str]) -> frozenset[str]:
    return frozenset("int64" if dtype == "bool" else dtype for dtype in dtypes)


def _to_float64(_: frozenset[str]) -> frozenset[str]:
    return FLOAT64


_TABLE: Final[dict[Operator, str]] = {
    Operator(): """
        detach clone contiguous view reshape flatten ravel unflatten squeeze unsqueeze expand expand_as broadcast_to
        permute transpose t adjoint repeat tile repeat_interleave abs absolute neg negative positive amax amin gather
        index_select take take_along_dim roll flip fliplr flipud rot90 msort masked_fill pin_memory data round floor
        ceil trunc fix frac sign sgn relu relu6 scatter scatter_add scatter_reduce index_add index_copy index_fill
        index_put masked_scatter narrow select unfold diagonal diag diag_embed diagflat tril triu diff swapaxes
        swapdims movedim moveaxis view_as reshape_as nan_to_num avg_pool1d avg_pool2d adaptive_avg_pool1d
        adaptive_avg_pool2d dropout alpha_dropout hardtanh threshold atleast_1d atleast_2d atleast_3d conj real
        retain_grad requires_grad_ share_memory_ bernoulli logcumsumexp pad interpolate upsample max_pool1d max_pool2d
        adaptive_max_pool2d as_strided coalesce to_dense to_sparse histc
        """,
    Operator(conversion=_without_bool): "square",
    Operator(conversion=_to_truth, evidence=False): "any all",
    Operator(conversion=summed): "trace sum nansum cumsum prod cumprod",
    Operator(conversion=divided): """
        mean nanmean std var exp exp2 expm1 log log1p log2 log10 sqrt rsqrt reciprocal softmax log_softmax softmin
        logsigmoid sigmoid expit logit tanh tan sin cos asin acos atan arcsin arccos arctan sinh cosh asinh acosh
        atanh erf erfc erfinv norm vector_norm logsumexp lgamma digamma softplus gelu silu elu selu celu mish
        hardsigmoid hardswish tanhshrink softsign leaky_relu prelu rrelu gumbel_softmax normalize layer_norm
        batch_norm group_norm instance_norm quantile nanquantile inverse inv pinverse pinv cholesky det logdet deg2rad
        rad2deg sinc i0 polygamma scaled_dot_product_attention rms_norm glu
        """,
    Operator(last=2): """
        add sub subtract rsub mul multiply maximum minimum fmax fmin fmod remainder pow floor_divide matmul mm bmm mv
        dot vdot inner outer ger kron cross tensordot bitwise_and bitwise_or bitwise_xor heaviside cdist linear conv1d
        conv2d conv_transpose2d lerp dist
        """,
    Operator(last=2, conversion=divided): """
        div divide true_divide atan2 arctan2 copysign hypot xlogy pairwise_distance logaddexp logaddexp2
        cosine_similarity nextafter
        """,
    Operator(last=2, conversion=_to_float64): "float_power",
    Operator(last=3): "clamp clip clamp_min clamp_max addcmul addmm addmv addr",
    Operator(last=3, conversion=divided): "addcdiv",
    Operator(first=1, last=3): "where",
    Operator(first=1, last=2): "embedding",
    Operator(first=1, last=8): "einsum",
    Operator(last=2, conversion=_to_int64, evidence=False): """
        argmax argmin argsort multinomial searchsorted bucketize bincount count_nonzero one_hot argwhere nonzero
        """,
    Operator(last=2, conversion=_to_bool, evidence=False): """
        eq ne not_equal gt greater ge greater_equal lt less le less_equal isnan isinf isfinite isneginf isposinf
        isreal isclose isin signbit logical_and logical_or logical_xor logical_not
        """,
    Operator(answer=PIECES): """
        chunk split unbind tensor_split hsplit vsplit dsplit split_with_sizes unsafe_chunk
        """,
    Operator(answer=INDEXED_BY_DIM): "max min median nanmedian",
    Operator(answer=INDEXED): "sort topk kthvalue mode cummax cummin",
    Operator(answer=TWO): "aminmax",
    Operator(answer=TWO, conversion=divided): "std_mean var_mean",
    Operator(last=2, answer=VERDICT): "equal allclose is_nonzero",
    Operator(evidence=False): "masked_select unique unique_consecutive",
}
OPERATORS: Final = {name: operator for operator, names in _TABLE.items() for name in names.split()}

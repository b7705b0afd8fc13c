// Reductions over dimensions (none given means all), and running sums, products and extremes.
#include "calling_convention.h"

// torch_npu passes the dtype to compute in as an aclDataType.
OPERATOR(ReduceSum, (Tensor self, IntList dims, bool keep, int dtype, Tensor out), {
  at::sum_out(out, self, dimensions(dims), keep, scalar_type_of(dtype));
})
OPERATOR(ReduceNansum, (Tensor self, IntList dims, bool keep, int dtype, Tensor out), {
  at::nansum_out(out, self, dimensions(dims), keep, scalar_type_of(dtype));
})
OPERATOR(Mean, (Tensor self, IntList dims, bool keep, int dtype, Tensor out), {
  at::mean_out(out, self, dimensions(dims), keep, scalar_type_of(dtype));
})
OPERATOR(Prod, (Tensor self, int dtype, Tensor out), { write(out, at::prod(self, scalar_type_of(dtype))); })
OPERATOR(ProdDim, (Tensor self, int64_t dim, bool keep, int dtype, Tensor out), {
  at::prod_out(out, self, dim, keep, scalar_type_of(dtype));
})

// `correction` is what is taken off the number of elements: 1 for the unbiased estimate.
OPERATOR(Std, (Tensor self, IntList dims, int64_t correction, bool keep, Tensor out), {
  at::std_out(out, self, dimensions(dims), Scalar(correction), keep);
})
OPERATOR(VarCorrection, (Tensor self, IntList dims, int64_t correction, bool keep, Tensor out), {
  at::var_out(out, self, dimensions(dims), Scalar(correction), keep);
})
OPERATOR(VarMean, (Tensor self, IntList dims, int64_t correction, bool keep, Tensor variance, Tensor mean), {
  at::var_mean_out(variance, mean, self, dimensions(dims), Scalar(correction), keep);
})
OPERATOR(StdMeanCorrection, (Tensor self, IntList dims, int64_t correction, bool keep, Tensor deviation, Tensor mean), {
  at::std_mean_out(deviation, mean, self, dimensions(dims), Scalar(correction), keep);
})

OPERATOR(Amax, (Tensor self, IntList dims, bool keep, Tensor out), { at::amax_out(out, self, dims, keep); })
OPERATOR(Amin, (Tensor self, IntList dims, bool keep, Tensor out), { at::amin_out(out, self, dims, keep); })
OPERATOR(Max, (Tensor self, Tensor out), { at::max_out(out, self); })
OPERATOR(Min, (Tensor self, Tensor out), { at::min_out(out, self); })
OPERATOR(MaxDim, (Tensor self, int64_t dim, bool keep, Tensor values, Tensor indices), {
  at::max_out(values, indices, self, dim, keep);
})
OPERATOR(MinDim, (Tensor self, int64_t dim, bool keep, Tensor values, Tensor indices), {
  at::min_out(values, indices, self, dim, keep);
})
OPERATOR(ArgMax, (Tensor self, int64_t dim, bool keep, Tensor out), { at::argmax_out(out, self, dim, keep); })
OPERATOR(ArgMin, (Tensor self, int64_t dim, bool keep, Tensor out), { at::argmin_out(out, self, dim, keep); })

// ATen's own takes one dimension only.
OPERATOR(Aminmax, (Tensor self, IntList dims, bool keep, Tensor minimum, Tensor maximum), {
  at::amin_out(minimum, self, dims, keep);
  at::amax_out(maximum, self, dims, keep);
})
OPERATOR(AminmaxAll, (Tensor self, Tensor minimum, Tensor maximum), { at::aminmax_out(minimum, maximum, self); })
OPERATOR(AminmaxDim, (Tensor self, int64_t dim, bool keep, Tensor minimum, Tensor maximum), {
  at::aminmax_out(minimum, maximum, self, dim, keep);
})

OPERATOR(Any, (Tensor self, IntList dims, bool keep, Tensor out), {
  at::any_out(out, self, dimensions(dims), keep);
})
OPERATOR(All, (Tensor self, IntList dims, bool keep, Tensor out), {
  at::all_out(out, self, dimensions(dims), keep);
})

OPERATOR(LogSumExp, (Tensor self, IntList dims, bool keep, Tensor out), { at::logsumexp_out(out, self, dims, keep); })
OPERATOR(Norm, (Tensor self, Scalar order, IntList dims, bool keep, Tensor out), {
  at::norm_out(out, self, order, dims, keep);
})
OPERATOR(LinalgVectorNorm, (Tensor self, Scalar order, IntList dims, bool keep, int dtype, Tensor out), {
  at::linalg_vector_norm_out(out, self, order, dimensions(dims), keep, scalar_type_of(dtype));
})
OPERATOR(Trace, (Tensor self, Tensor out), { at::trace_out(out, self); })

OPERATOR(Cumsum, (Tensor self, int64_t dim, int dtype, Tensor out), {
  at::cumsum_out(out, self, dim, scalar_type_of(dtype));
})
OPERATOR(Cumprod, (Tensor self, Scalar dim, int dtype, Tensor out), {
  at::cumprod_out(out, self, dim.toLong(), scalar_type_of(dtype));
})
OPERATOR(Cummax, (Tensor self, int64_t dim, Tensor values, Tensor indices), {
  at::cummax_out(values, indices, self, dim);
})
OPERATOR(Cummin, (Tensor self, int64_t dim, Tensor values, Tensor indices), {
  at::cummin_out(values, indices, self, dim);
})

OPERATOR(Histc, (Tensor self, int64_t bins, Scalar low, Scalar high, Tensor out), {
  at::histc_out(out, self, bins, low, high);
})
OPERATOR(Bincount, (Tensor self, Tensor weights, int64_t minimum_length, Tensor out), {
  write(out, at::bincount(self, optional(weights), minimum_length));
})

// Sorting, and what picks by order.
#include "calling_convention.h"

OPERATOR(Sort, (Tensor self, bool stable, int64_t dim, bool descending, Tensor values, Tensor indices), {
  at::sort_out(values, indices, self, stable, dim, descending);
})
OPERATOR(Topk, (Tensor self, int64_t k, int64_t dim, bool largest, bool sorted, Tensor values, Tensor indices), {
  at::topk_out(values, indices, self, k, dim, largest, sorted);
})
OPERATOR(Kthvalue, (Tensor self, int64_t k, int64_t dim, bool keep, Tensor values, Tensor indices), {
  at::kthvalue_out(values, indices, self, k, dim, keep);
})
OPERATOR(Median, (Tensor self, Tensor out), { write(out, at::median(self)); })
OPERATOR(MedianDim, (Tensor self, int64_t dim, bool keep, Tensor values, Tensor indices), {
  at::median_out(values, indices, self, dim, keep);
})
OPERATOR(NanMedian, (Tensor self, Tensor out), { write(out, at::nanmedian(self)); })
OPERATOR(NanMedianDim, (Tensor self, int64_t dim, bool keep, Tensor values, Tensor indices), {
  at::nanmedian_out(values, indices, self, dim, keep);
})

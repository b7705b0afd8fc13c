// Tensors made, filled, copied and cast.
#include "calling_convention.h"

OPERATOR(InplaceCopy, (Tensor self, Tensor source), { self.copy_(source); })
// torch_npu names the dtype a second time, as an aclDataType; the output has it already.
OPERATOR(Cast, (Tensor self, int, Tensor out), { out.copy_(self); })

OPERATOR(InplaceZero, (Tensor self), { self.zero_(); })
OPERATOR(InplaceOne, (Tensor self), { self.fill_(1); })
OPERATOR(InplaceFillScalar, (Tensor self, Scalar value), { self.fill_(value); })
OPERATOR(InplaceFillTensor, (Tensor self, Tensor value), { self.fill_(value); })
OPERATOR(InplaceFillDiagonal, (Tensor self, Scalar value, bool wrap), { self.fill_diagonal_(value, wrap); })

OPERATOR(Arange, (Scalar start, Scalar end, Scalar step, Tensor out), { at::arange_out(out, start, end, step); })
OPERATOR(Range, (Scalar start, Scalar end, Scalar step, Tensor out), { at::range_out(out, start, end, step); })
OPERATOR(Linspace, (Scalar start, Scalar end, int64_t steps, Tensor out), {
  at::linspace_out(out, start, end, steps);
})
OPERATOR(LogSpace, (Scalar start, Scalar end, int64_t steps, double base, Tensor out), {
  at::logspace_out(out, start, end, steps, base);
})
OPERATOR(Eye, (int64_t rows, int64_t columns, Tensor out), { at::eye_out(out, rows, columns); })

OPERATOR(Tril, (Tensor self, int64_t diagonal, Tensor out), { at::tril_out(out, self, diagonal); })
OPERATOR(Triu, (Tensor self, int64_t diagonal, Tensor out), { at::triu_out(out, self, diagonal); })
OPERATOR(InplaceTril, (Tensor self, int64_t diagonal), { self.tril_(diagonal); })
OPERATOR(InplaceTriu, (Tensor self, int64_t diagonal), { self.triu_(diagonal); })
OPERATOR(Complex, (Tensor real, Tensor imaginary, Tensor out), { at::complex_out(out, real, imaginary); })

// Mathematical functions of each element, and bounds.
#include "calling_convention.h"

#define FUNCTION_OF_ONE(NAME, FUNCTION) \
  OPERATOR(NAME, (Tensor self, Tensor out), { at::FUNCTION##_out(out, self); })
#define FUNCTION_OF_ONE_AND_IN_PLACE(NAME, FUNCTION) \
  FUNCTION_OF_ONE(NAME, FUNCTION)                    \
  OPERATOR(Inplace##NAME, (Tensor self), { self.FUNCTION##_(); })

FUNCTION_OF_ONE(Abs, abs)
FUNCTION_OF_ONE(Neg, neg)
FUNCTION_OF_ONE(Round, round)
FUNCTION_OF_ONE(Sign, sgn)  // which is the sign, and of a complex number its direction
FUNCTION_OF_ONE(Trunc, trunc)
FUNCTION_OF_ONE_AND_IN_PLACE(Acos, acos)
FUNCTION_OF_ONE_AND_IN_PLACE(Acosh, acosh)
FUNCTION_OF_ONE_AND_IN_PLACE(Asin, asin)
FUNCTION_OF_ONE_AND_IN_PLACE(Asinh, asinh)
FUNCTION_OF_ONE_AND_IN_PLACE(Atan, atan)
FUNCTION_OF_ONE_AND_IN_PLACE(Atanh, atanh)
FUNCTION_OF_ONE_AND_IN_PLACE(Ceil, ceil)
FUNCTION_OF_ONE_AND_IN_PLACE(Cos, cos)
FUNCTION_OF_ONE_AND_IN_PLACE(Cosh, cosh)
FUNCTION_OF_ONE_AND_IN_PLACE(Erf, erf)
FUNCTION_OF_ONE_AND_IN_PLACE(Erfc, erfc)
FUNCTION_OF_ONE_AND_IN_PLACE(Erfinv, erfinv)
FUNCTION_OF_ONE_AND_IN_PLACE(Exp, exp)
FUNCTION_OF_ONE_AND_IN_PLACE(Exp2, exp2)
FUNCTION_OF_ONE_AND_IN_PLACE(Expm1, expm1)
FUNCTION_OF_ONE_AND_IN_PLACE(Floor, floor)
FUNCTION_OF_ONE_AND_IN_PLACE(Frac, frac)
FUNCTION_OF_ONE_AND_IN_PLACE(Log, log)
FUNCTION_OF_ONE_AND_IN_PLACE(Log10, log10)
FUNCTION_OF_ONE_AND_IN_PLACE(Log1p, log1p)
FUNCTION_OF_ONE_AND_IN_PLACE(Log2, log2)
FUNCTION_OF_ONE_AND_IN_PLACE(Reciprocal, reciprocal)
FUNCTION_OF_ONE_AND_IN_PLACE(Rsqrt, rsqrt)
FUNCTION_OF_ONE_AND_IN_PLACE(Sigmoid, sigmoid)
FUNCTION_OF_ONE_AND_IN_PLACE(Sin, sin)
FUNCTION_OF_ONE_AND_IN_PLACE(Sinc, sinc)
FUNCTION_OF_ONE_AND_IN_PLACE(Sinh, sinh)
FUNCTION_OF_ONE_AND_IN_PLACE(Sqrt, sqrt)
FUNCTION_OF_ONE_AND_IN_PLACE(Tan, tan)
FUNCTION_OF_ONE_AND_IN_PLACE(Tanh, tanh)

OPERATOR(RoundDecimals, (Tensor self, int64_t decimals, Tensor out), { at::round_out(out, self, decimals); })
OPERATOR(InplaceRoundDecimals, (Tensor self, int64_t decimals), { self.round_(decimals); })

OPERATOR(Clamp, (Tensor self, OptionalScalar low, OptionalScalar high, Tensor out), {
  at::clamp_out(out, self, low, high);
})
OPERATOR(ClampMin, (Tensor self, Scalar low, Tensor out), { at::clamp_min_out(out, self, low); })
OPERATOR(ClampMax, (Tensor self, Scalar high, Tensor out), { at::clamp_max_out(out, self, high); })
OPERATOR(InplaceClampMax, (Tensor self, Scalar high), { self.clamp_max_(high); })
OPERATOR(ClampTensor, (Tensor self, Tensor low, Tensor high, Tensor out), {
  at::clamp_out(out, self, optional(low), optional(high));
})
OPERATOR(ClampMinTensor, (Tensor self, Tensor low, Tensor out), { at::clamp_min_out(out, self, low); })
OPERATOR(ClampMaxTensor, (Tensor self, Tensor high, Tensor out), { at::clamp_max_out(out, self, high); })
OPERATOR(InplaceClampMinTensor, (Tensor self, Tensor low), { self.clamp_min_(low); })
OPERATOR(InplaceClampMaxTensor, (Tensor self, Tensor high), { self.clamp_max_(high); })

OPERATOR(NanToNum, (Tensor self, float nan, float positive_infinity, float negative_infinity, Tensor out), {
  at::nan_to_num_out(out, self, nan, positive_infinity, negative_infinity);
})
OPERATOR(InplaceNanToNum, (Tensor self, float nan, float positive_infinity, float negative_infinity), {
  self.nan_to_num_(nan, positive_infinity, negative_infinity);
})

OPERATOR(XLogYTensor, (Tensor self, Tensor other, Tensor out), { at::xlogy_out(out, self, other); })
OPERATOR(XLogYScalarOther, (Tensor self, Scalar other, Tensor out), { at::xlogy_out(out, self, other); })
OPERATOR(XLogYScalarSelf, (Scalar self, Tensor other, Tensor out), { at::xlogy_out(out, self, other); })
OPERATOR(InplaceXLogYScalarOther, (Tensor self, Scalar other), { self.xlogy_(other); })
OPERATOR(LogAddExp, (Tensor self, Tensor other, Tensor out), { at::logaddexp_out(out, self, other); })
OPERATOR(LogAddExp2, (Tensor self, Tensor other, Tensor out), { at::logaddexp2_out(out, self, other); })

// A negative epsilon stands for none.
static std::optional<double> epsilon_if_given(double epsilon) {
  return epsilon < 0 ? std::nullopt : std::optional<double>(epsilon);
}
OPERATOR(Logit, (Tensor self, double epsilon, Tensor out), { at::logit_out(out, self, epsilon_if_given(epsilon)); })
OPERATOR(LogitGrad, (Tensor self, Tensor gradient, double epsilon, Tensor out), {
  at::logit_backward_out(out, gradient, self, epsilon_if_given(epsilon));
})

OPERATOR(Polar, (Tensor length, Tensor angle, Tensor out), { at::polar_out(out, length, angle); })
OPERATOR(AngleV2, (Tensor self, Tensor out), { at::angle_out(out, self); })
OPERATOR(Renorm, (Tensor self, Scalar order, int64_t dimension, Scalar maximum, Tensor out), {
  at::renorm_out(out, self, order, dimension, maximum);
})
OPERATOR(InplaceRenorm, (Tensor self, Scalar order, int64_t dimension, Scalar maximum), {
  self.renorm_(order, dimension, maximum);
})

// The same operation on each tensor of a list: what torch's optimisers and gradient clipping are made of.
// torch_npu passes at most some dozen tensors a call, and names the inputs as the outputs to work in place.
#include "calling_convention.h"

#define EACH_FUNCTION(NAME, FUNCTION)                                                                    \
  OPERATOR(Foreach##NAME, (TensorList self, TensorList out), {                                           \
    for (size_t i = 0; i < self.size(); i++) at::FUNCTION##_out(out[i], self[i]);                        \
  })
EACH_FUNCTION(Abs, abs)
EACH_FUNCTION(Acos, acos)
EACH_FUNCTION(Asin, asin)
EACH_FUNCTION(Atan, atan)
EACH_FUNCTION(Cos, cos)
EACH_FUNCTION(Cosh, cosh)
EACH_FUNCTION(Erf, erf)
EACH_FUNCTION(Erfc, erfc)
EACH_FUNCTION(Exp, exp)
EACH_FUNCTION(Expm1, expm1)
EACH_FUNCTION(Log, log)
EACH_FUNCTION(Log10, log10)
EACH_FUNCTION(Log1p, log1p)
EACH_FUNCTION(Log2, log2)
EACH_FUNCTION(Neg, neg)
EACH_FUNCTION(Reciprocal, reciprocal)
EACH_FUNCTION(Sigmoid, sigmoid)
EACH_FUNCTION(Sign, sign)
EACH_FUNCTION(Sin, sin)
EACH_FUNCTION(Sinh, sinh)
EACH_FUNCTION(Sqrt, sqrt)
EACH_FUNCTION(Tan, tan)
EACH_FUNCTION(Tanh, tanh)

// A tensor each, a number for all, or a number each. ATen's power has a form of its own for a number, which rounds
// otherwise; the other functions get it as a tensor.
#define EACH_SCALED_PAIR(NAME, FUNCTION)                                                                           \
  OPERATOR(Foreach##NAME##ListV2, (TensorList self, TensorList other, Scalar alpha, TensorList out), {             \
    for (size_t i = 0; i < self.size(); i++) at::FUNCTION##_out(out[i], self[i], other[i], alpha);                 \
  })                                                                                                               \
  EACH_NUMBER(NAME, FUNCTION, number)
#define EACH_PAIR(NAME, FUNCTION)                                                                                  \
  OPERATOR(Foreach##NAME##List, (TensorList self, TensorList other, TensorList out), {                             \
    for (size_t i = 0; i < self.size(); i++) at::FUNCTION##_out(out[i], self[i], other[i]);                        \
  })                                                                                                               \
  EACH_NUMBER(NAME, FUNCTION, number)
#define EACH_NUMBER(NAME, FUNCTION, OPERAND)                                                                       \
  OPERATOR(Foreach##NAME##ScalarV2, (TensorList self, Scalar other, TensorList out), {                             \
    for (size_t i = 0; i < self.size(); i++) at::FUNCTION##_out(out[i], self[i], OPERAND(other));                  \
  })                                                                                                               \
  OPERATOR(Foreach##NAME##ScalarList, (TensorList self, ScalarList other, TensorList out), {                       \
    for (size_t i = 0; i < self.size(); i++) at::FUNCTION##_out(out[i], self[i], OPERAND(other[i]));               \
  })
EACH_SCALED_PAIR(Add, add)
EACH_SCALED_PAIR(Sub, sub)
EACH_PAIR(Mul, mul)
EACH_PAIR(Div, div)
EACH_PAIR(Maximum, maximum)
EACH_PAIR(Minimum, minimum)
OPERATOR(ForeachPowList, (TensorList self, TensorList exponent, TensorList out), {
  for (size_t i = 0; i < self.size(); i++) at::pow_out(out[i], self[i], exponent[i]);
})
EACH_NUMBER(Pow, pow, Scalar)
OPERATOR(ForeachPowScalarAndTensor, (Scalar self, TensorList exponent, TensorList out), {
  for (size_t i = 0; i < out.size(); i++) at::pow_out(out[i], self, exponent[i]);
})

// torch_npu passes the factors of the form with one number each as a tensor.
#define EACH_SCALED_TRIPLE(NAME, FUNCTION)                                                                           \
  OPERATOR(Foreach##NAME##ScalarV2, (TensorList self, TensorList tensors1, TensorList tensors2, Scalar value,        \
                                     TensorList out), {                                                              \
    for (size_t i = 0; i < self.size(); i++) at::FUNCTION##_out(out[i], self[i], tensors1[i], tensors2[i], value);   \
  })                                                                                                                 \
  OPERATOR(Foreach##NAME##ScalarList, (TensorList self, TensorList tensors1, TensorList tensors2, Tensor values,     \
                                       TensorList out), {                                                            \
    for (size_t i = 0; i < self.size(); i++) {                                                                       \
      at::FUNCTION##_out(out[i], self[i], tensors1[i], tensors2[i], values[static_cast<int64_t>(i)].item());         \
    }                                                                                                                \
  })
EACH_SCALED_TRIPLE(Addcmul, addcmul)
EACH_SCALED_TRIPLE(Addcdiv, addcdiv)

OPERATOR(ForeachLerpScalar, (TensorList self, TensorList end, Scalar weight, TensorList out), {
  for (size_t i = 0; i < self.size(); i++) at::lerp_out(out[i], self[i], end[i], weight);
})
OPERATOR(ForeachLerpList, (TensorList self, TensorList end, TensorList weight, TensorList out), {
  for (size_t i = 0; i < self.size(); i++) at::lerp_out(out[i], self[i], end[i], weight[i]);
})
OPERATOR(ForeachNorm, (TensorList self, Scalar order, TensorList out), {
  for (size_t i = 0; i < self.size(); i++) at::linalg_vector_norm_out(out[i], self[i], order);
})
OPERATOR(ForeachCopy, (TensorList source, TensorList out), {
  for (size_t i = 0; i < source.size(); i++) out[i].copy_(source[i]);
})
OPERATOR(ForeachZeroInplace, (TensorList self), {
  for (Tensor& tensor : self) tensor.zero_();
})

// Numbers by which torch_npu passes the way of rounding.
static Tensor rounded(const Tensor& self, int64_t mode) {
  switch (mode) {
    case 1: return self.round();
    case 2: return self.floor();
    case 3: return self.ceil();
    case 5: return self.trunc();
    case 7: return self.frac();
    default: TORCH_CHECK(false, "no way of rounding has the number ", mode);
  }
}
OPERATOR(ForeachRoundOffNumberV2, (TensorList self, Scalar mode, TensorList out), {
  for (size_t i = 0; i < self.size(); i++) write(out[i], rounded(self[i], mode.toLong()));
})

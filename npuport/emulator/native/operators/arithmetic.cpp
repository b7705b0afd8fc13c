// Arithmetic of two or three operands. A kernel whose name ends in `s` takes a number where the other takes a tensor:
// torch_npu calls it for Python numbers and for 0-dim CPU tensors.
#include "calling_convention.h"

// self + alpha * other, self - alpha * other
#define SCALED_PAIR(NAME, FUNCTION)                                               \
  OPERATOR(NAME, (Tensor self, Tensor other, Scalar alpha, Tensor out), {         \
    at::FUNCTION##_out(out, self, other, alpha);                                  \
  })                                                                              \
  OPERATOR(NAME##s, (Tensor self, Scalar other, Scalar alpha, Tensor out), {      \
    at::FUNCTION##_out(out, self, number(other), alpha);                          \
  })                                                                              \
  OPERATOR(Inplace##NAME, (Tensor self, Tensor other, Scalar alpha), {            \
    self.FUNCTION##_(other, alpha);                                               \
  })                                                                              \
  OPERATOR(Inplace##NAME##s, (Tensor self, Scalar other, Scalar alpha), {         \
    self.FUNCTION##_(other, alpha);                                               \
  })
SCALED_PAIR(Add, add)
SCALED_PAIR(Sub, sub)

OPERATOR(AddV3, (Scalar self, Tensor other, Scalar alpha, Tensor out), {
  at::add_out(out, number(self), other, alpha);
})
OPERATOR(Rsub, (Tensor self, Tensor other, Scalar alpha, Tensor out), { at::sub_out(out, other, self, alpha); })
OPERATOR(Rsubs, (Tensor self, Scalar other, Scalar alpha, Tensor out), {
  at::sub_out(out, number(other), self, alpha);
})

#define PAIR(NAME, FUNCTION)                                                                                  \
  OPERATOR(NAME, (Tensor self, Tensor other, Tensor out), { at::FUNCTION##_out(out, self, other); })          \
  OPERATOR(NAME##s, (Tensor self, Scalar other, Tensor out), { at::FUNCTION##_out(out, self, number(other)); }) \
  OPERATOR(Inplace##NAME, (Tensor self, Tensor other), { self.FUNCTION##_(other); })                          \
  OPERATOR(Inplace##NAME##s, (Tensor self, Scalar other), { self.FUNCTION##_(other); })
PAIR(Mul, mul)
PAIR(Div, div)
PAIR(FloorDivide, floor_divide)

// Numbers by which torch_npu passes `rounding_mode`.
static std::optional<c10::string_view> rounding(int mode) {
  switch (mode) {
    case 1: return "trunc";
    case 2: return "floor";
    default: return std::nullopt;
  }
}
OPERATOR(DivMod, (Tensor self, Tensor other, int mode, Tensor out), { at::div_out(out, self, other, rounding(mode)); })
OPERATOR(DivMods, (Tensor self, Scalar other, int mode, Tensor out), {
  at::div_out(out, self, number(other), rounding(mode));
})
OPERATOR(InplaceDivMod, (Tensor self, Tensor other, int mode), { self.div_(other, rounding(mode)); })
OPERATOR(InplaceDivMods, (Tensor self, Scalar other, int mode), { self.div_(other, rounding(mode)); })

#define PAIR_BY_OPERAND(TENSOR_NAME, SCALAR_NAME, FUNCTION)                                                     \
  OPERATOR(TENSOR_NAME, (Tensor self, Tensor other, Tensor out), { at::FUNCTION##_out(out, self, other); })     \
  OPERATOR(SCALAR_NAME, (Tensor self, Scalar other, Tensor out), { at::FUNCTION##_out(out, self, other); })     \
  OPERATOR(Inplace##TENSOR_NAME, (Tensor self, Tensor other), { self.FUNCTION##_(other); })                     \
  OPERATOR(Inplace##SCALAR_NAME, (Tensor self, Scalar other), { self.FUNCTION##_(other); })
PAIR_BY_OPERAND(FmodTensor, FmodScalar, fmod)
PAIR_BY_OPERAND(RemainderTensorTensor, RemainderTensorScalar, remainder)
PAIR_BY_OPERAND(PowTensorTensor, PowTensorScalar, pow)
OPERATOR(RemainderScalarTensor, (Scalar self, Tensor other, Tensor out), {
  at::remainder_out(out, number(self), other);
})
OPERATOR(PowScalarTensor, (Scalar self, Tensor exponent, Tensor out), { at::pow_out(out, self, exponent); })

OPERATOR(Atan2, (Tensor self, Tensor other, Tensor out), { at::atan2_out(out, self, other); })
OPERATOR(InplaceAtan2, (Tensor self, Tensor other), { self.atan2_(other); })
OPERATOR(Maximum, (Tensor self, Tensor other, Tensor out), { at::maximum_out(out, self, other); })
OPERATOR(Minimum, (Tensor self, Tensor other, Tensor out), { at::minimum_out(out, self, other); })
OPERATOR(Gcd, (Tensor self, Tensor other, Tensor out), { at::gcd_out(out, self, other); })
OPERATOR(AddRelu, (Tensor self, Tensor other, Scalar alpha, Tensor out), {
  at::add_out(out, self, other, alpha).relu_();
})
OPERATOR(InplaceAddRelu, (Tensor self, Tensor other, Scalar alpha), { self.add_(other, alpha).relu_(); })

// self + value * tensor1 * tensor2, self + value * tensor1 / tensor2
#define SCALED_TRIPLE(NAME, FUNCTION)                                                                        \
  OPERATOR(NAME, (Tensor self, Tensor tensor1, Tensor tensor2, Scalar value, Tensor out), {                  \
    at::FUNCTION##_out(out, self, tensor1, tensor2, value);                                                  \
  })                                                                                                         \
  OPERATOR(Inplace##NAME, (Tensor self, Tensor tensor1, Tensor tensor2, Scalar value), {                     \
    self.FUNCTION##_(tensor1, tensor2, value);                                                               \
  })
SCALED_TRIPLE(Addcmul, addcmul)
SCALED_TRIPLE(Addcdiv, addcdiv)

OPERATOR(Lerp, (Tensor self, Tensor end, Tensor weight, Tensor out), { at::lerp_out(out, self, end, weight); })
OPERATOR(Lerps, (Tensor self, Tensor end, Scalar weight, Tensor out), { at::lerp_out(out, self, end, weight); })
OPERATOR(InplaceLerp, (Tensor self, Tensor end, Tensor weight), { self.lerp_(end, weight); })
OPERATOR(InplaceLerps, (Tensor self, Tensor end, Scalar weight), { self.lerp_(end, weight); })

// Comparison, and logic on booleans and on bits.
#include "calling_convention.h"

// Each with a tensor or a number at the right, and into a new tensor or in place.
#define BY_OPERAND(NAME, FUNCTION)                                                                             \
  OPERATOR(NAME##Tensor, (Tensor self, Tensor other, Tensor out), { at::FUNCTION##_out(out, self, other); })   \
  OPERATOR(NAME##Scalar, (Tensor self, Scalar other, Tensor out), { at::FUNCTION##_out(out, self, other); })   \
  OPERATOR(Inplace##NAME##Tensor, (Tensor self, Tensor other), { self.FUNCTION##_(other); })                   \
  OPERATOR(Inplace##NAME##Scalar, (Tensor self, Scalar other), { self.FUNCTION##_(other); })
BY_OPERAND(Eq, eq)
BY_OPERAND(Ne, ne)
BY_OPERAND(Lt, lt)
BY_OPERAND(Le, le)
BY_OPERAND(Gt, gt)
BY_OPERAND(Ge, ge)
BY_OPERAND(BitwiseAnd, bitwise_and)
BY_OPERAND(BitwiseXor, bitwise_xor)

// torch_npu has no call of the forms that work in place.
OPERATOR(BitwiseOrTensor, (Tensor self, Tensor other, Tensor out), { at::bitwise_or_out(out, self, other); })
OPERATOR(BitwiseOrScalar, (Tensor self, Scalar other, Tensor out), { at::bitwise_or_out(out, self, other); })

OPERATOR(BitwiseNot, (Tensor self, Tensor out), { at::bitwise_not_out(out, self); })
// torch_npu shifts in place by naming the input as the output.
OPERATOR(LeftShift, (Tensor self, Tensor other, Tensor out), { at::bitwise_left_shift_out(out, self, other); })
OPERATOR(LeftShifts, (Tensor self, Scalar other, Tensor out), { at::bitwise_left_shift_out(out, self, other); })
OPERATOR(RightShift, (Tensor self, Tensor other, Tensor out), { at::bitwise_right_shift_out(out, self, other); })

OPERATOR(LogicalAnd, (Tensor self, Tensor other, Tensor out), { at::logical_and_out(out, self, other); })
OPERATOR(LogicalOr, (Tensor self, Tensor other, Tensor out), { at::logical_or_out(out, self, other); })
OPERATOR(LogicalXor, (Tensor self, Tensor other, Tensor out), { at::logical_xor_out(out, self, other); })
OPERATOR(LogicalNot, (Tensor self, Tensor out), { at::logical_not_out(out, self); })
OPERATOR(InplaceLogicalAnd, (Tensor self, Tensor other), { self.logical_and_(other); })
OPERATOR(InplaceLogicalOr, (Tensor self, Tensor other), { self.logical_or_(other); })
OPERATOR(InplaceLogicalNot, (Tensor self), { self.logical_not_(); })

OPERATOR(Equal, (Tensor self, Tensor other, Tensor out), { out.fill_(at::equal(self, other)); })
OPERATOR(IsClose, (Tensor self, Tensor other, double relative, double absolute, bool nan_is_close, Tensor out), {
  write(out, at::isclose(self, other, relative, absolute, nan_is_close));
})
OPERATOR(IsFinite, (Tensor self, Tensor out), { write(out, at::isfinite(self)); })
OPERATOR(IsPosInf, (Tensor self, Tensor out), { at::isposinf_out(out, self); })
OPERATOR(IsNegInf, (Tensor self, Tensor out), { at::isneginf_out(out, self); })
OPERATOR(Signbit, (Tensor self, Tensor out), { at::signbit_out(out, self); })

// Products of matrices and vectors. torch_npu makes nn.Linear, matmul and einsum of these.
//
// `cube_math_type` says whether the device may round the inputs (HF32); the emulated device computes in full.
#include "calling_convention.h"

OPERATOR(Matmul, (Tensor first, Tensor second, Tensor out, int8_t cube_math_type), {
  at::matmul_out(out, first, second);
})
OPERATOR(Mm, (Tensor first, Tensor second, Tensor out, int8_t cube_math_type), { at::mm_out(out, first, second); })
// With TORCH_NPU_USE_COMPATIBLE_IMPL=1 a batch of one matrix comes as it is, to be used for each of the other batch.
OPERATOR(BatchMatMul, (Tensor first, Tensor second, Tensor out, int8_t cube_math_type), {
  at::matmul_out(out, first, second);
})
OPERATOR(Mv, (Tensor matrix, Tensor vector, Tensor out, int8_t cube_math_type), { at::mv_out(out, matrix, vector); })
OPERATOR(Dot, (Tensor first, Tensor second, Tensor out), { at::dot_out(out, first, second); })

OPERATOR(Addmm, (Tensor added, Tensor first, Tensor second, Scalar beta, Scalar alpha, Tensor out, int8_t cube_math_type), {
  at::addmm_out(out, added, first, second, beta, alpha);
})
OPERATOR(InplaceAddmm, (Tensor added, Tensor first, Tensor second, Scalar beta, Scalar alpha, int8_t cube_math_type), {
  added.addmm_(first, second, beta, alpha);
})
// The one product that takes alpha before beta.
OPERATOR(Addmv, (Tensor added, Tensor matrix, Tensor vector, Scalar alpha, Scalar beta, Tensor out, int8_t cube_math_type), {
  at::addmv_out(out, added, matrix, vector, beta, alpha);
})
OPERATOR(Addbmm, (Tensor added, Tensor first, Tensor second, Scalar beta, Scalar alpha, Tensor out, int8_t cube_math_type), {
  at::addbmm_out(out, added, first, second, beta, alpha);
})
OPERATOR(Baddbmm, (Tensor added, Tensor first, Tensor second, Scalar beta, Scalar alpha, Tensor out, int8_t cube_math_type), {
  at::baddbmm_out(out, added, first, second, beta, alpha);
})
OPERATOR(Addr, (Tensor added, Tensor first, Tensor second, Scalar beta, Scalar alpha, Tensor out), {
  at::addr_out(out, added, first, second, beta, alpha);
})
OPERATOR(InplaceAddr, (Tensor added, Tensor first, Tensor second, Scalar beta, Scalar alpha), {
  added.addr_(first, second, beta, alpha);
})

// Decompositions, inverses, triangular systems and distances. What is not here (cholesky_ex, eigh, solve, lstsq, det)
// has no kernel in torch_npu either: it runs on the CPU there, with a warning.
#include "calling_convention.h"

OPERATOR(Inverse, (Tensor matrix, Tensor out), { at::inverse_out(out, matrix); })

OPERATOR(LinalgCholesky, (Tensor matrix, bool upper, Tensor out), { at::linalg_cholesky_out(out, matrix, upper); })

// Modes as torch_npu numbers them: only the first two leave a Q.
OPERATOR(LinalgQr, (Tensor matrix, int64_t mode, Tensor q, Tensor r), {
  static const char* const modes[] = {"reduced", "complete", "r"};
  auto [found_q, found_r] = at::linalg_qr(matrix, modes[mode]);
  if (q.numel() > 0) write(q, found_q);
  write(r, found_r);
})

// The right singular vectors go out as V, not as its transpose.
OPERATOR(Svd, (Tensor matrix, bool full_matrices, bool with_vectors, Tensor s, Tensor u, Tensor v), {
  if (!with_vectors) return write(s, at::linalg_svdvals(matrix));
  auto [found_u, found_s, found_v] = at::linalg_svd(matrix, full_matrices);
  write(u, found_u);
  write(s, found_s);
  write(v, found_v.transpose(-2, -1));
})

OPERATOR(TriangularSolve, (Tensor right_side, Tensor matrix, bool upper, bool transpose, bool unit_diagonal,
                           Tensor solution, Tensor matrix_copy), {
  auto [found, copied] = at::triangular_solve(right_side, matrix, upper, transpose, unit_diagonal);
  write(solution, found);
  write(matrix_copy, copied);
})

OPERATOR(Slogdet, (Tensor matrix, Tensor sign, Tensor log_determinant), {
  auto [found_sign, found_log] = at::slogdet(matrix);
  write(sign, found_sign);
  write(log_determinant, found_log);
})

OPERATOR(LinalgCross, (Tensor first, Tensor second, int64_t dimension, Tensor out), {
  at::linalg_cross_out(out, first, second, dimension);
})

OPERATOR(Cdist, (Tensor first, Tensor second, float exponent, int64_t mode, Tensor out), {
  write(out, at::_cdist_forward(first, second, exponent, mode < 0 ? std::nullopt : std::optional<int64_t>(mode)));
})
OPERATOR(CdistBackward, (Tensor gradient, Tensor first, Tensor second, Tensor distances, float exponent, Tensor out), {
  write(out, at::_cdist_backward(gradient, first.contiguous(), second.contiguous(), exponent, distances));
})

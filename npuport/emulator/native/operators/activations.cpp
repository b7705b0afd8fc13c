// Activation functions and their gradients.
#include "calling_convention.h"

OPERATOR(Softplus, (Tensor input, Scalar beta, Scalar threshold, Tensor out), {
  write(out, at::softplus(input, beta, threshold));
})
OPERATOR(SoftplusBackward, (Tensor gradient, Tensor input, Scalar beta, Scalar threshold, Tensor out), {
  write(out, at::softplus_backward(gradient, input, beta, threshold));
})

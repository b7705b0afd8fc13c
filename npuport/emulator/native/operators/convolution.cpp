// Convolutions in one, two and three dimensions, transposed ones, and their gradients.
//
// `cube_math_type` says whether the device may round the inputs (HF32); the emulated device computes in full.
#include "calling_convention.h"

OPERATOR(Convolution, (Tensor input, Tensor weight, Tensor bias, IntList stride, IntList padding, IntList dilation,
                       bool transposed, IntList output_padding, int64_t groups, Tensor out, int8_t cube_math_type), {
  write(out, at::convolution(input, weight, optional(bias), stride, padding, dilation, transposed, output_padding, groups));
})

OPERATOR(ConvolutionBackward, (Tensor gradient, Tensor input, Tensor weight, IntList bias_shape, IntList stride,
                               IntList padding, IntList dilation, bool transposed, IntList output_padding,
                               int64_t groups, BoolList wanted, int8_t cube_math_type, Tensor input_gradient,
                               Tensor weight_gradient, Tensor bias_gradient), {
  auto [for_input, for_weight, for_bias] = at::convolution_backward(
      gradient, input, weight, dimensions(bias_shape), stride, padding, dilation, transposed, output_padding, groups,
      {wanted.at(0), wanted.at(1), wanted.at(2)});
  if (wanted[0]) write(input_gradient, for_input);
  if (wanted[1]) write(weight_gradient, for_weight);
  if (wanted[2]) write(bias_gradient, for_bias);
})

OPERATOR(ConvDepthwise2d, (Tensor input, Tensor weight, IntList kernel_size, Tensor bias, IntList stride,
                           IntList padding, IntList dilation, Tensor out, int8_t cube_math_type), {
  write(out, at::conv2d(input, weight, optional(bias), stride, padding, dilation, input.size(1)));
})

// Columns of patches (torch.nn.Unfold) and their inverse (torch.nn.Fold).
OPERATOR(Im2col, (Tensor input, IntList kernel_size, IntList dilation, IntList padding, IntList stride, Tensor out), {
  at::im2col_out(out, input, kernel_size, dilation, padding, stride);
})
OPERATOR(Im2colBackward, (Tensor columns, IntList output_size, IntList kernel_size, IntList dilation, IntList padding,
                          IntList stride, Tensor out), {
  at::col2im_out(out, columns, output_size, kernel_size, dilation, padding, stride);
})

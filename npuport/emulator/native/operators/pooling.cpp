// Maximum and average pooling, plain and adaptive, and their gradients.
#include "calling_convention.h"

// ---- maximum -------------------------------------------------------------------------------------------------------
// What torch_npu hands out as indices of this form is the device's private bit mask, which only the gradient below can
// read. The emulated device leaves it empty and finds the positions again from the input.
OPERATOR(MaxPool2dWithMask, (Tensor input, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                             bool ceil_mode, Tensor out, Tensor mask), {
  write(out, std::get<0>(at::max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)));
  mask.zero_();
})
OPERATOR(MaxPool2dWithMaskBackward, (Tensor gradient, Tensor input, Tensor mask, IntList kernel_size, IntList stride,
                                     IntList padding, IntList dilation, bool ceil_mode, Tensor out), {
  const Tensor indices =
      std::get<1>(at::max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode));
  write(out, at::max_pool2d_with_indices_backward(gradient, input, kernel_size, stride, padding, dilation, ceil_mode, indices));
})

// With TORCH_NPU_USE_COMPATIBLE_IMPL=1: positions as torch has them, in int32.
OPERATOR(MaxPool2dWithIndices, (Tensor input, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                                bool ceil_mode, Tensor out, Tensor indices), {
  auto [result, positions] = at::max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode);
  write(out, result);
  write(indices, positions);
})
OPERATOR(MaxPool2dWithIndicesBackward, (Tensor gradient, Tensor input, Tensor indices, IntList kernel_size,
                                        IntList stride, IntList padding, IntList dilation, bool ceil_mode, Tensor out), {
  write(out, at::max_pool2d_with_indices_backward(gradient, input, kernel_size, stride, padding, dilation, ceil_mode,
                                                  indices.to(at::kLong)));
})

OPERATOR(MaxPool3dWithArgmax, (Tensor input, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                               bool ceil_mode, Tensor out, Tensor indices), {
  auto [result, positions] = at::max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode);
  write(out, result);
  write(indices, positions);
})
OPERATOR(MaxPool3dWithArgmaxBackward, (Tensor gradient, Tensor input, Tensor indices, IntList kernel_size,
                                       IntList stride, IntList padding, IntList dilation, bool ceil_mode, Tensor out), {
  write(out, at::max_pool3d_with_indices_backward(gradient, input, kernel_size, stride, padding, dilation, ceil_mode,
                                                  indices.to(at::kLong)));
})

OPERATOR(AdaptiveMaxPool2d, (Tensor input, IntList output_size, Tensor out, Tensor indices), {
  auto [result, positions] = at::adaptive_max_pool2d(input, output_size);
  write(out, result);
  write(indices, positions);
})
OPERATOR(AdaptiveMaxPool2dBackward, (Tensor gradient, Tensor input, Tensor indices, Tensor out), {
  write(out, at::adaptive_max_pool2d_backward(gradient, input, indices.to(at::kLong)));
})

OPERATOR(MaxUnpool2d, (Tensor input, Tensor indices, IntList output_size, Tensor out), {
  at::max_unpool2d_out(out, input, indices.to(at::kLong), output_size);
})

// ---- average -------------------------------------------------------------------------------------------------------
namespace {
// Zero stands for "divide by the size of the window".
std::optional<int64_t> divisor(int64_t value) { return value == 0 ? std::nullopt : std::optional<int64_t>(value); }
}  // namespace

OPERATOR(AvgPool2d, (Tensor input, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
                     bool count_padding, int64_t divisor_override, int8_t cube_math_type, Tensor out), {
  write(out, at::avg_pool2d(input, kernel_size, stride, padding, ceil_mode, count_padding, divisor(divisor_override)));
})
OPERATOR(AvgPool2dBackward, (Tensor gradient, Tensor input, IntList kernel_size, IntList stride, IntList padding,
                             bool ceil_mode, bool count_padding, int64_t divisor_override, int8_t cube_math_type, Tensor out), {
  write(out, at::avg_pool2d_backward(gradient, input, kernel_size, stride, padding, ceil_mode, count_padding,
                                     divisor(divisor_override)));
})
OPERATOR(AvgPool3d, (Tensor input, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
                     bool count_padding, int64_t divisor_override, Tensor out), {
  write(out, at::avg_pool3d(input, kernel_size, stride, padding, ceil_mode, count_padding, divisor(divisor_override)));
})
OPERATOR(AvgPool3dBackward, (Tensor gradient, Tensor input, IntList kernel_size, IntList stride, IntList padding,
                             bool ceil_mode, bool count_padding, int64_t divisor_override, Tensor out), {
  write(out, at::avg_pool3d_backward(gradient, input, kernel_size, stride, padding, ceil_mode, count_padding,
                                     divisor(divisor_override)));
})

OPERATOR(AdaptiveAvgPool2d, (Tensor input, IntList output_size, Tensor out), {
  write(out, at::_adaptive_avg_pool2d(input, output_size));
})
OPERATOR(AdaptiveAvgPool2dBackward, (Tensor gradient, Tensor input, Tensor out), {
  write(out, at::_adaptive_avg_pool2d_backward(gradient, input));
})
OPERATOR(AdaptiveAvgPool3d, (Tensor input, IntList output_size, Tensor out), {
  write(out, at::_adaptive_avg_pool3d(input, output_size));
})
OPERATOR(AdaptiveAvgPool3dBackward, (Tensor gradient, Tensor input, Tensor out), {
  write(out, at::_adaptive_avg_pool3d_backward(gradient, input));
})

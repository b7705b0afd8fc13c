// Activation functions and their gradients. The gradient of what follows a result (tanh, sigmoid, softmax) takes the
// result, the others take the input.
#include "calling_convention.h"

// ---- rectifiers ----------------------------------------------------------------------------------------------------
OPERATOR(Relu, (Tensor input, Tensor out), { at::clamp_min_out(out, input, 0); })
OPERATOR(InplaceRelu, (Tensor input), { input.relu_(); })

OPERATOR(Threshold, (Tensor input, Scalar threshold, Scalar value, Tensor out), {
  at::threshold_out(out, input, threshold, value);
})
OPERATOR(InplaceThreshold, (Tensor input, Scalar threshold, Scalar value), { at::threshold_(input, threshold, value); })
OPERATOR(ThresholdBackward, (Tensor gradient, Tensor input, Scalar threshold, Tensor out), {
  at::threshold_backward_out(out, gradient, input, threshold);
})

OPERATOR(LeakyRelu, (Tensor input, Scalar slope, Tensor out), { at::leaky_relu_out(out, input, slope); })
OPERATOR(InplaceLeakyRelu, (Tensor input, Scalar slope), { at::leaky_relu_(input, slope); })
OPERATOR(LeakyReluBackward, (Tensor gradient, Tensor input, Scalar slope, bool input_is_result, Tensor out), {
  at::leaky_relu_backward_out(out, gradient, input, slope, input_is_result);
})

OPERATOR(Prelu, (Tensor input, Tensor weight, Tensor out), { write(out, at::_prelu_kernel(input, weight)); })
// The weight has one element a channel, which stands in the second dimension; its gradient is summed over the others.
OPERATOR(PreluBackward, (Tensor gradient, Tensor input, Tensor weight, Tensor input_gradient, Tensor weight_gradient), {
  IntList one_a_channel(input.dim(), 1);
  if (input.dim() > 1) one_a_channel[1] = weight.numel();
  auto [for_input, for_weight] = at::_prelu_kernel_backward(gradient, input, weight.view(one_a_channel));
  write(input_gradient, for_input);
  write(weight_gradient, for_weight.sum_to_size(one_a_channel).view(weight_gradient.sizes()));
})

OPERATOR(RReluWithNoise, (Tensor input, Tensor noise, Scalar lower, Scalar upper, bool training, int64_t seed,
                          int64_t offset, Tensor out), {
  write(out, at::rrelu_with_noise(input, noise, lower, upper, training, generator(seed, offset)));
})
OPERATOR(InplaceRReluWithNoise, (Tensor input, Tensor noise, Scalar lower, Scalar upper, bool training, int64_t seed,
                                 int64_t offset), {
  at::rrelu_with_noise_(input, noise, lower, upper, training, generator(seed, offset));
})

// ---- exponential linear units --------------------------------------------------------------------------------------
OPERATOR(Elu, (Tensor input, Scalar alpha, Scalar scale, Scalar input_scale, Tensor out), {
  at::elu_out(out, input, alpha, scale, input_scale);
})
OPERATOR(InplaceElu, (Tensor input, Scalar alpha, Scalar scale, Scalar input_scale), {
  at::elu_(input, alpha, scale, input_scale);
})
OPERATOR(EluBackward, (Tensor gradient, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result,
                       Tensor input_or_result, Tensor out), {
  at::elu_backward_out(out, gradient, alpha, scale, input_scale, is_result, input_or_result);
})
OPERATOR(Celu, (Tensor input, Scalar alpha, Tensor out), { write(out, at::celu(input, alpha)); })
OPERATOR(InplaceCelu, (Tensor input, Scalar alpha), { at::celu_(input, alpha); })

// ---- smooth --------------------------------------------------------------------------------------------------------
// The first form has no argument for the approximation: torch_npu drops the caller's.
OPERATOR(Gelu, (Tensor input, Tensor out), { at::gelu_out(out, input); })
OPERATOR(GeluBackward, (Tensor gradient, Tensor input, Tensor out), { at::gelu_backward_out(out, gradient, input); })
OPERATOR(GeluV2, (Tensor input, int64_t approximation, Tensor out), {
  at::gelu_out(out, input, approximation == 1 ? "tanh" : "none");
})
OPERATOR(GeluBackwardV2, (Tensor gradient, Tensor input, std::string approximation, Tensor out), {
  at::gelu_backward_out(out, gradient, input, approximation);
})

OPERATOR(Silu, (Tensor input, Tensor out), { at::silu_out(out, input); })
OPERATOR(SiluBackward, (Tensor gradient, Tensor input, Tensor out), { at::silu_backward_out(out, gradient, input); })
OPERATOR(Mish, (Tensor input, Tensor out), { at::mish_out(out, input); })
OPERATOR(InplaceMish, (Tensor input), { at::mish_(input); })
OPERATOR(MishBackward, (Tensor gradient, Tensor input, Tensor out), { write(out, at::mish_backward(gradient, input)); })

OPERATOR(Softplus, (Tensor input, Scalar beta, Scalar threshold, Tensor out), {
  at::softplus_out(out, input, beta, threshold);
})
OPERATOR(SoftplusBackward, (Tensor gradient, Tensor input, Scalar beta, Scalar threshold, Tensor out), {
  at::softplus_backward_out(out, gradient, input, beta, threshold);
})

OPERATOR(TanhBackward, (Tensor gradient, Tensor result, Tensor out), { at::tanh_backward_out(out, gradient, result); })
OPERATOR(SigmoidBackward, (Tensor gradient, Tensor result, Tensor out), {
  at::sigmoid_backward_out(out, gradient, result);
})

// torch_npu asks whether the first exists and calls the second. Its buffer, which the CPU's kernel fills for the
// gradient, has no elements.
OPERATOR(LogSigmoid, (Tensor input, Tensor out), { at::log_sigmoid_out(out, input); })
OPERATOR(LogSigmoidForward, (Tensor input, Tensor out, Tensor buffer), {
  write(out, std::get<0>(at::log_sigmoid_forward(input)));
})
OPERATOR(LogSigmoidBackward, (Tensor gradient, Tensor input, Tensor buffer, Tensor out), {
  write(out, at::log_sigmoid_backward(gradient, input, std::get<1>(at::log_sigmoid_forward(input))));
})

// ---- made of straight pieces ---------------------------------------------------------------------------------------
OPERATOR(Hardtanh, (Tensor input, Scalar low, Scalar high, Tensor out), { at::hardtanh_out(out, input, low, high); })
OPERATOR(InplaceHardtanh, (Tensor input, Scalar low, Scalar high), { at::hardtanh_(input, low, high); })
OPERATOR(HardtanhBackward, (Tensor gradient, Tensor input, Scalar low, Scalar high, Tensor out), {
  at::hardtanh_backward_out(out, gradient, input, low, high);
})
OPERATOR(Hardswish, (Tensor input, Tensor out), { at::hardswish_out(out, input); })
OPERATOR(InplaceHardswish, (Tensor input), { at::hardswish_(input); })
OPERATOR(HardswishBackward, (Tensor gradient, Tensor input, Tensor out), {
  write(out, at::hardswish_backward(gradient, input));
})
OPERATOR(HardswishBackwardV2, (Tensor gradient, Tensor input, Tensor out), {
  write(out, at::hardswish_backward(gradient, input));
})
OPERATOR(Hardsigmoid, (Tensor input, Tensor out), { at::hardsigmoid_out(out, input); })
OPERATOR(InplaceHardsigmoid, (Tensor input), { at::hardsigmoid_(input); })
OPERATOR(HardsigmoidBackward, (Tensor gradient, Tensor input, Tensor out), {
  at::hardsigmoid_backward_out(out, gradient, input);
})
OPERATOR(Hardshrink, (Tensor input, Scalar lambda, Tensor out), { at::hardshrink_out(out, input, lambda); })
OPERATOR(HardshrinkBackward, (Tensor gradient, Tensor input, Scalar lambda, Tensor out), {
  at::hardshrink_backward_out(out, gradient, input, lambda);
})
OPERATOR(Softshrink, (Tensor input, Scalar lambda, Tensor out), { at::softshrink_out(out, input, lambda); })
OPERATOR(SoftshrinkBackward, (Tensor gradient, Tensor input, Scalar lambda, Tensor out), {
  at::softshrink_backward_out(out, gradient, input, lambda);
})

// ---- over a dimension ----------------------------------------------------------------------------------------------
OPERATOR(Glu, (Tensor input, int64_t dimension, Tensor out), { at::glu_out(out, input, dimension); })
OPERATOR(GluBackward, (Tensor gradient, Tensor input, int64_t dimension, Tensor out), {
  at::glu_backward_out(out, gradient, input, dimension);
})

// softmax(x, dtype=float32) of a half-precision x arrives as one call: the output's dtype is the one to compute in.
OPERATOR(Softmax, (Tensor input, int64_t dimension, Tensor out), {
  at::_softmax_out(out, input.to(out.scalar_type()), dimension, false);
})
OPERATOR(SoftmaxBackward, (Tensor gradient, Tensor result, int64_t dimension, Tensor out), {
  write(out, at::_softmax_backward_data(gradient, result, dimension, result.scalar_type()));
})
OPERATOR(LogSoftmax, (Tensor input, int64_t dimension, Tensor out), {
  at::_log_softmax_out(out, input.to(out.scalar_type()), dimension, false);
})
OPERATOR(LogSoftmaxBackward, (Tensor gradient, Tensor result, int64_t dimension, Tensor out), {
  write(out, at::_log_softmax_backward_data(gradient, result, dimension, result.scalar_type()));
})

// Normalisation over features, groups and batches, and their gradients. Statistics go out as mean and 1 / standard
// deviation ("inverse deviation"); torch_npu keeps them in float32 and in shapes of its own.
#include "calling_convention.h"

namespace {

// A gradient that was not asked for stays undefined.
void write_gradients(const std::tuple<Tensor, Tensor, Tensor>& found, Tensor& input, Tensor& weight, Tensor& bias) {
  if (std::get<0>(found).defined()) write_if_wanted(input, std::get<0>(found));
  if (std::get<1>(found).defined()) write_if_wanted(weight, std::get<1>(found).view_as(weight));
  if (std::get<2>(found).defined()) write_if_wanted(bias, std::get<2>(found).view_as(bias));
}

std::array<bool, 3> three(const BoolList& wanted) { return {wanted.at(0), wanted.at(1), wanted.at(2)}; }

}  // namespace

// ---- layers and groups ---------------------------------------------------------------------------------------------
// The second form is what TORCH_NPU_USE_COMPATIBLE_IMPL=1 takes.
#define LAYER_NORM(NAME)                                                                                               \
  OPERATOR(NAME, (Tensor input, IntList normalized_shape, Tensor weight, Tensor bias, double epsilon, Tensor out,      \
                  Tensor mean, Tensor inverse_deviation), {                                                            \
    auto [result, found_mean, found_inverse] =                                                                         \
        at::native_layer_norm(input, normalized_shape, optional(weight), optional(bias), epsilon);                     \
    write(out, result);                                                                                                \
    write(mean, found_mean.view_as(mean));                                                                             \
    write(inverse_deviation, found_inverse.view_as(inverse_deviation));                                                \
  })
LAYER_NORM(LayerNorm)
LAYER_NORM(FastLayerNorm)
OPERATOR(LayerNormBackward, (Tensor gradient, Tensor input, IntList normalized_shape, Tensor mean,
                             Tensor inverse_deviation, Tensor weight, Tensor bias, BoolList wanted,
                             Tensor input_gradient, Tensor weight_gradient, Tensor bias_gradient), {
  const auto found = at::native_layer_norm_backward(
      gradient, input, normalized_shape, mean.to(input.scalar_type()), inverse_deviation.to(input.scalar_type()),
      optional(weight), optional(bias), three(wanted));
  write_gradients(found, input_gradient, weight_gradient, bias_gradient);
})

OPERATOR(GroupNorm, (Tensor input, Tensor weight, Tensor bias, int64_t samples, int64_t channels, int64_t positions,
                     int64_t groups, double epsilon, Tensor out, Tensor mean, Tensor inverse_deviation), {
  auto [result, found_mean, found_inverse] = at::native_group_norm(
      input.contiguous(), optional(weight), optional(bias), samples, channels, positions, groups, epsilon);
  write(out, result);
  write(mean, found_mean);
  write(inverse_deviation, found_inverse);
})
OPERATOR(GroupNormBackward, (Tensor gradient, Tensor input, Tensor mean, Tensor inverse_deviation, Tensor weight,
                             int64_t samples, int64_t channels, int64_t positions, int64_t groups, BoolList wanted,
                             Tensor input_gradient, Tensor weight_gradient, Tensor bias_gradient), {
  const auto found = at::native_group_norm_backward(gradient.contiguous(), input.contiguous(), mean, inverse_deviation,
                                                    optional(weight), samples, channels, positions, groups, three(wanted));
  write_gradients(found, input_gradient, weight_gradient, bias_gradient);
})

// torch_npu.npu_rms_norm; torch.nn.RMSNorm arrives in parts (pow, mean, rsqrt, mul).
OPERATOR(RmsNorm, (Tensor input, Tensor weight, double epsilon, Tensor out, Tensor inverse_deviation), {
  IntList normalized;
  for (int64_t dimension = input.dim() - weight.dim(); dimension < input.dim(); dimension++) normalized.push_back(dimension);
  const Tensor wide = input.to(at::kFloat);
  const Tensor inverse = wide.square().mean(normalized, true).add(epsilon).rsqrt();
  write(out, wide * inverse * weight);
  write(inverse_deviation, inverse.view_as(inverse_deviation));
})
OPERATOR(RmsNormGrad, (Tensor gradient, Tensor input, Tensor inverse_deviation, Tensor weight, Tensor input_gradient,
                       Tensor weight_gradient), {
  IntList normalized;
  for (int64_t dimension = input.dim() - weight.dim(); dimension < input.dim(); dimension++) normalized.push_back(dimension);
  const Tensor wide = gradient.to(at::kFloat);
  const Tensor scaled = input.to(at::kFloat) * inverse_deviation;
  const Tensor weighted = wide * weight;
  write(input_gradient, (weighted - scaled * (weighted * scaled).mean(normalized, true)) * inverse_deviation);
  write(weight_gradient, (wide * scaled).sum_to_size(weight.sizes()));
})

// ---- batches -------------------------------------------------------------------------------------------------------
// In training the running statistics are updated in place; in evaluation they are what is used, and nothing is saved.
OPERATOR(BatchNorm, (Tensor input, Tensor weight, Tensor bias, Tensor running_mean, Tensor running_variance,
                     bool training, double momentum, double epsilon, Tensor out, Tensor mean, Tensor inverse_deviation), {
  auto [result, found_mean, found_inverse] =
      at::native_batch_norm(input, optional(weight), optional(bias), optional(running_mean), optional(running_variance),
                            training, momentum, epsilon);
  write(out, result);
  if (!training) {
    found_mean = running_mean;
    found_inverse = (running_variance + epsilon).rsqrt();
  }
  write(mean, found_mean);
  write(inverse_deviation, found_inverse);
})
OPERATOR(BatchNormBackward, (Tensor gradient, Tensor input, Tensor weight, Tensor running_mean, Tensor running_variance,
                             Tensor mean, Tensor inverse_deviation, bool training, double epsilon, BoolList wanted,
                             Tensor input_gradient, Tensor weight_gradient, Tensor bias_gradient), {
  // ATen wants the statistics as its own forward leaves them: of the weight's dtype, or of the input's without weight.
  const at::ScalarType dtype = (weight.defined() ? weight : input).scalar_type();
  const auto found = at::native_batch_norm_backward(
      gradient, input, optional(weight), optional(running_mean), optional(running_variance),
      mean.defined() ? mean.to(dtype) : mean, inverse_deviation.defined() ? inverse_deviation.to(dtype) : inverse_deviation,
      training, epsilon, three(wanted));
  write_gradients(found, input_gradient, weight_gradient, bias_gradient);
})

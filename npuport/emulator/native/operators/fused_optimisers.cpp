// One optimiser step in one call. `torch.optim.Adam(fused=True)` has no kernel: torch_npu runs it on the CPU.
#include "calling_convention.h"

// `steps` counts the steps before this one: torch_npu takes one off the optimiser's counter.
OPERATOR(ApplyAdamWV2, (Tensor parameter, Tensor mean, Tensor square, Tensor largest_square, Tensor gradient, Tensor steps,
                        float learning_rate, float beta1, float beta2, float weight_decay, float epsilon, bool amsgrad,
                        bool maximize), {
  const double step = steps.item<double>() + 1;
  const double correction1 = 1 - std::pow(static_cast<double>(beta1), step);
  const double correction2 = 1 - std::pow(static_cast<double>(beta2), step);
  const Tensor descent = maximize ? -gradient : gradient;

  parameter.mul_(1 - learning_rate * weight_decay);
  mean.lerp_(descent, 1 - beta1);
  square.mul_(beta2).addcmul_(descent, descent, 1 - beta2);
  if (amsgrad) at::maximum_out(largest_square, largest_square, square);
  const Tensor denominator = (amsgrad ? largest_square : square).sqrt().div_(std::sqrt(correction2)).add_(epsilon);
  parameter.addcdiv_(mean, denominator, -learning_rate / correction1);
})

OPERATOR(FusedSgd, (TensorList parameters, TensorList gradients, TensorList momentum_buffers, Tensor gradient_scale,
                    float weight_decay, float momentum, float learning_rate, float dampening, bool nesterov,
                    bool maximize, bool first_step), {
  for (size_t i = 0; i < parameters.size(); i++) {
    if (gradient_scale.defined()) gradients[i].div_(gradient_scale);
    Tensor descent = maximize ? -gradients[i] : gradients[i];
    if (weight_decay != 0) descent = descent.add(parameters[i], weight_decay);
    if (momentum != 0) {
      Tensor& buffer = momentum_buffers[i];
      first_step ? buffer.copy_(descent) : buffer.mul_(momentum).add_(descent, 1 - dampening);
      descent = nesterov ? descent.add(buffer, momentum) : buffer;
    }
    parameters[i].add_(descent, -learning_rate);
  }
})

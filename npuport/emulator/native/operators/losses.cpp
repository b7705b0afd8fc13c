// Losses and their gradients. `reduction` is at::Reduction: 0 keeps every element, 1 takes the mean, 2 the sum.
#include "calling_convention.h"

// ---- regression ----------------------------------------------------------------------------------------------------
OPERATOR(MseLoss, (Tensor input, Tensor target, int64_t reduction, Tensor out), {
  write(out, at::mse_loss(input, target, reduction));
})
OPERATOR(MseLossBackward, (Tensor gradient, Tensor input, Tensor target, int64_t reduction, Tensor out), {
  at::mse_loss_backward_out(out, gradient, input, target, reduction);
})
// These two take a bool beside a float32, and compute in what the dtypes are promoted to.
OPERATOR(L1Loss, (Tensor input, Tensor target, int64_t reduction, Tensor out), {
  const at::ScalarType dtype = at::result_type(input, target);
  write(out, at::l1_loss(input.to(dtype), target.to(dtype), reduction));
})
OPERATOR(L1LossBackward, (Tensor gradient, Tensor input, Tensor target, int64_t reduction, Tensor out), {
  const Tensor share = reduction == at::Reduction::Mean ? gradient / input.numel() : gradient;
  const at::ScalarType dtype = at::result_type(input, target);
  write(out, (input.to(dtype) - target.to(dtype)).sgn_().mul_(share));
})
OPERATOR(SmoothL1Loss, (Tensor input, Tensor target, int64_t reduction, float beta, Tensor out), {
  write(out, at::smooth_l1_loss(input, target, reduction, beta));
})
OPERATOR(SmoothL1LossBackward, (Tensor gradient, Tensor input, Tensor target, int64_t reduction, float beta, Tensor out), {
  at::smooth_l1_loss_backward_out(out, gradient, input, target, reduction, beta);
})

// ---- two classes ---------------------------------------------------------------------------------------------------
OPERATOR(BinaryCrossEntropy, (Tensor probability, Tensor target, Tensor weight, int64_t reduction, Tensor out), {
  write(out, at::binary_cross_entropy(probability, target, optional(weight), reduction));
})
OPERATOR(BinaryCrossEntropyBackward, (Tensor gradient, Tensor probability, Tensor target, Tensor weight,
                                      int64_t reduction, Tensor out), {
  at::binary_cross_entropy_backward_out(out, gradient, probability, target, optional(weight), reduction);
})
OPERATOR(BinaryCrossEntropyWithLogits, (Tensor logits, Tensor target, Tensor weight, Tensor positive_weight,
                                        int64_t reduction, Tensor out), {
  write(out, at::binary_cross_entropy_with_logits(logits, target, optional(weight), optional(positive_weight), reduction));
})
// d/dx of -w (p y log s(x) + (1 - y) log(1 - s(x))), with s the sigmoid and p the weight of the positive class.
OPERATOR(BinaryCrossEntropyWithLogitsBackward, (Tensor gradient, Tensor logits, Tensor target, Tensor weight,
                                                Tensor positive_weight, int64_t reduction, Tensor out), {
  Tensor slope;
  if (positive_weight.defined()) {
    const Tensor weighted_target = positive_weight * target;
    slope = (weighted_target + 1 - target).mul_(logits.sigmoid()).sub_(weighted_target);
  } else {
    slope = logits.sigmoid().sub_(target);
  }
  slope = slope * gradient;
  if (weight.defined()) slope = slope * weight;
  if (reduction == at::Reduction::Mean) slope = slope / logits.numel();
  write(out, slope);
})
OPERATOR(SoftMarginLoss, (Tensor input, Tensor target, int64_t reduction, Tensor out), {
  write(out, at::soft_margin_loss(input, target, reduction));
})
OPERATOR(SoftMarginLossBackward, (Tensor gradient, Tensor input, Tensor target, int64_t reduction, Tensor out), {
  write(out, at::soft_margin_loss_backward(gradient, input, target, reduction));
})

// ---- several classes -----------------------------------------------------------------------------------------------
// A target without class is counted nowhere; the sum of the weights goes out for the gradient.
OPERATOR(NLLLoss, (Tensor log_probability, Tensor target, Tensor weight, int64_t reduction, int64_t ignored_class,
                   Tensor out, Tensor weight_sum), {
  auto [loss, total] = at::nll_loss_forward(log_probability, target, optional(weight), reduction, ignored_class);
  write(out, loss);
  write(weight_sum, total);
})
OPERATOR(NLLLossBackward, (Tensor gradient, Tensor log_probability, Tensor target, Tensor weight, int64_t reduction,
                           int64_t ignored_class, Tensor weight_sum, Tensor out), {
  write(out, at::nll_loss_backward(gradient, log_probability, target, optional(weight), reduction, ignored_class,
                                   weight_sum.to(log_probability.scalar_type())));
})
OPERATOR(NLLLoss2d, (Tensor log_probability, Tensor target, Tensor weight, int64_t reduction, int64_t ignored_class,
                     Tensor out, Tensor weight_sum), {
  auto [loss, total] = at::nll_loss2d_forward(log_probability, target, optional(weight), reduction, ignored_class);
  write(out, loss);
  write(weight_sum, total);
})
OPERATOR(NLLLoss2dBackward, (Tensor gradient, Tensor log_probability, Tensor target, Tensor weight, int64_t reduction,
                             int64_t ignored_class, Tensor weight_sum, Tensor out), {
  write(out, at::nll_loss2d_backward(gradient, log_probability, target, optional(weight), reduction, ignored_class,
                                     weight_sum.to(log_probability.scalar_type())));
})

// ---- distributions -------------------------------------------------------------------------------------------------
OPERATOR(KlDiv, (Tensor input, Tensor target, int64_t reduction, bool log_target, Tensor out), {
  write(out, at::kl_div(input, target, reduction, log_target));
})
// The divergence is target * (log target - input), or exp(target) * (target - input) for a target in logarithms.
OPERATOR(KlDivBackward, (Tensor gradient, Tensor input, Tensor target, int64_t reduction, bool log_target, Tensor out), {
  const Tensor share = reduction == at::Reduction::Mean ? gradient / input.numel() : gradient;
  write(out, (log_target ? target.exp() : target).neg() * share);
})
OPERATOR(KlDivTargetBackward, (Tensor gradient, Tensor input, Tensor target, int64_t reduction, bool log_target, Tensor out), {
  const Tensor share = reduction == at::Reduction::Mean ? gradient / input.numel() : gradient;
  const Tensor slope = log_target ? (target + 1 - input) * target.exp() : target.log() + 1 - input;
  write(out, slope * share);
})

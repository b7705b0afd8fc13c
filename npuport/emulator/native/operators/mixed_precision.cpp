// What torch.amp.GradScaler asks of the device.
#include "calling_convention.h"

// Gradients are divided by the scale in place; one that is not finite is reported in `found`.
OPERATOR(ForeachNonFiniteCheckAndUnscale, (TensorList gradients, Tensor found, Tensor inverse_scale), {
  for (Tensor& gradient : gradients) {
    if (!gradient.isfinite().all().item<bool>()) found.fill_(1);
    gradient.mul_(inverse_scale);
  }
})

// The scale shrinks after a step with a non-finite gradient, and grows after `interval` steps without.
OPERATOR(AmpUpdateScale, (Tensor scale, Tensor good_steps, Tensor found, double growth, double backoff,
                          int64_t interval, Tensor new_scale, Tensor new_good_steps), {
  if (found.item<float>() != 0) {
    new_scale.mul_(backoff);
    new_good_steps.zero_();
    return;
  }
  const int64_t steps = good_steps.item<int64_t>() + 1;
  if (steps == interval) {
    // A scale that would overflow stays as it is, as on the other devices.
    const Tensor grown = scale * growth;
    if (grown.isfinite().item<bool>()) new_scale.copy_(grown);
  }
  new_good_steps.fill_(steps == interval ? 0 : steps);
})

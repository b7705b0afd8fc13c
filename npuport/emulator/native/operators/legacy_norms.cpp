// Norms of an order for which aclnn has no kernel, in the two steps of aclop: a sum of powers, and its root, with the cast
// that the older path makes of halves. Infinite orders come as the largest and the smallest int. And the gradient of
// distances between rows, of which aclnn has only the forward kernel.
#include <limits>

#include "legacy_operators.h"

namespace {

bool is_extreme(float order) {
  return order == static_cast<float>(std::numeric_limits<int>::max()) ||
         order == static_cast<float>(std::numeric_limits<int>::min());
}

}  // namespace

LEGACY_OPERATOR(LpNormReduceV2, {
  const Tensor sizes = call.input(0).abs();
  const auto order = call.attribute<float>("p");
  const auto& axes = call.attribute<IntList>("axes");
  const bool keep = call.attribute<bool>("keepdim");
  if (is_extreme(order)) return call.write(0, order > 0 ? at::amax(sizes, axes, keep) : at::amin(sizes, axes, keep));
  call.write(0, at::sum(order == 0 ? sizes.ne(0).to(at::kFloat) : sizes.pow(order), dimensions(axes), keep));
})

LEGACY_OPERATOR(LpNormUpdateV2, {
  const Tensor sum = call.input(0);
  const auto order = call.attribute<float>("p");
  call.write(0, order == 0 || is_extreme(order) ? sum : sum.pow(1 / order));
})

LEGACY_OPERATOR(Cast, { call.write(0, call.input(0)); })

// Everything comes broadcast to [..., rows of the first, rows of the second, features]; an infinite order comes as -1.
LEGACY_OPERATOR(CdistGrad, {
  const auto order = call.attribute<float>("p");
  const Tensor difference = call.input(1) - call.input(2), distance = call.input(3);
  Tensor slope = difference.sign();
  if (order == -1) {
    slope = slope * difference.abs().eq(distance);
  } else if (order != 1) {
    const Tensor part = difference.abs() / distance.masked_fill(distance == 0, 1);
    slope = at::where(distance == 0, at::zeros({}, part.options()), slope * part.pow(order - 1));
  }
  call.write(0, (call.input(0) * slope).sum(-2));
})

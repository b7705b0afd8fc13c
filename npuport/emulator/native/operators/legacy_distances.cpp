// Norms of unusual orders and distances, for which torch_npu still takes aclop.
#include <climits>
#include <limits>

#include "legacy_operators.h"

namespace {

// The norm comes in two calls: sums of powers, then their root. Infinite orders have no powers; they arrive as the
// largest and the smallest int, and the second call has nothing to do.
double order_of(const LegacyArguments& call) {
  const double order = call.attribute<float>("p");
  if (order == static_cast<float>(INT_MAX)) return std::numeric_limits<double>::infinity();
  if (order == static_cast<float>(INT_MIN)) return -std::numeric_limits<double>::infinity();
  return order;
}

}  // namespace

// Half precision is cast before and after.
LEGACY_OPERATOR(Cast, { call.write(0, call.input(0)); })
LEGACY_OPERATOR(LpNormReduceV2, {
  const double order = order_of(call);
  const auto& dims = call.attribute<IntList>("axes");
  const bool keep = call.attribute<bool>("keepdim");
  const Tensor sizes = call.input(0).abs();
  if (std::isinf(order)) {
    call.write(0, order > 0 ? sizes.amax(dims, keep) : sizes.amin(dims, keep));
  } else {
    call.write(0, sizes.pow(order).sum(dimensions(dims), keep));
  }
})
LEGACY_OPERATOR(LpNormUpdateV2, {
  const double order = order_of(call);
  call.write(0, std::isinf(order) ? call.input(0) : call.input(0).pow(1 / order));
})

LEGACY_OPERATOR(Pdist, { call.write(0, at::_pdist_forward(call.input(0), call.attribute<float>("p"))); })
// Everything comes expanded to [..., rows of the first, rows of the second, features]; -1 stands for the infinite order.
LEGACY_OPERATOR(CdistGrad, {
  if (call.input(0).numel() == 0) return call.write(0, at::zeros({}));
  const Tensor gradient = call.input(0).select(-1, 0).contiguous();
  const Tensor first = call.input(1).select(-2, 0).contiguous();
  const Tensor second = call.input(2).select(-3, 0).contiguous();
  const Tensor distances = call.input(3).select(-1, 0).contiguous();
  const float order = call.attribute<float>("p");
  call.write(0, at::_cdist_backward(gradient, first, second, order < 0 ? std::numeric_limits<double>::infinity() : order,
                                    distances));
})

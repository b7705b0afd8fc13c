// Operators whose output has a shape that only the values tell; torch_npu allocates the most that there can be.
#include "calling_convention.h"

OPERATOR(Nonzero, (Tensor self, ShapedOutput out), { write_shaped(out, at::nonzero(self)); })
// One row a dimension, where the first has one row an element.
OPERATOR(NonzeroV2, (Tensor self, ShapedOutput out), { write_shaped(out, at::nonzero(self).t()); })
OPERATOR(MaskedSelect, (Tensor self, Tensor mask, ShapedOutput out), {
  write_shaped(out, at::masked_select(self, mask));
})

OPERATOR(Unique, (Tensor self, bool sorted, bool with_inverse, ShapedOutput values, Tensor inverse), {
  auto [unique, positions, counts] = at::_unique2(self, sorted, with_inverse, false);
  write_shaped(values, unique);
  if (with_inverse) write(inverse, positions);
})
OPERATOR(Unique2, (Tensor self, bool sorted, bool with_inverse, bool with_counts, ShapedOutput values, Tensor inverse,
                   ShapedOutput counts), {
  auto [unique, positions, numbers] = at::_unique2(self, sorted, with_inverse, with_counts);
  write_shaped(values, unique);
  if (with_inverse) write(inverse, positions);
  if (with_counts) write_shaped(counts, numbers);
})
OPERATOR(UniqueDim, (Tensor self, bool sorted, bool with_inverse, int64_t dim, ShapedOutput values, Tensor inverse,
                     ShapedOutput counts), {
  auto [unique, positions, numbers] = at::unique_dim(self, dim, sorted, with_inverse, true);
  write_shaped(values, unique);
  if (with_inverse) write(inverse, positions);
  write_shaped(counts, numbers);
})
// Stands for "over all elements", a number that no dimension has.
static constexpr int64_t NO_DIMENSION = 1000;
OPERATOR(UniqueConsecutive, (Tensor self, bool with_inverse, bool with_counts, int64_t dim, ShapedOutput values,
                             Tensor inverse, ShapedOutput counts), {
  auto [unique, positions, numbers] = at::unique_consecutive(
      self, with_inverse, with_counts, dim == NO_DIMENSION ? std::nullopt : std::optional<int64_t>(dim));
  write_shaped(values, unique);
  if (with_inverse) write(inverse, positions);
  if (with_counts) write_shaped(counts, numbers);
})

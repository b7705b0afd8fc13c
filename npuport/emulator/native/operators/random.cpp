// Random numbers. torch_npu draws a seed and an offset from its own generator for each call; equal pairs give equal
// numbers. Which numbers come is ATen's Mersenne twister, not Ascend's Philox: only distributions can be compared.
#include "calling_convention.h"

OPERATOR(InplaceUniform, (Tensor self, double from, double to, int64_t seed, int64_t offset), {
  self.uniform_(from, to, generator(seed, offset));
})
OPERATOR(InplaceNormal, (Tensor self, float mean, float deviation, int64_t seed, int64_t offset), {
  self.normal_(mean, deviation, generator(seed, offset));
})
OPERATOR(NormalFloatFloat, (float mean, float deviation, int64_t seed, int64_t offset, Tensor out), {
  out.normal_(mean, deviation, generator(seed, offset));
})
OPERATOR(NormalFloatTensor, (float mean, Tensor deviation, int64_t seed, int64_t offset, Tensor out), {
  at::normal_out(out, mean, deviation, generator(seed, offset));
})
OPERATOR(NormalTensorFloat, (Tensor mean, float deviation, int64_t seed, int64_t offset, Tensor out), {
  at::normal_out(out, mean, deviation, generator(seed, offset));
})
OPERATOR(NormalTensorTensor, (Tensor mean, Tensor deviation, int64_t seed, int64_t offset, Tensor out), {
  at::normal_out(out, mean, deviation, generator(seed, offset));
})
OPERATOR(InplaceRandom, (Tensor self, int64_t from, int64_t to, int64_t seed, int64_t offset), {
  self.random_(from, to, generator(seed, offset));
})
OPERATOR(InplaceBernoulli, (Tensor self, Scalar probability, int64_t seed, int64_t offset), {
  self.bernoulli_(probability.toDouble(), generator(seed, offset));
})
OPERATOR(InplaceBernoulliTensor, (Tensor self, Tensor probability, int64_t seed, int64_t offset), {
  self.bernoulli_(probability, generator(seed, offset));
})
OPERATOR(Multinomial, (Tensor self, int64_t samples, bool replacement, int64_t seed, int64_t offset, Tensor out), {
  at::multinomial_out(out, self, samples, replacement, generator(seed, offset));
})
OPERATOR(Randperm, (int64_t n, int64_t seed, int64_t offset, Tensor out), {
  at::randperm_out(out, n, generator(seed, offset));
})

// ---- dropout -------------------------------------------------------------------------------------------------------
// The mask has one bit an element, the lowest bit of a byte first; a set bit keeps the element.
static constexpr int64_t BITS_OF_A_BYTE = 8;

OPERATOR(DropoutGenMaskV2, (IntList shape, double probability, int64_t seed, int64_t offset, int, Tensor mask), {
  const at::Generator numbers = generator(seed, offset);
  const Tensor kept = at::empty({mask.numel(), BITS_OF_A_BYTE}, at::kByte).bernoulli_(1 - probability, numbers);
  const Tensor weights = at::full({BITS_OF_A_BYTE}, 2, at::kByte).pow(at::arange(BITS_OF_A_BYTE, at::kByte));
  mask.copy_(kept.mul(weights).sum(1));
})
OPERATOR(DropoutDoMask, (Tensor self, Tensor mask, double probability, Tensor out), {
  const Tensor bits = mask.unsqueeze(1).bitwise_right_shift(at::arange(BITS_OF_A_BYTE, at::kByte)).bitwise_and(1);
  const Tensor kept = bits.flatten().narrow(0, 0, self.numel()).to(at::kBool).view(self.sizes());
  at::where_out(out, kept, self / (1 - probability), at::zeros({}, self.options()));
})

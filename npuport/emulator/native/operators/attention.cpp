// Fused attention, as torch's scaled_dot_product_attention calls it under torch_npu: softmax(q k' * scale + bias) v,
// head by head, and its gradient.
#include "calling_convention.h"

namespace {

// How the four axes of queries, keys and values lie in memory: batch B, heads N, positions S, features D; H is N * D.
struct Layout {
  std::string name;
  int64_t query_heads;

  Tensor to_heads_first(const Tensor& packed, int64_t heads) const {
    if (name == "BNSD") return packed;
    if (name == "BSND") return packed.transpose(1, 2);
    const Tensor split = packed.unflatten(2, {heads, -1});
    if (name == "BSH") return split.transpose(1, 2);
    TORCH_CHECK(name == "SBH", "no kernel for attention in the layout ", name);
    return split.permute({1, 2, 0, 3});
  }
  Tensor from_heads_first(const Tensor& heads_first) const {
    if (name == "BNSD") return heads_first;
    if (name == "BSND") return heads_first.transpose(1, 2);
    if (name == "BSH") return heads_first.transpose(1, 2).flatten(2);
    return heads_first.permute({2, 0, 1, 3}).flatten(2);
  }
};

// Dropout comes as one bit an element, the lowest bit of a byte first; a set bit keeps.
Tensor kept(const Tensor& bits, at::IntArrayRef shape) {
  const Tensor shifts = at::arange(8, bits.options());
  const Tensor each = bits.unsqueeze(1).bitwise_right_shift(shifts).bitwise_and(1).flatten();
  return each.narrow(0, 0, c10::multiply_integers(shape)).view(shape);
}

// Sparse modes other than an explicit mask (0) and a causal one that starts at the first key (2) have no kernel here.
Tensor hidden_positions(const Tensor& mask, int64_t sparse_mode, int64_t queries, int64_t keys) {
  TORCH_CHECK(sparse_mode == 0 || sparse_mode == 2, "no kernel for attention with the sparse mode ", sparse_mode);
  if (sparse_mode == 2) return at::ones({queries, keys}, at::kBool).triu(1);
  return mask.defined() ? mask.to(at::kBool) : mask;
}

// Everything in float32, heads first; keys and values repeated where several query heads share one.
struct Attention {
  Tensor query, key, value, scores, dropout;
  double scale, keep;
  int64_t shared_by;

  Attention(const Layout& layout, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias, const Tensor& bits,
            const Tensor& mask, double scale, double keep, int64_t sparse_mode)
      : query(layout.to_heads_first(q, layout.query_heads).to(at::kFloat)), scale(scale), keep(keep) {
    const int64_t features = query.size(3);
    const int64_t key_heads = layout.name == "BNSD"   ? k.size(1)
                              : layout.name == "BSND" ? k.size(2)
                                                      : k.size(2) / features;
    shared_by = layout.query_heads / key_heads;
    key = layout.to_heads_first(k, key_heads).to(at::kFloat).repeat_interleave(shared_by, 1);
    value = layout.to_heads_first(v, key_heads).to(at::kFloat).repeat_interleave(shared_by, 1);
    scores = at::matmul(query, key.transpose(-2, -1)).mul_(scale);
    if (bias.defined()) scores = scores + bias;
    const Tensor hidden = hidden_positions(mask, sparse_mode, query.size(2), key.size(2));
    if (hidden.defined()) scores.masked_fill_(hidden, -std::numeric_limits<float>::infinity());
    if (keep < 1 && bits.defined()) dropout = kept(bits, scores.sizes()).to(at::kFloat).div_(keep);
  }
  // Keys and values that several heads share collect the gradients of all of them.
  Tensor of_shared_heads(const Tensor& gradient) const {
    return shared_by == 1 ? gradient : gradient.unflatten(1, {-1, shared_by}).sum(2);
  }
};

}  // namespace

// The largest score and the sum of exponentials of each row go out eight times over, for the gradient.
OPERATOR(FlashAttentionScore, (Tensor query, Tensor key, Tensor value, Tensor bias, Tensor dropout_bits, Tensor padding,
                               Tensor mask, IntList prefix, double scale, double keep, int64_t previous_tokens,
                               int64_t next_tokens, int64_t heads, std::string layout_name, int64_t inner_precision,
                               int64_t sparse_mode, Tensor row_max, Tensor row_sum, Tensor unused, Tensor out), {
  const Layout layout{layout_name, heads};
  const Attention attention(layout, query, key, value, bias, dropout_bits, mask, scale, keep, sparse_mode);
  const Tensor largest = attention.scores.amax(-1, true);
  write(row_max, largest.expand_as(row_max));
  write(row_sum, (attention.scores - largest).exp_().sum(-1, true).expand_as(row_sum));
  Tensor weights = attention.scores.softmax(-1);
  if (attention.dropout.defined()) weights = weights * attention.dropout;
  write(out, layout.from_heads_first(at::matmul(weights, attention.value)));
})

OPERATOR(FlashAttentionScoreGrad, (Tensor query, Tensor key, Tensor value, Tensor gradient, Tensor bias,
                                   Tensor dropout_bits, Tensor padding, Tensor mask, Tensor row_max, Tensor row_sum,
                                   Tensor unused, Tensor result, IntList prefix, double scale, double keep,
                                   int64_t previous_tokens, int64_t next_tokens, int64_t heads, std::string layout_name,
                                   int64_t inner_precision, int64_t sparse_mode, Tensor query_gradient,
                                   Tensor key_gradient, Tensor value_gradient, Tensor bias_gradient), {
  const Layout layout{layout_name, heads};
  const Attention attention(layout, query, key, value, bias, dropout_bits, mask, scale, keep, sparse_mode);
  const Tensor weights = attention.scores.softmax(-1);
  const Tensor& dropout = attention.dropout;
  const Tensor for_result = layout.to_heads_first(gradient, heads).to(at::kFloat);
  const Tensor for_value = at::matmul((dropout.defined() ? weights * dropout : weights).transpose(-2, -1), for_result);
  Tensor for_weights = at::matmul(for_result, attention.value.transpose(-2, -1));
  if (dropout.defined()) for_weights = for_weights * dropout;
  const Tensor for_scores = at::_softmax_backward_data(for_weights, weights, -1, at::kFloat);
  const Tensor scaled = for_scores * scale;
  write(query_gradient, layout.from_heads_first(at::matmul(scaled, attention.key)));
  const Tensor for_key = at::matmul(scaled.transpose(-2, -1), attention.query);
  write(key_gradient, layout.from_heads_first(attention.of_shared_heads(for_key)));
  write(value_gradient, layout.from_heads_first(attention.of_shared_heads(for_value)));
  if (bias.defined()) write(bias_gradient, for_scores.sum_to_size(bias.sizes()));
})

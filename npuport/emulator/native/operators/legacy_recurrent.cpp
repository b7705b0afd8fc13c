// The recurrent layers of aclop: an LSTM of several layers, or without biases, and what is computed in bfloat16. One
// layer in one direction a call; torch_npu stacks them. Weights come transposed, those of an LSTM in one matrix
// [I + H, 4 * H]; "ifjo" and "rzh" are torch's own orders of gates.
#include "legacy_operators.h"
#include "recurrent_layers.h"

namespace {

LayerWeights lstm_weights(const Tensor& both, const Tensor& bias, int64_t features) {
  const Tensor rows = both.t();
  return {rows.narrow(1, 0, features), rows.narrow(1, features, rows.size(1) - features), bias, {}};
}

// States come as [N, H] or [1, N, H], and so do the values of the only step of a cell.
Tensor state(const Tensor& tensor) { return tensor.dim() == 3 ? tensor.squeeze(0) : tensor; }

Tensor step(const Tensor& tensor) { return tensor.dim() == 2 ? tensor.unsqueeze(0) : tensor; }

void write_lstm(const LegacyArguments& call, const LstmSteps& steps) {
  const Tensor* const results[] = {&steps.hidden, &steps.hidden, &steps.cell, &steps.i,
                                   &steps.j,      &steps.f,      &steps.o,    &steps.tanh_cell};
  for (size_t place = 0; place < std::size(results); place++) call.write(place, *results[place]);
}

void expect_lstm(const LegacyArguments& call) {
  call.expect("direction", "UNIDIRECTIONAL");
  call.expect("gate_order", "ifjo");
}

void expect_gru(const LegacyArguments& call) {
  call.expect("direction", "UNIDIRECTIONAL");
  call.expect("gate_order", "rzh");
}

}  // namespace

LEGACY_OPERATOR(DynamicRNN, {
  expect_lstm(call);
  TORCH_CHECK(!call.input(3).defined(), "packed sequences are not emulated");
  const Tensor input = call.input(0);
  write_lstm(call, lstm_layer(input, state(call.input(4)), state(call.input(5)),
                              lstm_weights(call.input(1), call.input(2), input.size(2))));
})

LEGACY_OPERATOR(DynamicRNNGrad, {
  expect_lstm(call);
  const Tensor input = call.input(0);
  const LayerWeights weights = lstm_weights(call.input(1), call.input(2), input.size(2));
  const LstmSteps steps{call.input(11), call.input(12), call.input(13), call.input(14),
                        call.input(6),  call.input(7),  call.input(15)};
  const LayerGradients found =
      lstm_layer_backward(input, state(call.input(4)), state(call.input(5)), weights, steps, call.input(8),
                          state(call.input(9)), state(call.input(10)));
  call.write(0, at::cat({found.weights.input, found.weights.hidden}, 1).t());
  call.write(1, found.weights.input_bias);
  call.write(2, found.input);
  call.write(3, found.first_hidden);
  call.write(4, found.first_cell);
})

// torch.nn.LSTMCell: one step, its two matrices apart. "ifco" is the same order of gates under another name.
LEGACY_OPERATOR(DynamicRNNV2, {
  call.expect("direction", "UNIDIRECTIONAL");
  call.expect("gate_order", "ifco");
  write_lstm(call, lstm_layer(call.input(0), state(call.input(5)), state(call.input(6)),
                              {call.input(1).t(), call.input(2).t(), call.input(3), {}}));
})

LEGACY_OPERATOR(DynamicRNNV2Grad, {
  expect_lstm(call);
  const LstmSteps steps{call.input(11), call.input(12), call.input(13), call.input(14),
                        step(call.input(6)), step(call.input(7)), call.input(15)};
  const LayerGradients found = lstm_layer_backward(
      step(call.input(0)), call.input(4), call.input(5), {call.input(1).t(), call.input(2).t(), {}, {}}, steps,
      step(call.input(8)), call.input(9), call.input(10));
  call.write(0, found.weights.input.t());
  call.write(1, found.weights.hidden.t());
  call.write(2, found.weights.input_bias);
  call.write(3, found.input.squeeze(0));
  call.write(4, found.first_hidden);
  call.write(5, found.first_cell);
})

LEGACY_OPERATOR(DynamicGRUV2, {
  expect_gru(call);
  const GruSteps steps = gru_layer(call.input(0), state(call.input(6)),
                                   {call.input(1).t(), call.input(2).t(), call.input(3), call.input(4)});
  const Tensor* const results[] = {&steps.hidden, &steps.hidden, &steps.z, &steps.r, &steps.n, &steps.hidden_n};
  for (size_t place = 0; place < std::size(results); place++) call.write(place, *results[place]);
})

LEGACY_OPERATOR(DynamicGRUV2Grad, {
  expect_gru(call);
  const LayerWeights weights{call.input(1).t(), call.input(2).t(), {}, {}};
  const GruSteps steps{call.input(9), call.input(8), call.input(10), call.input(11), call.input(5)};
  const LayerGradients found = gru_layer_backward(call.input(0), state(call.input(4)), weights, steps, call.input(6),
                                                  state(call.input(7)));
  call.write(0, found.weights.input.t());
  call.write(1, found.weights.hidden.t());
  call.write(2, found.weights.input_bias);
  call.write(3, found.weights.hidden_bias);
  call.write(4, found.input);
  call.write(5, found.first_hidden);
})

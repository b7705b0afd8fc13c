#include "recurrent_layers.h"

namespace {

// Of every step: the state before it.
Tensor before(const Tensor& first, const Tensor& states) {
  return at::cat({first.unsqueeze(0), states.narrow(0, 0, states.size(0) - 1)});
}

Tensor or_zeros(const Tensor& gradient, const Tensor& like) {
  return gradient.defined() ? gradient : at::zeros_like(like);
}

Tensor sigmoid_gradient(const Tensor& gradient, const Tensor& result) { return gradient * result * (1 - result); }
Tensor tanh_gradient(const Tensor& gradient, const Tensor& result) { return gradient * (1 - result * result); }

// Gradients of weights, biases and input from those of the gates [T, N, gates * H] before activation. In a GRU the gates'
// share of the state differs from that of the input.
void finish(LayerGradients& gradients, const Tensor& input, const Tensor& states_before, const LayerWeights& weights,
            const Tensor& input_gates, const Tensor& hidden_gates) {
  const Tensor of_input = input_gates.flatten(0, 1), of_hidden = hidden_gates.flatten(0, 1);
  gradients.input = at::matmul(input_gates, weights.input);
  gradients.weights.input = at::mm(of_input.t(), input.flatten(0, 1));
  gradients.weights.hidden = at::mm(of_hidden.t(), states_before.flatten(0, 1));
  gradients.weights.input_bias = of_input.sum(0);
  gradients.weights.hidden_bias = of_hidden.sum(0);
}

}  // namespace

LstmSteps lstm_layer(const Tensor& input, const Tensor& first_hidden, const Tensor& first_cell,
                     const LayerWeights& weights) {
  const Tensor input_gates = at::linear(input, weights.input, optional(weights.input_bias));
  Tensor hidden = first_hidden, cell = first_cell;
  TensorList i, j, f, o, hiddens, cells, tanh_cells;
  for (int64_t step = 0; step < input.size(0); step++) {
    const Tensor gates = input_gates[step] + at::linear(hidden, weights.hidden, optional(weights.hidden_bias));
    const TensorList parts = gates.chunk(4, 1);
    i.push_back(parts[0].sigmoid());
    f.push_back(parts[1].sigmoid());
    j.push_back(parts[2].tanh());
    o.push_back(parts[3].sigmoid());
    cell = f.back() * cell + i.back() * j.back();
    tanh_cells.push_back(cell.tanh());
    hidden = o.back() * tanh_cells.back();
    cells.push_back(cell);
    hiddens.push_back(hidden);
  }
  return {at::stack(i),       at::stack(j),     at::stack(f),         at::stack(o),
          at::stack(hiddens), at::stack(cells), at::stack(tanh_cells)};
}

LstmStepGradients lstm_step_backward(const LstmSteps& steps, int64_t step, const Tensor& cell_before,
                                     const Tensor& hidden, const Tensor& cell) {
  const Tensor i = steps.i[step], j = steps.j[step], f = steps.f[step], o = steps.o[step];
  const Tensor of_cell = cell + tanh_gradient(hidden * o, steps.tanh_cell[step]);
  return {at::cat({sigmoid_gradient(of_cell * j, i), sigmoid_gradient(of_cell * cell_before, f),
                   tanh_gradient(of_cell * i, j), sigmoid_gradient(hidden * steps.tanh_cell[step], o)}, 1),
          of_cell * f};
}

LayerGradients lstm_layer_backward(const Tensor& input, const Tensor& first_hidden, const Tensor& first_cell,
                                   const LayerWeights& weights, const LstmSteps& steps, const Tensor& outputs,
                                   const Tensor& last_hidden, const Tensor& last_cell) {
  const Tensor all = or_zeros(outputs, steps.hidden), cells_before = before(first_cell, steps.cell);
  Tensor hidden = or_zeros(last_hidden, first_hidden), cell = or_zeros(last_cell, first_cell);
  TensorList gates(input.size(0));
  for (int64_t step = input.size(0) - 1; step >= 0; step--) {
    const LstmStepGradients found = lstm_step_backward(steps, step, cells_before[step], all[step] + hidden, cell);
    gates[step] = found.gates;
    cell = found.cell;
    hidden = at::mm(gates[step], weights.hidden);
  }
  LayerGradients gradients{{}, hidden, cell, {}};
  const Tensor stacked = at::stack(gates);
  finish(gradients, input, before(first_hidden, steps.hidden), weights, stacked, stacked);
  return gradients;
}

GruSteps gru_layer(const Tensor& input, const Tensor& first_hidden, const LayerWeights& weights) {
  const Tensor input_gates = at::linear(input, weights.input, optional(weights.input_bias));
  Tensor hidden = first_hidden;
  TensorList r, z, n, hidden_n, hiddens;
  for (int64_t step = 0; step < input.size(0); step++) {
    const TensorList of_input = input_gates[step].chunk(3, 1);
    const TensorList of_hidden = at::linear(hidden, weights.hidden, optional(weights.hidden_bias)).chunk(3, 1);
    r.push_back((of_input[0] + of_hidden[0]).sigmoid());
    z.push_back((of_input[1] + of_hidden[1]).sigmoid());
    hidden_n.push_back(of_hidden[2]);
    n.push_back((of_input[2] + r.back() * of_hidden[2]).tanh());
    hidden = (hidden - n.back()) * z.back() + n.back();
    hiddens.push_back(hidden);
  }
  return {at::stack(r), at::stack(z), at::stack(n), at::stack(hidden_n), at::stack(hiddens)};
}

LayerGradients gru_layer_backward(const Tensor& input, const Tensor& first_hidden, const LayerWeights& weights,
                                  const GruSteps& steps, const Tensor& outputs, const Tensor& last_hidden) {
  const Tensor all = or_zeros(outputs, steps.hidden), states_before = before(first_hidden, steps.hidden);
  Tensor hidden = or_zeros(last_hidden, first_hidden);
  TensorList input_gates(input.size(0)), hidden_gates(input.size(0));
  for (int64_t step = input.size(0) - 1; step >= 0; step--) {
    const Tensor r = steps.r[step], z = steps.z[step], n = steps.n[step];
    const Tensor of_hidden = all[step] + hidden;
    const Tensor of_n = tanh_gradient(of_hidden * (1 - z), n);
    const Tensor of_r = sigmoid_gradient(of_n * steps.hidden_n[step], r);
    const Tensor of_z = sigmoid_gradient(of_hidden * (states_before[step] - n), z);
    input_gates[step] = at::cat({of_r, of_z, of_n}, 1);
    hidden_gates[step] = at::cat({of_r, of_z, of_n * r}, 1);
    hidden = of_hidden * z + at::mm(hidden_gates[step], weights.hidden);
  }
  LayerGradients gradients{{}, hidden, {}, {}};
  finish(gradients, input, states_before, weights, at::stack(input_gates), at::stack(hidden_gates));
  return gradients;
}

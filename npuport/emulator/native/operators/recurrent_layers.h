// One recurrent layer in one direction, over tensors with time first: what is computed, and its gradients. Gates are in
// torch's order: i, f, g, o of an LSTM (CANN calls g "j"), r, z, n of a GRU.
//
// T steps, N sequences, I features in, H features of the state.
#pragma once
#include "calling_convention.h"

// Weights [gates * H, I] and [gates * H, H], biases [gates * H]; biases are undefined where there are none.
struct LayerWeights {
  Tensor input, hidden, input_bias, hidden_bias;
};
struct LayerGradients {
  Tensor input, first_hidden, first_cell;  // [T, N, I], [N, H], [N, H]
  LayerWeights weights;
};

// The values of every step, each [T, N, H].
struct LstmSteps {
  Tensor i, j, f, o, hidden, cell, tanh_cell;
};
struct GruSteps {
  Tensor r, z, n, hidden_n, hidden;  // hidden_n: what the state adds to n, before r
};

// One step back: gradients of its gates [N, 4 * H], before activation, and of the cell before it, from those of its state
// and its cell.
struct LstmStepGradients {
  Tensor gates, cell;
};
LstmStepGradients lstm_step_backward(const LstmSteps& steps, int64_t step, const Tensor& cell_before,
                                     const Tensor& hidden, const Tensor& cell);

LstmSteps lstm_layer(const Tensor& input, const Tensor& first_hidden, const Tensor& first_cell,
                     const LayerWeights& weights);
// Gradients come in for all outputs [T, N, H] and for the last state and cell [N, H]; undefined ones are zero.
LayerGradients lstm_layer_backward(const Tensor& input, const Tensor& first_hidden, const Tensor& first_cell,
                                   const LayerWeights& weights, const LstmSteps& steps, const Tensor& outputs,
                                   const Tensor& last_hidden, const Tensor& last_cell);

GruSteps gru_layer(const Tensor& input, const Tensor& first_hidden, const LayerWeights& weights);
LayerGradients gru_layer_backward(const Tensor& input, const Tensor& first_hidden, const LayerWeights& weights,
                                  const GruSteps& steps, const Tensor& outputs, const Tensor& last_hidden);

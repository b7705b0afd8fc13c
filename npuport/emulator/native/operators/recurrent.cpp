// LSTM and GRU: stacks of layers in one or two directions, and the LSTM's single cell. Dropout between layers is not
// applied: CANN's page of aclnnLSTM says of the argument that it is not supported yet, and torch_npu's older path does
// not look at it either. A packed sequence is not emulated.
//
// Steps of the reverse direction are kept in the order in which they are computed; nobody but the gradients reads them.
#include "recurrent_layers.h"

namespace {

// Swapped on the way in and on the way out.
Tensor swapped_if(bool batch_first, const Tensor& tensor) { return batch_first ? tensor.transpose(0, 1) : tensor; }

Tensor in_order(int64_t direction, const Tensor& steps) { return direction == 0 ? steps : steps.flip(0); }

Tensor part(const Tensor& all, int64_t place) { return all.defined() ? all[place] : Tensor(); }

// A list of weights and biases, layer by layer and in each direction by direction.
LayerWeights weights_at(const TensorList& parameters, bool has_biases, int64_t place) {
  if (!has_biases) return {parameters[2 * place], parameters[2 * place + 1], {}, {}};
  return {parameters[4 * place], parameters[4 * place + 1], parameters[4 * place + 2], parameters[4 * place + 3]};
}

void write_at(TensorList& parameters, bool has_biases, int64_t place, const LayerWeights& found) {
  LayerWeights outputs = weights_at(parameters, has_biases, place);
  write(outputs.input, found.input);
  write(outputs.hidden, found.hidden);
  write_if_wanted(outputs.input_bias, found.input_bias);
  write_if_wanted(outputs.hidden_bias, found.hidden_bias);
}

void refuse_packed(const Tensor& batch_sizes) {
  TORCH_CHECK(!batch_sizes.defined() || batch_sizes.numel() == 0, "packed sequences are not emulated");
}

// The initial states [layers, N, H]; zero where they were left out.
Tensor states_or_zeros(const TensorList& states, size_t place, const Tensor& like) {
  return place < states.size() && states[place].defined() ? states[place] : at::zeros_like(like);
}

// What a layer gets: the input, or the states of both directions of the layer before.
Tensor layer_input(const Tensor& input, const TensorList& hidden, int64_t layer, int64_t directions) {
  if (layer == 0) return input;
  TensorList states;
  for (int64_t direction = 0; direction < directions; direction++) {
    states.push_back(in_order(direction, hidden[(layer - 1) * directions + direction]));
  }
  return at::cat(states, 2);
}

// Goes through a stack from its last layer to the first. `backward(place, input, outputs)` gives the gradients of one
// layer in one direction, both with their steps in the order of that direction.
template <class Backward>
Tensor stack_backward(const Tensor& input, const TensorList& hidden, Tensor outputs, int64_t layers, int64_t directions,
                      Backward backward) {
  for (int64_t layer = layers - 1; layer >= 0; layer--) {
    const Tensor entered = layer_input(input, hidden, layer, directions);
    const TensorList parts = outputs.defined() ? outputs.chunk(directions, 2) : TensorList(directions);
    Tensor sum;
    for (int64_t direction = 0; direction < directions; direction++) {
      const Tensor& of_outputs = parts[direction];
      const Tensor found = in_order(
          direction, backward(layer * directions + direction, in_order(direction, entered),
                              of_outputs.defined() ? in_order(direction, of_outputs) : of_outputs));
      sum = sum.defined() ? sum + found : found;
    }
    outputs = sum;
  }
  return outputs;
}

}  // namespace

OPERATOR(LSTM, (Tensor input, TensorList parameters, TensorList states, Tensor batch_sizes, bool has_biases,
                int64_t layers, double, bool train, bool bidirectional, bool batch_first, Tensor out,
                Tensor last_hidden, Tensor last_cell, TensorList i, TensorList j, TensorList f, TensorList o,
                TensorList hidden, TensorList cell, TensorList tanh_cell), {
  refuse_packed(batch_sizes);
  const int64_t directions = bidirectional ? 2 : 1;
  const Tensor first_hidden = states_or_zeros(states, 0, last_hidden), first_cell = states_or_zeros(states, 1, last_cell);
  Tensor entered = swapped_if(batch_first, input);
  for (int64_t layer = 0; layer < layers; layer++) {
    TensorList outputs;
    for (int64_t direction = 0; direction < directions; direction++) {
      const int64_t place = layer * directions + direction;
      const LstmSteps steps = lstm_layer(in_order(direction, entered), first_hidden[place], first_cell[place],
                                         weights_at(parameters, has_biases, place));
      last_hidden[place].copy_(steps.hidden[-1]);
      last_cell[place].copy_(steps.cell[-1]);
      outputs.push_back(in_order(direction, steps.hidden));
      if (!train) continue;
      write(i[place], steps.i);
      write(j[place], steps.j);
      write(f[place], steps.f);
      write(o[place], steps.o);
      write(hidden[place], steps.hidden);
      write(cell[place], steps.cell);
      write(tanh_cell[place], steps.tanh_cell);
    }
    entered = at::cat(outputs, 2);
  }
  write(out, swapped_if(batch_first, entered));
})

OPERATOR(LstmBackward, (Tensor input, TensorList states, TensorList parameters, Tensor outputs, Tensor last_hidden,
                        Tensor last_cell, TensorList i, TensorList j, TensorList f, TensorList o, TensorList hidden,
                        TensorList cell, TensorList tanh_cell, Tensor batch_sizes, bool has_biases, int64_t layers,
                        double, bool, bool bidirectional, bool batch_first, BoolList, Tensor input_gradient,
                        Tensor first_hidden_gradient, Tensor first_cell_gradient, TensorList parameter_gradients), {
  refuse_packed(batch_sizes);
  const Tensor first_hidden = states_or_zeros(states, 0, first_hidden_gradient);
  const Tensor first_cell = states_or_zeros(states, 1, first_cell_gradient);
  const auto backward = [&](int64_t place, const Tensor& entered, const Tensor& of_outputs) {
    const LstmSteps steps{i[place], j[place], f[place], o[place], hidden[place], cell[place], tanh_cell[place]};
    const LayerGradients found = lstm_layer_backward(
        entered, first_hidden[place], first_cell[place], weights_at(parameters, has_biases, place), steps, of_outputs,
        part(last_hidden, place), part(last_cell, place));
    first_hidden_gradient[place].copy_(found.first_hidden);
    first_cell_gradient[place].copy_(found.first_cell);
    write_at(parameter_gradients, has_biases, place, found.weights);
    return found.input;
  };
  const Tensor of_outputs = outputs.defined() ? swapped_if(batch_first, outputs) : outputs;
  write(input_gradient, swapped_if(batch_first, stack_backward(swapped_if(batch_first, input), hidden, of_outputs,
                                                               layers, bidirectional ? 2 : 1, backward)));
})

OPERATOR(GRU, (Tensor input, TensorList parameters, Tensor first_hidden, Tensor batch_sizes, bool has_biases,
               int64_t layers, double, bool train, bool bidirectional, bool batch_first, Tensor out,
               Tensor last_hidden, TensorList r, TensorList z, TensorList n, TensorList hidden_n, TensorList hidden), {
  refuse_packed(batch_sizes);
  const int64_t directions = bidirectional ? 2 : 1;
  const Tensor first = states_or_zeros({first_hidden}, 0, last_hidden);
  Tensor entered = swapped_if(batch_first, input);
  for (int64_t layer = 0; layer < layers; layer++) {
    TensorList outputs;
    for (int64_t direction = 0; direction < directions; direction++) {
      const int64_t place = layer * directions + direction;
      const GruSteps steps =
          gru_layer(in_order(direction, entered), first[place], weights_at(parameters, has_biases, place));
      last_hidden[place].copy_(steps.hidden[-1]);
      outputs.push_back(in_order(direction, steps.hidden));
      if (!train) continue;
      write(r[place], steps.r);
      write(z[place], steps.z);
      write(n[place], steps.n);
      write(hidden_n[place], steps.hidden_n);
      write(hidden[place], steps.hidden);
    }
    entered = at::cat(outputs, 2);
  }
  write(out, swapped_if(batch_first, entered));
})

OPERATOR(GRUBackward, (Tensor input, TensorList parameters, Tensor first_hidden, Tensor outputs, Tensor last_hidden,
                       TensorList r, TensorList z, TensorList n, TensorList hidden_n, TensorList hidden,
                       Tensor batch_sizes, bool has_biases, int64_t layers, bool bidirectional, bool batch_first,
                       Tensor input_gradient, Tensor first_hidden_gradient, TensorList parameter_gradients), {
  refuse_packed(batch_sizes);
  const Tensor first = states_or_zeros({first_hidden}, 0, first_hidden_gradient);
  const auto backward = [&](int64_t place, const Tensor& entered, const Tensor& of_outputs) {
    const GruSteps steps{r[place], z[place], n[place], hidden_n[place], hidden[place]};
    const LayerGradients found = gru_layer_backward(entered, first[place], weights_at(parameters, has_biases, place),
                                                    steps, of_outputs, part(last_hidden, place));
    first_hidden_gradient[place].copy_(found.first_hidden);
    write_at(parameter_gradients, has_biases, place, found.weights);
    return found.input;
  };
  write(input_gradient,
        swapped_if(batch_first, stack_backward(swapped_if(batch_first, input), hidden, swapped_if(batch_first, outputs),
                                               layers, bidirectional ? 2 : 1, backward)));
})

// torch.nn.LSTMCell; a GRUCell arrives in parts. The workspace keeps the four gates after activation.
OPERATOR(ThnnFusedLstmCell, (Tensor input_gates, Tensor hidden_gates, Tensor cell, Tensor input_bias,
                             Tensor hidden_bias, Tensor new_hidden, Tensor new_cell, Tensor workspace), {
  Tensor gates = input_gates + hidden_gates;
  if (input_bias.defined()) gates = gates + input_bias;
  if (hidden_bias.defined()) gates = gates + hidden_bias;
  const TensorList parts = gates.chunk(4, 1);
  const Tensor i = parts[0].sigmoid(), f = parts[1].sigmoid(), j = parts[2].tanh(), o = parts[3].sigmoid();
  const Tensor found = f * cell + i * j;
  write(new_cell, found);
  write(new_hidden, o * found.tanh());
  write(workspace, at::cat({i, f, j, o}, 1));
})
OPERATOR(ThnnFusedLstmCellBackward, (Tensor new_hidden_gradient, Tensor new_cell_gradient, Tensor cell, Tensor new_cell,
                                     Tensor workspace, bool has_bias, Tensor gates_gradient, Tensor cell_gradient,
                                     Tensor bias_gradient), {
  const TensorList parts = workspace.unsqueeze(0).chunk(4, 2);
  const LstmSteps steps{parts[0], parts[2], parts[1], parts[3], {}, new_cell.unsqueeze(0), new_cell.tanh().unsqueeze(0)};
  const Tensor zeros = at::zeros_like(cell);
  const LstmStepGradients found =
      lstm_step_backward(steps, 0, cell, new_hidden_gradient.defined() ? new_hidden_gradient : zeros,
                         new_cell_gradient.defined() ? new_cell_gradient : zeros);
  write(gates_gradient, found.gates);
  write(cell_gradient, found.cell);
  if (has_bias) write(bias_gradient, found.gates.sum(0));
})

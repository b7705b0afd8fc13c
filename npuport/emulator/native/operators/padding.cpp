// Padding by repeated and mirrored edges, with gradients. Padding with a constant stands with the other copies.
#include "calling_convention.h"

OPERATOR(ReflectionPad1d, (Tensor input, IntList padding, Tensor out), { at::reflection_pad1d_out(out, input, padding); })
OPERATOR(ReflectionPad1dBackward, (Tensor gradient, Tensor input, IntList padding, Tensor out), {
  at::reflection_pad1d_backward_out(out, gradient, input, padding);
})
OPERATOR(ReflectionPad2d, (Tensor input, IntList padding, Tensor out), { at::reflection_pad2d_out(out, input, padding); })
OPERATOR(ReflectionPad2dBackward, (Tensor gradient, Tensor input, IntList padding, Tensor out), {
  at::reflection_pad2d_backward_out(out, gradient, input, padding);
})
OPERATOR(ReplicationPad1d, (Tensor input, IntList padding, Tensor out), { at::replication_pad1d_out(out, input, padding); })
OPERATOR(ReplicationPad1dBackward, (Tensor gradient, Tensor input, IntList padding, Tensor out), {
  at::replication_pad1d_backward_out(out, gradient, input, padding);
})
OPERATOR(ReplicationPad2d, (Tensor input, IntList padding, Tensor out), { at::replication_pad2d_out(out, input, padding); })
OPERATOR(ReplicationPad2dBackward, (Tensor gradient, Tensor input, IntList padding, Tensor out), {
  at::replication_pad2d_backward_out(out, gradient, input, padding);
})
OPERATOR(ReflectionPad3d, (Tensor input, IntList padding, Tensor out), { at::reflection_pad3d_out(out, input, padding); })
OPERATOR(ReflectionPad3dBackward, (Tensor gradient, Tensor input, IntList padding, Tensor out), {
  at::reflection_pad3d_backward_out(out, gradient, input, padding);
})
OPERATOR(ReplicationPad3d, (Tensor input, IntList padding, Tensor out), { at::replication_pad3d_out(out, input, padding); })
OPERATOR(ReplicationPad3dBackward, (Tensor gradient, Tensor input, IntList padding, Tensor out), {
  at::replication_pad3d_backward_out(out, gradient, input, padding);
})

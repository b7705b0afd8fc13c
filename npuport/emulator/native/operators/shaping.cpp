// Tensors put together, repeated, turned round and padded.
#include "calling_convention.h"

OPERATOR(Cat, (TensorList tensors, int64_t dim, Tensor out), { at::cat_out(out, tensors, dim); })
OPERATOR(Stack, (TensorList tensors, int64_t dim, Tensor out), { at::stack_out(out, tensors, dim); })
OPERATOR(ChunkCat, (TensorList tensors, int64_t dim, int64_t chunks, Tensor out), {
  at::_chunk_cat_out(out, tensors, dim, chunks);
})
OPERATOR(SplitWithSize, (Tensor self, IntList sizes, int64_t dim, TensorList out), {
  at::split_with_sizes_copy_out(out, self, sizes, dim);
})

OPERATOR(Repeat, (Tensor self, IntList repeats, Tensor out), { write(out, self.repeat(repeats)); })
OPERATOR(RepeatInterleave, (Tensor self, Tensor repeats, int64_t length, Tensor out), {
  write(out, at::repeat_interleave(self, repeats, std::nullopt, length));
})
OPERATOR(RepeatInterleaveWithDim, (Tensor self, Tensor repeats, int64_t dim, int64_t length, Tensor out), {
  write(out, at::repeat_interleave(self, repeats, dim, length));
})
OPERATOR(RepeatInterleaveInt, (Tensor self, int64_t repeats, int64_t length, Tensor out), {
  write(out, at::repeat_interleave(self, repeats, std::nullopt, length));
})
OPERATOR(RepeatInterleaveIntWithDim, (Tensor self, int64_t repeats, int64_t dim, int64_t length, Tensor out), {
  write(out, at::repeat_interleave(self, repeats, dim, length));
})
OPERATOR(RepeatInterleaveTensor, (Tensor repeats, int64_t length, Tensor out), {
  write(out, at::repeat_interleave(repeats, std::optional<int64_t>(length)));
})
// Sums the gradient over the copies of each element.
OPERATOR(RepeatInterleaveGrad, (Tensor gradient, Tensor repeats, int64_t dim, Tensor out), {
  out.zero_();
  out.index_add_(dim, at::repeat_interleave(repeats.to(at::kLong)), gradient);
})

OPERATOR(Flip, (Tensor self, IntList dims, Tensor out), { write(out, self.flip(dims)); })
OPERATOR(Roll, (Tensor self, IntList shifts, IntList dims, Tensor out), { write(out, at::roll(self, shifts, dims)); })
OPERATOR(UnfoldGrad, (Tensor gradient, IntList sizes, int64_t dim, int64_t size, int64_t step, Tensor out), {
  write(out, at::unfold_backward(gradient, sizes, dim, size, step));
})
OPERATOR(ConstantPadNd, (Tensor self, IntList padding, Scalar value, Tensor out), {
  at::constant_pad_nd_out(out, self, padding, value);
})
OPERATOR(ChannelShuffle, (Tensor self, int64_t groups, Tensor out), { write(out, at::channel_shuffle(self, groups)); })

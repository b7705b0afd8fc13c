// Reading and writing by index or mask.
#include "calling_convention.h"

#include <algorithm>

// ---- one index a dimension -----------------------------------------------------------------------------------------
// An index that was left out (a colon) comes as a vector without elements. So does one that picks nothing; but then
// all are empty, since torch_npu has broadcast them against each other.
static bool picks_nothing(const TensorList& indices) {
  return std::all_of(indices.begin(), indices.end(), [](const Tensor& index) { return index.numel() == 0; });
}
static c10::List<std::optional<Tensor>> with_colons(const TensorList& indices) {
  c10::List<std::optional<Tensor>> result;
  for (const Tensor& index : indices) {
    result.push_back(index.numel() ? std::optional<Tensor>(index) : std::nullopt);
  }
  return result;
}
OPERATOR(Index, (Tensor self, TensorList indices, Tensor out), {
  if (!picks_nothing(indices)) at::index_out(out, self, with_colons(indices));
})
OPERATOR(IndexPutImpl, (Tensor self, TensorList indices, Tensor values, bool accumulate, bool unsafe), {
  if (!picks_nothing(indices)) at::_index_put_impl_(self, with_colons(indices), values, accumulate, unsafe);
})

// ---- indices along one dimension -----------------------------------------------------------------------------------
OPERATOR(Gather, (Tensor self, int64_t dim, Tensor index, Tensor out), { at::gather_out(out, self, dim, index); })
OPERATOR(IndexSelect, (Tensor self, int64_t dim, Tensor index, Tensor out), {
  at::index_select_out(out, self, dim, index);
})
// torch_npu adds in place by naming the input as the output.
OPERATOR(IndexAdd, (Tensor self, int64_t dim, Tensor index, Tensor source, Scalar alpha, Tensor out), {
  write(out, at::index_add(self, dim, index, source, alpha));
})
OPERATOR(IndexFill, (Tensor self, int64_t dim, Tensor index, Scalar value, Tensor out), {
  write(out, self);
  out.index_fill_(dim, index, value);
})
OPERATOR(InplaceIndexFill, (Tensor self, int64_t dim, Tensor index, Scalar value), {
  self.index_fill_(dim, index, value);
})
OPERATOR(IndexCopy, (Tensor self, int64_t dim, Tensor index, Tensor source, Tensor out), {
  at::index_copy_out(out, self, dim, index, source);
})
OPERATOR(InplaceIndexCopy, (Tensor self, int64_t dim, Tensor index, Tensor source), {
  self.index_copy_(dim, index, source);
})

// ---- scatter -------------------------------------------------------------------------------------------------------
// Numbers by which torch_npu passes `reduce`; 0 overwrites.
static std::optional<std::string_view> scatter_reduction(int64_t reduction) {
  switch (reduction) {
    case 1: return "add";
    case 2: return "multiply";
    default: return std::nullopt;
  }
}
template <class Source>
static void scatter(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Source& source,
                    int64_t reduction) {
  if (const auto reduce = scatter_reduction(reduction)) {
    at::scatter_out(out, self, dim, index, source, *reduce);
  } else {
    at::scatter_out(out, self, dim, index, source);
  }
}
OPERATOR(Scatter, (Tensor self, int64_t dim, Tensor index, Tensor source, int64_t reduction, Tensor out), {
  scatter(out, self, dim, index, source, reduction);
})
OPERATOR(ScatterValue, (Tensor self, int64_t dim, Tensor index, Scalar value, int64_t reduction, Tensor out), {
  scatter(out, self, dim, index, value, reduction);
})
OPERATOR(InplaceScatter, (Tensor self, int64_t dim, Tensor index, Tensor source, int64_t reduction), {
  scatter(self, self, dim, index, source, reduction);
})
OPERATOR(InplaceScatterValue, (Tensor self, int64_t dim, Tensor index, Scalar value, int64_t reduction), {
  scatter(self, self, dim, index, value, reduction);
})
OPERATOR(ScatterAdd, (Tensor self, int64_t dim, Tensor index, Tensor source, Tensor out), {
  at::scatter_add_out(out, self, dim, index, source);
})

// ---- flat indices and masks ----------------------------------------------------------------------------------------
OPERATOR(Take, (Tensor self, Tensor index, Tensor out), { at::take_out(out, self, index); })
OPERATOR(InplacePut, (Tensor self, Tensor index, Tensor source, bool accumulate), {
  self.put_(index, source, accumulate);
})
OPERATOR(InplaceMaskedFillScalar, (Tensor self, Tensor mask, Scalar value), { self.masked_fill_(mask, value); })
OPERATOR(InplaceMaskedFillTensor, (Tensor self, Tensor mask, Tensor value), { self.masked_fill_(mask, value); })
OPERATOR(InplaceMaskedScatter, (Tensor self, Tensor mask, Tensor source), { self.masked_scatter_(mask, source); })
OPERATOR(SWhere, (Tensor condition, Tensor self, Tensor other, Tensor out), {
  at::where_out(out, condition, self, other);
})

// ---- tables --------------------------------------------------------------------------------------------------------
OPERATOR(OneHot, (Tensor self, int64_t classes, Tensor on_value, Tensor off_value, int64_t dim, Tensor out), {
  out.copy_(off_value.expand_as(out));
  const Tensor index = self.to(at::kLong).unsqueeze(dim);
  out.scatter_(dim, index, on_value.expand_as(index));
})
OPERATOR(Embedding, (Tensor weight, Tensor indices, Tensor out), { write(out, at::embedding(weight, indices)); })
OPERATOR(EmbeddingDenseBackward, (Tensor gradient, Tensor indices, int64_t rows, int64_t padding, bool by_frequency,
                                  Tensor out), {
  write(out, at::embedding_dense_backward(gradient, indices, rows, padding, by_frequency));
})
OPERATOR(EmbeddingRenorm, (Tensor weight, Tensor indices, double maximum, double order), {
  at::embedding_renorm_(weight, indices, maximum, order);
})

// ---- membership and places in order --------------------------------------------------------------------------------
OPERATOR(IsInScalarTensor, (Scalar element, Tensor elements, bool assume_unique, bool invert, Tensor out), {
  at::isin_out(out, element, elements, assume_unique, invert);
})
OPERATOR(IsInTensorScalar, (Tensor element, Scalar elements, bool assume_unique, bool invert, Tensor out), {
  at::isin_out(out, element, elements, assume_unique, invert);
})
OPERATOR(SearchSorted, (Tensor sorted, Tensor self, bool as_int32, bool right, Tensor sorter, Tensor out), {
  write(out, at::searchsorted(sorted, self, as_int32, right, std::nullopt, optional(sorter)));
})
OPERATOR(SearchSorteds, (Tensor sorted, Scalar self, bool as_int32, bool right, Tensor sorter, Tensor out), {
  write(out, at::searchsorted(sorted, self, as_int32, right, std::nullopt, optional(sorter)));
})

// How torch_npu calls an operator. Each has two C functions: aclnnNameGetWorkspaceSize(arguments..., size, executor)
// takes the arguments, checks them and leaves an executor; aclnnName(workspace, size, executor, stream) runs it.
//
//     OPERATOR(Softplus, (Tensor input, Scalar beta, Scalar threshold, Tensor out), {
//       write(out, at::softplus(input, beta, threshold));
//     })
//
// defines both. Arguments have the types in which C++ wants them; `Parameter` below says how each crosses the C boundary.
// No argument's type is checked there: a wrong signature corrupts silently, so each operator has rows in the sweep against the CPU
// (tests/operator_sweep). The order of arguments is in op-plugin's call sites and function list.
#pragma once
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ScalarOps.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "../runtime/interface.h"
#include "refusals.h"

using at::Scalar;
using at::Tensor;
using IntList = std::vector<int64_t>;
using FloatList = std::vector<float>;
using BoolList = std::vector<bool>;
using TensorList = std::vector<Tensor>;
using ScalarList = std::vector<Scalar>;
using OptionalScalar = std::optional<Scalar>;

// The containers in which arguments arrive; containers.cpp makes and destroys them.
struct aclTensor { Tensor tensor; };
struct aclScalar { Scalar scalar; };
struct aclIntArray { IntList values; };
struct aclFloatArray { FloatList values; };
struct aclBoolArray { BoolList values; };
struct aclTensorList { TensorList tensors; };
struct aclScalarList { ScalarList scalars; };
// An output whose shape is known only after the run: torch_npu asks for it with aclGetViewShape.
using ShapedOutput = aclTensor*;

at::ScalarType scalar_type_of(int acl_data_type);

// ---- across the C boundary -----------------------------------------------------------------------------------------
// CType is what torch_npu passes; a null pointer is an argument that was left out.
template <class Type> struct Parameter {
  using CType = Type;
  static Type take(CType value) { return value; }
};
template <> struct Parameter<Tensor> {
  using CType = aclTensor*;
  static Tensor take(CType value) { return value ? value->tensor : Tensor(); }
};
template <> struct Parameter<Scalar> {
  using CType = aclScalar*;
  static Scalar take(CType value) { return value->scalar; }
};
template <> struct Parameter<OptionalScalar> {
  using CType = aclScalar*;
  static OptionalScalar take(CType value) { return value ? OptionalScalar(value->scalar) : std::nullopt; }
};
template <> struct Parameter<IntList> {
  using CType = aclIntArray*;
  static IntList take(CType value) { return value ? value->values : IntList(); }
};
// Copied: torch_npu may have let go of the text by the time the operator runs.
template <> struct Parameter<std::string> {
  using CType = const char*;
  static std::string take(CType value) { return value ? value : ""; }
};
template <> struct Parameter<FloatList> {
  using CType = aclFloatArray*;
  static FloatList take(CType value) { return value ? value->values : FloatList(); }
};
template <> struct Parameter<BoolList> {
  using CType = aclBoolArray*;
  static BoolList take(CType value) { return value ? value->values : BoolList(); }
};
template <> struct Parameter<TensorList> {
  using CType = aclTensorList*;
  static TensorList take(CType value) { return value ? value->tensors : TensorList(); }
};
template <> struct Parameter<ScalarList> {
  using CType = aclScalarList*;
  static ScalarList take(CType value) { return value ? value->scalars : ScalarList(); }
};

// ---- the two functions ---------------------------------------------------------------------------------------------
struct Executor {
  const char* kernel;
  Counter* counter;
  std::function<void()> run;
};

constexpr int SUCCESS = 0;
constexpr int PARAMETER_REFUSED = 161002;  // ACLNN_ERR_PARAM_INVALID, what torch_npu reports for a dtype without kernel
constexpr int KERNEL_FAILED = 561000;      // ACLNN_ERR_INNER

// Counts the runs of this kernel.
Counter* counter_of(const char* kernel);

inline void note_dtype(std::vector<at::ScalarType>& dtypes, const Tensor& tensor) {
  dtypes.push_back(tensor.defined() ? tensor.scalar_type() : at::ScalarType::Undefined);
}
inline void note_dtype(std::vector<at::ScalarType>& dtypes, const TensorList& tensors) {
  note_dtype(dtypes, tensors.empty() ? Tensor() : tensors.front());
}
template <class Other> void note_dtype(std::vector<at::ScalarType>& dtypes, const Other&) {
  dtypes.push_back(at::ScalarType::Undefined);
}

template <class Signature> struct Operator;
template <class... Types> struct Operator<void (*)(Types...)> {
  template <void (*body)(Types...), const char* kernel>
  static int prepare(typename Parameter<Types>::CType... values, uint64_t* workspace_size, Executor** executor) {
    static Counter* const counter = counter_of(kernel);
    static const Refusals* const refusals = refusals_of(kernel);
    auto arguments = std::make_tuple(Parameter<Types>::take(values)...);
    if (refusals) {
      std::vector<at::ScalarType> dtypes;
      std::apply([&](const auto&... each) { (note_dtype(dtypes, each), ...); }, arguments);
      if (refused(*refusals, dtypes)) return PARAMETER_REFUSED;
    }
    *workspace_size = 0;
    *executor = new Executor{kernel, counter, [arguments = std::move(arguments)] { std::apply(body, arguments); }};
    return SUCCESS;
  }
};

// torch_npu looks both functions up by name. The first has as many C parameters as the body, which only a template can
// spell; `ifunc` (glibc) lets the C name resolve to that template's instance.
#define OPERATOR(NAME, PARAMETERS, ...)                                                                        \
  static constexpr char NAME##_kernel[] = "aclnn" #NAME;                                                       \
  static void NAME##_body PARAMETERS __VA_ARGS__                                                               \
  extern "C" void* NAME##_resolve() {                                                                          \
    return reinterpret_cast<void*>(&Operator<decltype(&NAME##_body)>::prepare<&NAME##_body, NAME##_kernel>);   \
  }                                                                                                            \
  EXPORTED void aclnn##NAME##GetWorkspaceSize() __attribute__((ifunc(#NAME "_resolve")));                      \
  EXPORTED int aclnn##NAME(void*, uint64_t, Executor* executor, void*) { return run_operator(executor); }

// Runs what `prepare` left and frees it; an exception becomes the recent error and KERNEL_FAILED.
int run_operator(Executor* executor);

// ---- what bodies share ---------------------------------------------------------------------------------------------
// Outputs come allocated, with the dtype that torch_npu worked out. ATen's `_out` functions compute into them and are
// used where there is one; elsewhere the result is cast into the output.
inline void write(Tensor& out, const Tensor& result) { out.copy_(result); }
// For an output that the caller may leave out.
inline void write_if_wanted(Tensor& out, const Tensor& result) {
  if (out.defined()) out.copy_(result);
}
// For an output whose shape only the result knows; its memory holds at least as many elements.
void write_shaped(ShapedOutput out, const Tensor& result);

// A number as an operand: it takes part in type promotion as Python numbers do.
inline Tensor number(const Scalar& value) { return at::native::wrapped_scalar_tensor(value); }
// No dimensions given means all of them.
inline at::OptionalIntArrayRef dimensions(const IntList& values) {
  return values.empty() ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(values);
}
inline std::optional<Tensor> optional(const Tensor& tensor) {
  return tensor.defined() ? std::optional<Tensor>(tensor) : std::nullopt;
}
// torch_npu hands random operators a seed and an offset of its Philox stream: the same pair gives the same numbers.
at::Generator generator(int64_t seed, int64_t offset);

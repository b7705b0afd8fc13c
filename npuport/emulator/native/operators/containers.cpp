// The containers in which torch_npu hands over arguments.
#include "calling_convention.h"

#include <algorithm>

// Numbers of aclDataType, as torch_npu passes them.
at::ScalarType scalar_type_of(int acl_data_type) {
  switch (acl_data_type) {
    case 0: return at::kFloat;
    case 1: return at::kHalf;
    case 2: return at::kChar;
    case 3: return at::kInt;
    case 4: return at::kByte;
    case 6: return at::kShort;
    case 7: return at::kUInt16;
    case 8: return at::kUInt32;
    case 9: return at::kLong;
    case 10: return at::kUInt64;
    case 11: return at::kDouble;
    case 12: return at::kBool;
    case 16: return at::kComplexFloat;
    case 17: return at::kComplexDouble;
    case 27: return at::kBFloat16;
    case 33: return at::kComplexHalf;
    default: return at::ScalarType::Undefined;
  }
}

EXPORTED aclTensor* aclCreateTensor(const int64_t* sizes, uint64_t rank, int data_type, const int64_t* strides,
                                    int64_t offset, int, const int64_t*, uint64_t, void* storage) {
  const at::ScalarType type = scalar_type_of(data_type);
  if (type == at::ScalarType::Undefined) {
    npuport_set_recent_error("emulated device: a tensor of an unknown data type");
    return nullptr;
  }
  char* first = static_cast<char*>(storage) + offset * static_cast<int64_t>(c10::elementSize(type));
  Tensor tensor = at::from_blob(first, {sizes, rank}, {strides, rank}, at::TensorOptions(type));
  // ATen shrinks an output that is too large, and torch_npu would hand out what was never written. This refuses.
  tensor.unsafeGetTensorImpl()->set_allow_tensor_metadata_change(false);
  return new aclTensor{std::move(tensor)};
}

EXPORTED aclScalar* aclCreateScalar(void* value, int data_type) {
  switch (scalar_type_of(data_type)) {
    case at::kFloat: return new aclScalar{*static_cast<float*>(value)};
    case at::kHalf: return new aclScalar{*static_cast<at::Half*>(value)};
    case at::kBFloat16: return new aclScalar{*static_cast<at::BFloat16*>(value)};
    case at::kChar: return new aclScalar{*static_cast<int8_t*>(value)};
    case at::kByte: return new aclScalar{*static_cast<uint8_t*>(value)};
    case at::kShort: return new aclScalar{*static_cast<int16_t*>(value)};
    case at::kInt: return new aclScalar{*static_cast<int32_t*>(value)};
    case at::kLong: return new aclScalar{*static_cast<int64_t*>(value)};
    case at::kBool: return new aclScalar{*static_cast<bool*>(value)};
    case at::kDouble: return new aclScalar{*static_cast<double*>(value)};
    case at::kComplexFloat: return new aclScalar{c10::complex<double>(*static_cast<c10::complex<float>*>(value))};
    case at::kComplexDouble: return new aclScalar{*static_cast<c10::complex<double>*>(value)};
    default: npuport_set_recent_error("emulated device: a scalar of an unknown data type"); return nullptr;
  }
}

EXPORTED aclIntArray* aclCreateIntArray(const int64_t* values, uint64_t count) {
  return new aclIntArray{IntList(values, values + count)};
}
EXPORTED aclFloatArray* aclCreateFloatArray(const float* values, uint64_t count) {
  return new aclFloatArray{FloatList(values, values + count)};
}
EXPORTED aclBoolArray* aclCreateBoolArray(const bool* values, uint64_t count) {
  return new aclBoolArray{BoolList(values, values + count)};
}

// A list takes over the tensors and scalars that it is made of: torch_npu destroys the list only.
EXPORTED aclTensorList* aclCreateTensorList(const aclTensor* const* tensors, uint64_t count) {
  auto* list = new aclTensorList;
  for (uint64_t i = 0; i < count; i++) {
    list->tensors.push_back(tensors[i] ? tensors[i]->tensor : Tensor());
    delete tensors[i];
  }
  return list;
}
EXPORTED aclScalarList* aclCreateScalarList(const aclScalar* const* scalars, uint64_t count) {
  auto* list = new aclScalarList;
  for (uint64_t i = 0; i < count; i++) {
    list->scalars.push_back(scalars[i]->scalar);
    delete scalars[i];
  }
  return list;
}

EXPORTED int aclDestroyTensor(const aclTensor* tensor) { delete tensor; return SUCCESS; }
EXPORTED int aclDestroyScalar(const aclScalar* scalar) { delete scalar; return SUCCESS; }
EXPORTED int aclDestroyIntArray(const aclIntArray* array) { delete array; return SUCCESS; }
EXPORTED int aclDestroyFloatArray(const aclFloatArray* array) { delete array; return SUCCESS; }
EXPORTED int aclDestroyBoolArray(const aclBoolArray* array) { delete array; return SUCCESS; }
EXPORTED int aclDestroyTensorList(const aclTensorList* list) { delete list; return SUCCESS; }
EXPORTED int aclDestroyScalarList(const aclScalarList* list) { delete list; return SUCCESS; }

// The caller frees what it gets here with delete[].
EXPORTED int aclGetViewShape(const aclTensor* tensor, int64_t** sizes, uint64_t* rank) {
  const at::IntArrayRef shape = tensor->tensor.sizes();
  *rank = shape.size();
  *sizes = new int64_t[shape.size() + 1];
  std::copy(shape.begin(), shape.end(), *sizes);
  return SUCCESS;
}

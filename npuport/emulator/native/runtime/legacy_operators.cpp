// The older aclop interface: torch_npu describes an operator by name, tensors and attributes. No kernel is behind it, so
// running one fails by its name; on a 910B torch_npu takes it only where there is no aclnn kernel.
#include <string>
#include <vector>

#include "results.h"

namespace {

struct TensorDescription {
  int dtype;
  std::vector<int64_t> sizes;
  int format;
};

struct DataBuffer {
  void* start;
  size_t size;
};

// Attributes are taken and dropped: nobody computes with them.
struct Attributes {};

Result refuse(const char* operator_name) {
  return failed(kKernelNotFound, "emulated device: no kernel for the aclop operator %s", operator_name);
}

}  // namespace

EXPORTED TensorDescription* aclCreateTensorDesc(int dtype, int rank, const int64_t* sizes, int format) {
  return new TensorDescription{dtype, {sizes, sizes + rank}, format};
}
EXPORTED void aclDestroyTensorDesc(const TensorDescription* description) { delete description; }
EXPORTED int aclGetTensorDescType(const TensorDescription* description) { return description->dtype; }
EXPORTED int aclGetTensorDescFormat(const TensorDescription* description) { return description->format; }
EXPORTED size_t aclGetTensorDescNumDims(const TensorDescription* description) {
  return description->sizes.size();
}
EXPORTED Result aclGetTensorDescDimV2(const TensorDescription* description, size_t index, int64_t* size) {
  if (index >= description->sizes.size()) return failed(kInvalidParameter, "emulated device: no dimension %zu", index);
  *size = description->sizes[index];
  return kSuccess;
}
EXPORTED void aclSetTensorDescName(TensorDescription*, const char*) {}
EXPORTED Result aclSetTensorFormat(TensorDescription*, int) { return kSuccess; }
EXPORTED Result aclSetTensorPlaceMent(TensorDescription*, int) { return kSuccess; }
EXPORTED Result aclSetTensorShape(TensorDescription*, int, const int64_t*) { return kSuccess; }

EXPORTED DataBuffer* aclCreateDataBuffer(void* start, size_t size) { return new DataBuffer{start, size}; }
EXPORTED Result aclDestroyDataBuffer(const DataBuffer* buffer) {
  delete buffer;
  return kSuccess;
}

EXPORTED Attributes* aclopCreateAttr() { return new Attributes; }
EXPORTED void aclopDestroyAttr(const Attributes* attributes) { delete attributes; }
EXPORTED Result aclopSetAttrBool(Attributes*, const char*, uint8_t) { return kSuccess; }
EXPORTED Result aclopSetAttrInt(Attributes*, const char*, int64_t) { return kSuccess; }
EXPORTED Result aclopSetAttrFloat(Attributes*, const char*, float) { return kSuccess; }
EXPORTED Result aclopSetAttrString(Attributes*, const char*, const char*) { return kSuccess; }
EXPORTED Result aclopSetAttrDataType(Attributes*, const char*, int) { return kSuccess; }
EXPORTED Result aclopSetAttrListBool(Attributes*, const char*, int, const uint8_t*) { return kSuccess; }
EXPORTED Result aclopSetAttrListInt(Attributes*, const char*, int, const int64_t*) { return kSuccess; }
EXPORTED Result aclopSetAttrListFloat(Attributes*, const char*, int, const float*) { return kSuccess; }
EXPORTED Result aclopSetAttrListListInt(Attributes*, const char*, int, const int*, const int64_t* const*) {
  return kSuccess;
}

EXPORTED Result aclopCompileAndExecute(const char* name, int, const TensorDescription* const*,
                                             const DataBuffer* const*, int, const TensorDescription* const*,
                                             DataBuffer* const*, const Attributes*, int, int, const char*, void*) {
  return refuse(name);
}
EXPORTED Result aclopCompileAndExecuteV2(const char* name, int, TensorDescription**, DataBuffer**, int,
                                               TensorDescription**, DataBuffer**, Attributes*, int, int, const char*,
                                               void*) {
  return refuse(name);
}

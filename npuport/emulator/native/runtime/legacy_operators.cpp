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

NPUPORT_EXPORT TensorDescription* aclCreateTensorDesc(int dtype, int rank, const int64_t* sizes, int format) {
  return new TensorDescription{dtype, {sizes, sizes + rank}, format};
}
NPUPORT_EXPORT void aclDestroyTensorDesc(const TensorDescription* description) { delete description; }
NPUPORT_EXPORT int aclGetTensorDescType(const TensorDescription* description) { return description->dtype; }
NPUPORT_EXPORT int aclGetTensorDescFormat(const TensorDescription* description) { return description->format; }
NPUPORT_EXPORT size_t aclGetTensorDescNumDims(const TensorDescription* description) {
  return description->sizes.size();
}
NPUPORT_EXPORT Result aclGetTensorDescDimV2(const TensorDescription* description, size_t index, int64_t* size) {
  if (index >= description->sizes.size()) return failed(kInvalidParameter, "emulated device: no dimension %zu", index);
  *size = description->sizes[index];
  return kSuccess;
}
NPUPORT_EXPORT void aclSetTensorDescName(TensorDescription*, const char*) {}
NPUPORT_EXPORT Result aclSetTensorFormat(TensorDescription*, int) { return kSuccess; }
NPUPORT_EXPORT Result aclSetTensorPlaceMent(TensorDescription*, int) { return kSuccess; }
NPUPORT_EXPORT Result aclSetTensorShape(TensorDescription*, int, const int64_t*) { return kSuccess; }

NPUPORT_EXPORT DataBuffer* aclCreateDataBuffer(void* start, size_t size) { return new DataBuffer{start, size}; }
NPUPORT_EXPORT Result aclDestroyDataBuffer(const DataBuffer* buffer) {
  delete buffer;
  return kSuccess;
}

NPUPORT_EXPORT Attributes* aclopCreateAttr() { return new Attributes; }
NPUPORT_EXPORT void aclopDestroyAttr(const Attributes* attributes) { delete attributes; }
NPUPORT_EXPORT Result aclopSetAttrBool(Attributes*, const char*, uint8_t) { return kSuccess; }
NPUPORT_EXPORT Result aclopSetAttrInt(Attributes*, const char*, int64_t) { return kSuccess; }
NPUPORT_EXPORT Result aclopSetAttrFloat(Attributes*, const char*, float) { return kSuccess; }
NPUPORT_EXPORT Result aclopSetAttrString(Attributes*, const char*, const char*) { return kSuccess; }
NPUPORT_EXPORT Result aclopSetAttrDataType(Attributes*, const char*, int) { return kSuccess; }
NPUPORT_EXPORT Result aclopSetAttrListBool(Attributes*, const char*, int, const uint8_t*) { return kSuccess; }
NPUPORT_EXPORT Result aclopSetAttrListInt(Attributes*, const char*, int, const int64_t*) { return kSuccess; }
NPUPORT_EXPORT Result aclopSetAttrListFloat(Attributes*, const char*, int, const float*) { return kSuccess; }
NPUPORT_EXPORT Result aclopSetAttrListListInt(Attributes*, const char*, int, const int*, const int64_t* const*) {
  return kSuccess;
}

NPUPORT_EXPORT Result aclopCompileAndExecute(const char* name, int, const TensorDescription* const*,
                                             const DataBuffer* const*, int, const TensorDescription* const*,
                                             DataBuffer* const*, const Attributes*, int, int, const char*, void*) {
  return refuse(name);
}
NPUPORT_EXPORT Result aclopCompileAndExecuteV2(const char* name, int, TensorDescription**, DataBuffer**, int,
                                               TensorDescription**, DataBuffer**, Attributes*, int, int, const char*,
                                               void*) {
  return refuse(name);
}

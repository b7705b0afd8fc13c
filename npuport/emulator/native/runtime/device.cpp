// One device and its one context, and what is asked about it.
#include "results.h"

namespace {

constexpr int32_t kDevice = 0;
int context_object;  // only its address matters

// The device of a thread: none until it is set, so that code that forgets to set one fails as it does with CANN.
thread_local bool device_is_set = false;

// An Ascend 910B3 as torch_npu is told of it: 20 cube cores with two vector cores each.
constexpr int64_t kCubeCores = 20;
constexpr int64_t kVectorCores = 40;

bool is_vector_core(int kind) { return kind == 1; }

Result check_device(int32_t device) {
  if (device == kDevice) return kSuccess;
  return failed(kInvalidDevice, "emulated device: there is only device 0, not %d", device);
}

}  // namespace

EXPORTED Result aclInit(const char*) { return kSuccess; }
EXPORTED Result aclFinalize() { return kSuccess; }
EXPORTED const char* aclrtGetSocName() { return "Ascend910B3"; }

EXPORTED Result aclrtGetDeviceCount(uint32_t* count) {
  *count = 1;
  return kSuccess;
}

EXPORTED Result aclrtSetDevice(int32_t device) {
  if (const Result result = check_device(device)) return result;
  device_is_set = true;
  return kSuccess;
}

EXPORTED Result aclrtGetDevice(int32_t* device) {
  if (!device_is_set) return failed(kNoContext, "emulated device: this thread has set no device");
  *device = kDevice;
  return kSuccess;
}

EXPORTED Result aclrtResetDevice(int32_t device) { return check_device(device); }

EXPORTED Result aclrtGetCurrentContext(void** context) {
  if (!device_is_set) return failed(kNoContext, "emulated device: this thread has set no device");
  *context = &context_object;
  return kSuccess;
}

EXPORTED Result aclrtSetCurrentContext(void* context) {
  if (context != &context_object) return failed(kNoContext, "emulated device: not a context of this process");
  device_is_set = true;
  return kSuccess;
}

EXPORTED Result aclrtGetPrimaryCtxState(int32_t device, uint32_t* flags, int32_t* active) {
  if (const Result result = check_device(device)) return result;
  if (flags != nullptr) *flags = 0;
  *active = 1;
  return kSuccess;
}

EXPORTED Result aclrtDeviceCanAccessPeer(int32_t* can, int32_t, int32_t) {
  *can = 0;
  return kSuccess;
}

EXPORTED Result aclrtDeviceGetBareTgid(int32_t*) {
  return failed(kNotSupported, "emulated device: memory is not shared between processes");
}

// Attributes by the numbers of aclrtDevAttr.
EXPORTED Result aclrtGetDeviceInfo(uint32_t, int attribute, int64_t* value) {
  switch (attribute) {
    case 101:
    case 102:
      *value = kCubeCores;
      return kSuccess;
    case 201:
      *value = kVectorCores;
      return kSuccess;
    default:
      return failed(kNotSupported, "emulated device: device attribute %d is not known", attribute);
  }
}

EXPORTED Result aclGetDeviceCapability(uint32_t, int what, int64_t* value) {
  *value = is_vector_core(what) ? kVectorCores : kCubeCores;
  return kSuccess;
}

EXPORTED Result aclrtGetDeviceResLimit(int32_t, int kind, uint32_t* value) {
  *value = is_vector_core(kind) ? kVectorCores : kCubeCores;
  return kSuccess;
}

EXPORTED Result aclrtGetResInCurrentThread(int kind, uint32_t* value) {
  *value = is_vector_core(kind) ? kVectorCores : kCubeCores;
  return kSuccess;
}

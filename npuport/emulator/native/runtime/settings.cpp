// Settings that torch_npu makes while it starts or when a user asks for them. They change how Ascend computes, not what:
// the emulated device takes them and goes on as before.
#include <cstring>

#include "results.h"

namespace {

constexpr char kCompileOption[] = "disable";

}  // namespace

EXPORTED Result aclSetCompileopt(int, const char*) { return kSuccess; }
EXPORTED size_t aclGetCompileoptSize(int) { return sizeof kCompileOption; }
EXPORTED Result aclGetCompileopt(int, char* value, size_t room) {
  if (room < sizeof kCompileOption) return failed(kInvalidParameter, "emulated device: no room for an option");
  std::memcpy(value, kCompileOption, sizeof kCompileOption);
  return kSuccess;
}

EXPORTED Result aclrtSetSysParamOpt(int, int64_t) { return kSuccess; }
EXPORTED Result aclrtCtxSetSysParamOpt(int, int64_t) { return kSuccess; }
EXPORTED Result aclrtGetSysParamOpt(int, int64_t* value) {
  *value = 0;
  return kSuccess;
}

EXPORTED Result aclrtSetOpExecuteTimeOut(uint32_t) { return kSuccess; }
EXPORTED Result aclrtSetOpExecuteTimeOutV2(uint64_t asked, uint64_t* taken) {
  *taken = asked;
  return kSuccess;
}
EXPORTED Result aclrtSetOpWaitTimeout(uint32_t) { return kSuccess; }
EXPORTED Result aclrtSetDeviceSatMode(int) { return kSuccess; }
EXPORTED Result aclrtSetStreamOverflowSwitch(void*, uint32_t) { return kSuccess; }
EXPORTED Result aclrtSetStreamFailureMode(void*, uint64_t) { return kSuccess; }
EXPORTED Result aclrtSetStreamAttribute(void*, int, void*) { return kSuccess; }

// No error outlives its call: there is no device that could report one later.
EXPORTED Result aclrtPeekAtLastError(int) { return kSuccess; }
EXPORTED Result aclrtGetLastError(int) { return kSuccess; }

// Host functions that the device would call back: torch_npu subscribes threads to them while a stream is made.
EXPORTED Result aclrtSubscribeReport(uint64_t, void*) { return kSuccess; }
EXPORTED Result aclrtUnSubscribeReport(uint64_t, void*) { return kSuccess; }
EXPORTED Result aclrtProcessReport(int32_t) { return kSuccess; }

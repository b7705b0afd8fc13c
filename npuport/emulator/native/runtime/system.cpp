// What the system says of itself: attributes and versions of CANN, its log, the clock of its profiler.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string_view>

#include "results.h"

namespace {

// The release of CANN that torch_npu 2.13 asks for (its table of releases).
constexpr char kVersion[] = "8.5.0";

// The layout of aclCANNPackageVersion.
struct PackageVersion {
  char version[128];
  char parts[4][64];
  char reserved[128];
};

// Of aclCannAttr: infinities and NaN as IEEE has them, and bfloat16.
constexpr int kAttributes[] = {0, 1};

}  // namespace

EXPORTED Result aclGetCannAttributeList(const int** attributes, size_t* count) {
  *attributes = kAttributes;
  *count = sizeof kAttributes / sizeof *kAttributes;
  return kSuccess;
}

EXPORTED Result aclGetCannAttribute(int attribute, int32_t* value) {
  *value = attribute == kAttributes[0] || attribute == kAttributes[1];
  return kSuccess;
}

EXPORTED Result aclsysGetVersionStr(char*, char* version) {
  std::strcpy(version, kVersion);
  return kSuccess;
}

EXPORTED Result aclsysGetCANNVersion(int, PackageVersion* version) {
  std::memset(version, 0, sizeof *version);
  std::strcpy(version->version, kVersion);
  return kSuccess;
}

// CANN's own log: torch_npu writes into it, a user never reads it here.
EXPORTED void aclAppLog(int, const char*, const char*, uint32_t, const char*, ...) {}

// The profiler registers itself while torch_npu loads; it can start nothing, and is never called.
EXPORTED Result MsprofRegisterCallback(uint32_t, void*) { return kSuccess; }
EXPORTED uint64_t MsprofGetHashId(const char* text, size_t length) {
  return std::hash<std::string_view>{}({text, length});
}
EXPORTED uint64_t MsprofSysCycleTime() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// Copies and fills. Each is done at once and counted by direction.
#include <cstring>

#include "blocks.h"
#include "results.h"

namespace {

// Of aclrtMemcpyKind.
enum Kind : int {
  kHostToHost = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
  kByAddresses = 4,
  kHostThroughBuffer = 5,
  kWithinDevice = 6,
  kBetweenDevices = 7,
};

int kind_of_addresses(const void* to, const void* from) {
  const bool to_device = device_blocks().holds(to), from_device = device_blocks().holds(from);
  if (to_device) return from_device ? kDeviceToDevice : kHostToDevice;
  return from_device ? kDeviceToHost : kHostToHost;
}

// nullptr for a kind that there is not.
Counter* counter_of(int kind) {
  static Counter* const host_to_host = npuport_counter("copy.host_to_host");
  static Counter* const host_to_device = npuport_counter("copy.host_to_device");
  static Counter* const device_to_host = npuport_counter("copy.device_to_host");
  static Counter* const device_to_device = npuport_counter("copy.device_to_device");
  switch (kind) {
    case kHostToHost:
      return host_to_host;
    case kHostToDevice:
    case kHostThroughBuffer:
      return host_to_device;
    case kDeviceToHost:
      return device_to_host;
    case kDeviceToDevice:
    case kWithinDevice:
    case kBetweenDevices:
      return device_to_device;
    default:
      return nullptr;
  }
}

Result copy(void* to, size_t room, const void* from, size_t size, int kind) {
  if (size > room) return failed(kInvalidParameter, "emulated device: a copy of %zu bytes into %zu", size, room);
  if (kind == kByAddresses) kind = kind_of_addresses(to, from);
  Counter* counter = counter_of(kind);
  if (counter == nullptr) return failed(kInvalidParameter, "emulated device: no kind of copy %d", kind);
  std::memmove(to, from, size);
  npuport_count_event(counter, static_cast<int64_t>(size));
  return kSuccess;
}

Result fill(void* start, size_t room, int32_t value, size_t size) {
  static Counter* counter = npuport_counter("memset");
  if (size > room) return failed(kInvalidParameter, "emulated device: a memset of %zu bytes of %zu", size, room);
  std::memset(start, value, size);
  npuport_count(counter, static_cast<int64_t>(size));
  return kSuccess;
}

}  // namespace

EXPORTED Result aclrtMemcpy(void* to, size_t room, const void* from, size_t size, int kind) {
  return copy(to, room, from, size, kind);
}
EXPORTED Result aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t size, int kind, void*) {
  return copy(to, room, from, size, kind);
}
EXPORTED Result aclrtMemcpyAsyncWithCondition(void* to, size_t room, const void* from, size_t size, int kind,
                                                    void*) {
  return copy(to, room, from, size, kind);
}
EXPORTED Result aclrtMemset(void* start, size_t room, int32_t value, size_t size) {
  return fill(start, room, value, size);
}
EXPORTED Result aclrtMemsetAsync(void* start, size_t room, int32_t value, size_t size, void*) {
  return fill(start, room, value, size);
}

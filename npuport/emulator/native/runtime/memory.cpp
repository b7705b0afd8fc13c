// Allocation of device memory and of pinned host memory, and what is asked about an address.
#include <limits>

#include "blocks.h"
#include "results.h"

namespace {

// Of aclrtMemLocationType: where an address lies.
enum Location : int { kPinned = 0, kDeviceMemory = 1, kUnregistered = 2 };

// The layout of aclrtPtrAttributes.
struct PointerAttributes {
  uint32_t device;
  int location;
  uint32_t page_size;
  uint32_t reserved[4];
};

Result allocate_device(void** start, size_t size) {
  static Counter* counter = npuport_counter("allocate.device");
  *start = device_blocks().take(size, device_memory());
  if (*start == nullptr) return failed(kOutOfMemory, "emulated device: no memory for %zu bytes more", size);
  npuport_count(counter, static_cast<int64_t>(size));
  return kSuccess;
}

Result allocate_pinned(void** start, size_t size) {
  static Counter* counter = npuport_counter("allocate.pinned");
  *start = pinned_blocks().take(size, std::numeric_limits<size_t>::max());
  if (*start == nullptr) return failed(kOutOfMemory, "emulated device: no host memory for %zu bytes more", size);
  npuport_count(counter, static_cast<int64_t>(size));
  return kSuccess;
}

Result give_back(Blocks& blocks, void* start) {
  if (blocks.give_back(start)) return kSuccess;
  return failed(kInvalidParameter, "emulated device: %p was not allocated, or is freed twice", start);
}

}  // namespace

EXPORTED Result aclrtMalloc(void** start, size_t size, int) { return allocate_device(start, size); }
EXPORTED Result aclrtMallocAlign32(void** start, size_t size, int) { return allocate_device(start, size); }
EXPORTED Result aclrtFree(void* start) { return give_back(device_blocks(), start); }

EXPORTED Result aclrtMallocHost(void** start, size_t size) { return allocate_pinned(start, size); }
EXPORTED Result aclrtMallocHostWithCfg(void** start, uint64_t size, void*) {
  return allocate_pinned(start, size);
}
EXPORTED Result aclrtFreeHost(void* start) { return give_back(pinned_blocks(), start); }

EXPORTED Result aclrtGetMemInfo(int, size_t* unused, size_t* total) {
  *total = device_memory();
  *unused = *total - device_blocks().used();
  return kSuccess;
}

EXPORTED Result aclrtPointerGetAttributes(const void* address, PointerAttributes* attributes) {
  const int location = pinned_blocks().holds(address)   ? kPinned
                       : device_blocks().holds(address) ? kDeviceMemory
                                                        : kUnregistered;
  *attributes = PointerAttributes{0, location, 4096, {}};
  return kSuccess;
}

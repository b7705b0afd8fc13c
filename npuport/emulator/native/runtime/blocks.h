// The blocks of emulated device memory and of pinned host memory that are allocated.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

// Blocks of one kind of memory: taken, given back, and found by any address inside.
class Blocks {
 public:
  // nullptr where `limit` or the machine does not allow another `size` bytes.
  void* take(size_t size, size_t limit);
  // False for an address at which no block of this kind starts.
  bool give_back(void* start);
  bool holds(const void* address);
  size_t used();

 private:
  std::mutex lock_;
  std::map<uintptr_t, size_t> sizes_;  // start -> size, ordered, so that the block before an address is found
  size_t used_ = 0;
};

Blocks& device_blocks();
Blocks& pinned_blocks();

// Bytes of device memory that there are: those of the machine, or as NPUPORT_EMULATOR_MEMORY says.
size_t device_memory();

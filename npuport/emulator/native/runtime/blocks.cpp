// Device memory is host memory, taken block by block. torch_npu's caching allocator asks seldom and for large blocks.
#include "blocks.h"

#include <cstdlib>
#include <limits>
#include <unistd.h>

namespace {

// Blocks of CANN start at multiples of 512 bytes, and leave 32 bytes behind for kernels that read ahead.
constexpr size_t kAlignment = 512;
constexpr size_t kReadAhead = 32;

size_t rounded_up(size_t size) { return (size + kReadAhead + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

void* Blocks::take(size_t size, size_t limit) {
  std::lock_guard<std::mutex> held(lock_);
  if (size > limit || used_ > limit - size) return nullptr;
  void* start = std::aligned_alloc(kAlignment, rounded_up(size));
  if (start == nullptr) return nullptr;
  sizes_[reinterpret_cast<uintptr_t>(start)] = size;
  used_ += size;
  return start;
}

bool Blocks::give_back(void* start) {
  {
    std::lock_guard<std::mutex> held(lock_);
    auto place = sizes_.find(reinterpret_cast<uintptr_t>(start));
    if (place == sizes_.end()) return false;
    used_ -= place->second;
    sizes_.erase(place);
  }
  std::free(start);
  return true;
}

bool Blocks::holds(const void* address) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  std::lock_guard<std::mutex> held(lock_);
  auto after = sizes_.upper_bound(number);
  if (after == sizes_.begin()) return false;
  const auto& [start, size] = *--after;
  return number - start < size;
}

size_t Blocks::used() {
  std::lock_guard<std::mutex> held(lock_);
  return used_;
}

// Never destroyed: torch_npu frees memory until the very end of the process.
Blocks& device_blocks() {
  static auto* blocks = new Blocks;
  return *blocks;
}

Blocks& pinned_blocks() {
  static auto* blocks = new Blocks;
  return *blocks;
}

size_t device_memory() {
  static const size_t bytes = [] {
    const char* stated = std::getenv("NPUPORT_EMULATOR_MEMORY");
    const size_t number = stated == nullptr ? 0 : std::strtoull(stated, nullptr, 10);
    if (number != 0) return number;
    return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  }();
  return bytes;
}

// Counters by name. Counting is two atomic additions; only finding a counter, reading and resetting take the lock.
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "interface.h"

struct Counter {
  const char* name = nullptr;
  std::atomic<int64_t> calls{0};
  std::atomic<int64_t> bytes{0};
};

namespace {

struct Registry {
  std::mutex lock;
  std::map<std::string, Counter> counters;  // a map: its elements never move
};

// Never destroyed: torch_npu still frees memory and waits while the process ends.
Registry& registry() {
  static auto* all = new Registry;
  return *all;
}

std::atomic<void (*)(const char*, int64_t)> event_hook{nullptr};

}  // namespace

EXPORTED Counter* npuport_counter(const char* name) {
  Registry& all = registry();
  std::lock_guard<std::mutex> held(all.lock);
  auto place = all.counters.try_emplace(name).first;
  place->second.name = place->first.c_str();
  return &place->second;
}

EXPORTED void npuport_count(Counter* counter, int64_t bytes) {
  counter->calls.fetch_add(1, std::memory_order_relaxed);
  counter->bytes.fetch_add(bytes, std::memory_order_relaxed);
}

EXPORTED void npuport_count_event(Counter* counter, int64_t bytes) {
  npuport_count(counter, bytes);
  if (auto* hook = event_hook.load(std::memory_order_acquire)) hook(counter->name, bytes);
}

EXPORTED void npuport_set_event_hook(void (*hook)(const char*, int64_t)) {
  event_hook.store(hook, std::memory_order_release);
}

EXPORTED int64_t npuport_read_counts(char* out, int64_t room) {
  std::string lines;
  Registry& all = registry();
  std::lock_guard<std::mutex> held(all.lock);
  for (const auto& [name, counter] : all.counters) {
    const int64_t calls = counter.calls.load(std::memory_order_relaxed);
    if (calls == 0) continue;
    lines += name + ' ' + std::to_string(calls) + ' ' + std::to_string(counter.bytes.load(std::memory_order_relaxed));
    lines += '\n';
  }
  const auto needed = static_cast<int64_t>(lines.size()) + 1;
  if (out != nullptr && room >= needed) std::memcpy(out, lines.c_str(), needed);
  return needed;
}

EXPORTED void npuport_reset_counts() {
  Registry& all = registry();
  std::lock_guard<std::mutex> held(all.lock);
  for (auto& [name, counter] : all.counters) {
    counter.calls.store(0, std::memory_order_relaxed);
    counter.bytes.store(0, std::memory_order_relaxed);
  }
}

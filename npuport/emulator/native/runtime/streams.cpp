// Streams and events. All work is done when it is handed over, so that a wait has nothing to wait for; it is counted.
#include <atomic>
#include <chrono>

#include "results.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Stream {
  int32_t id;
};

struct Event {
  std::atomic<bool> recorded{false};
  Clock::time_point time;
};

std::atomic<int32_t> next_stream{1};

Result new_stream(void** stream) {
  *stream = new Stream{next_stream++};
  return kSuccess;
}

Result counted_wait(Counter* counter) {
  npuport_count_event(counter, 0);
  return kSuccess;
}

Result wait_for_stream() {
  static Counter* counter = npuport_counter("wait.stream");
  return counted_wait(counter);
}

Result wait_for_device() {
  static Counter* counter = npuport_counter("wait.device");
  return counted_wait(counter);
}

Result new_event(void** event) {
  *event = new Event;
  return kSuccess;
}

Result destroy_stream(void* stream) {
  delete static_cast<Stream*>(stream);
  return kSuccess;
}

}  // namespace

EXPORTED Result aclrtCreateStream(void** stream) { return new_stream(stream); }
EXPORTED Result aclrtCreateStreamWithConfig(void** stream, uint32_t, uint32_t) { return new_stream(stream); }
EXPORTED Result aclrtDestroyStream(void* stream) { return destroy_stream(stream); }
EXPORTED Result aclrtDestroyStreamForce(void* stream) { return destroy_stream(stream); }

EXPORTED Result aclrtStreamGetId(void* stream, int32_t* id) {
  *id = stream == nullptr ? 0 : static_cast<Stream*>(stream)->id;
  return kSuccess;
}

// Status 0 is "complete" for streams and for waits, 1 for recorded events.
EXPORTED Result aclrtStreamQuery(void*, int* status) {
  *status = 0;
  return kSuccess;
}

EXPORTED Result aclrtSynchronizeStream(void*) { return wait_for_stream(); }
EXPORTED Result aclrtSynchronizeStreamWithTimeout(void*, int32_t) { return wait_for_stream(); }
EXPORTED Result aclrtSynchronizeDevice() { return wait_for_device(); }
EXPORTED Result aclrtSynchronizeDeviceWithTimeout(int32_t) { return wait_for_device(); }

EXPORTED Result aclrtCreateEventWithFlag(void** event, uint32_t) { return new_event(event); }
EXPORTED Result aclrtCreateEventExWithFlag(void** event, uint32_t) { return new_event(event); }

EXPORTED Result aclrtDestroyEvent(void* event) {
  delete static_cast<Event*>(event);
  return kSuccess;
}

EXPORTED Result aclrtRecordEvent(void* event, void*) {
  auto* recorded = static_cast<Event*>(event);
  recorded->time = Clock::now();
  recorded->recorded = true;
  return kSuccess;
}

EXPORTED Result aclrtResetEvent(void* event, void*) {
  static_cast<Event*>(event)->recorded = false;
  return kSuccess;
}

// The device waits, not the host: nothing to count.
EXPORTED Result aclrtStreamWaitEvent(void*, void*) { return kSuccess; }

EXPORTED Result aclrtSynchronizeEvent(void*) {
  static Counter* counter = npuport_counter("wait.event");
  return counted_wait(counter);
}

EXPORTED Result aclrtQueryEventStatus(void*, int* status) {
  *status = 1;
  return kSuccess;
}

EXPORTED Result aclrtQueryEventWaitStatus(void*, int* status) {
  *status = 0;
  return kSuccess;
}

EXPORTED Result aclrtEventElapsedTime(float* milliseconds, void* start, void* end) {
  auto *from = static_cast<Event*>(start), *to = static_cast<Event*>(end);
  if (!from->recorded || !to->recorded) return failed(kInvalidParameter, "emulated device: an event was not recorded");
  *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return kSuccess;
}

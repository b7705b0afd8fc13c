// Drives libascendcl without torch, under a sanitizer: what is taken is given back, and threads do not race.
// Ends with 0 and no output where everything holds.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "legacy_operators.h"

extern "C" {
int aclrtSetDevice(int32_t);
int aclrtMalloc(void**, size_t, int);
int aclrtFree(void*);
int aclrtMallocHost(void**, size_t);
int aclrtFreeHost(void*);
int aclrtGetMemInfo(int, size_t*, size_t*);
int aclrtMemcpy(void*, size_t, const void*, size_t, int);
int aclrtMemset(void*, size_t, int32_t, size_t);
int aclrtCreateStream(void**);
int aclrtDestroyStream(void*);
int aclrtSynchronizeStream(void*);
int aclrtCreateEventExWithFlag(void**, uint32_t);
int aclrtRecordEvent(void*, void*);
int aclrtSynchronizeEvent(void*);
int aclrtEventElapsedTime(float*, void*, void*);
int aclrtDestroyEvent(void*);
void* aclCreateTensorDesc(int, int, const int64_t*, int);
void aclDestroyTensorDesc(void*);
void* aclCreateDataBuffer(void*, size_t);
int aclDestroyDataBuffer(void*);
void* aclopCreateAttr();
void aclopDestroyAttr(void*);
int aclopSetAttrString(void*, const char*, const char*);
int aclopSetAttrListInt(void*, const char*, int, const int64_t*);
int aclopCompileAndExecute(const char*, int, void**, void**, int, void**, void**, void*, int, int, const char*, void*);
const char* aclGetRecentErrMsg();
}

#define HOLDS(condition)                                                                   \
  if (!(condition)) {                                                                      \
    std::fprintf(stderr, "line %d: %s; %s\n", __LINE__, #condition, aclGetRecentErrMsg()); \
    std::exit(1);                                                                          \
  }

namespace {

constexpr int kHostToDevice = 1;
constexpr int kDeviceToHost = 2;
thread_local int64_t events_of_this_thread = 0;

size_t unused_memory() {
  size_t unused = 0, total = 0;
  HOLDS(aclrtGetMemInfo(0, &unused, &total) == 0 && unused <= total);
  return unused;
}

void allocate_and_free(int cycles) {
  const size_t before = unused_memory();
  void* kept[16] = {};
  for (int cycle = 0; cycle < cycles; cycle++) {
    void*& place = kept[cycle % 16];
    if (place != nullptr) HOLDS(aclrtFree(place) == 0);
    HOLDS(aclrtMalloc(&place, 1 + cycle % 4096, 0) == 0);
  }
  for (void* place : kept) HOLDS(aclrtFree(place) == 0);
  HOLDS(unused_memory() == before);
}

int doubled(const LegacyCall& call) {
  HOLDS(std::get<std::string>(call.attributes.at("order")) == "ifjo" && call.attributes.size() == 2);
  HOLDS(call.inputs.size() == 2 && call.inputs[1].start == nullptr && call.inputs[0].sizes[1] == 3);
  static_cast<float*>(call.outputs[0].start)[0] = 2 * static_cast<float*>(call.inputs[0].start)[0];
  return 0;
}

void call_a_registered_operator(void* memory) {
  const int64_t sizes[] = {2, 3};
  void *attributes = aclopCreateAttr(), *buffer = aclCreateDataBuffer(memory, 24), *none = aclCreateDataBuffer(nullptr, 0);
  void* descriptions[] = {aclCreateTensorDesc(0, 2, sizes, 2), aclCreateTensorDesc(-1, 0, nullptr, -1)};
  void *inputs[] = {buffer, none}, *outputs[] = {buffer};
  HOLDS(aclopSetAttrString(attributes, "order", "ifjo") == 0 && aclopSetAttrListInt(attributes, "sizes", 2, sizes) == 0);
  static_cast<float*>(memory)[0] = 4;
  HOLDS(aclopCompileAndExecute("Doubled", 2, descriptions, inputs, 1, descriptions, outputs, attributes, 0, 0, "",
                               nullptr) == 0);
  HOLDS(static_cast<float*>(memory)[0] == 8);
  HOLDS(aclopCompileAndExecute("Other", 2, descriptions, inputs, 1, descriptions, outputs, attributes, 0, 0, "",
                               nullptr) == 100024);
  HOLDS(std::strstr(aclGetRecentErrMsg(), "no kernel for the aclop operator Other") != nullptr);
  for (void* description : descriptions) aclDestroyTensorDesc(description);
  HOLDS(aclDestroyDataBuffer(buffer) == 0 && aclDestroyDataBuffer(none) == 0);
  aclopDestroyAttr(attributes);
}

void make_and_destroy(int cycles) {
  for (int cycle = 0; cycle < cycles; cycle++) {
    void *stream, *start, *end, *pinned;
    HOLDS(aclrtCreateStream(&stream) == 0 && aclrtMallocHost(&pinned, 100) == 0);
    HOLDS(aclrtCreateEventExWithFlag(&start, 0) == 0 && aclrtCreateEventExWithFlag(&end, 0) == 0);
    HOLDS(aclrtRecordEvent(start, stream) == 0 && aclrtRecordEvent(end, stream) == 0);
    float milliseconds = -1;
    HOLDS(aclrtEventElapsedTime(&milliseconds, start, end) == 0 && milliseconds >= 0);
    HOLDS(aclrtSynchronizeStream(stream) == 0 && aclrtSynchronizeEvent(end) == 0);
    call_a_registered_operator(pinned);
    HOLDS(aclrtDestroyEvent(start) == 0 && aclrtDestroyEvent(end) == 0);
    HOLDS(aclrtDestroyStream(stream) == 0 && aclrtFreeHost(pinned) == 0);
  }
}

void copy_there_and_back(int cycles) {
  HOLDS(aclrtSetDevice(0) == 0);
  char out[64], back[64];
  void* device;
  HOLDS(aclrtMalloc(&device, sizeof out, 0) == 0 && aclrtMemset(device, sizeof out, 7, sizeof out) == 0);
  for (int cycle = 0; cycle < cycles; cycle++) {
    std::memset(out, cycle, sizeof out);
    HOLDS(aclrtMemcpy(device, sizeof out, out, sizeof out, kHostToDevice) == 0);
    HOLDS(aclrtMemcpy(back, sizeof back, device, sizeof back, kDeviceToHost) == 0);
    HOLDS(std::memcmp(out, back, sizeof out) == 0);
  }
  HOLDS(aclrtFree(device) == 0);
}

std::string counts() {
  std::string text(static_cast<size_t>(npuport_read_counts(nullptr, 0)), '\0');
  npuport_read_counts(text.data(), static_cast<int64_t>(text.size()));
  return text;
}

void refuse_what_is_wrong() {
  void* device;
  char host[8] = {};
  HOLDS(aclrtMalloc(&device, 4, 0) == 0);
  HOLDS(aclrtMemcpy(device, 4, host, 8, kHostToDevice) == 107000);
  HOLDS(aclrtMemcpy(device, 4, host, 4, 99) == 107000);
  HOLDS(aclrtFree(device) == 0);
  HOLDS(aclrtFree(device) == 107000);
  HOLDS(std::strstr(aclGetRecentErrMsg(), "freed twice") != nullptr);
  HOLDS(aclrtMalloc(&device, SIZE_MAX - 4096, 0) == 207001);
  HOLDS(aclrtSetDevice(3) == 107001);
}

void in_threads(int threads, int cycles) {
  npuport_reset_counts();
  npuport_set_event_hook([](const char*, int64_t) { events_of_this_thread++; });
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; thread++) {
    running.emplace_back([cycles] {
      copy_there_and_back(cycles);
      HOLDS(events_of_this_thread == 2 * cycles);
      void* block;
      for (int cycle = 0; cycle < cycles; cycle++) HOLDS(aclrtMalloc(&block, 64, 0) == 0 && aclrtFree(block) == 0);
      npuport_count(npuport_counter("own"), 3);
    });
  }
  for (int reads = 0; reads < 100; reads++) counts();
  for (std::thread& thread : running) thread.join();
  npuport_set_event_hook(nullptr);
  const std::string calls = std::to_string(threads * cycles);
  const std::string bytes = std::to_string(threads * cycles * 64);
  const std::string read = counts();
  HOLDS(read.find("copy.host_to_device " + calls + " " + bytes + "\n") != std::string::npos);
  HOLDS(read.find("copy.device_to_host " + calls + " " + bytes + "\n") != std::string::npos);
  HOLDS(read.find("own " + std::to_string(threads) + " " + std::to_string(3 * threads) + "\n") != std::string::npos);
  npuport_reset_counts();
  HOLDS(counts().size() == 1);
}

}  // namespace

int main(int, char** arguments) {
  const int cycles = std::atoi(arguments[1]);
  HOLDS(aclrtSetDevice(0) == 0);
  npuport_register_legacy_operator("Doubled", &doubled);
  allocate_and_free(cycles);
  make_and_destroy(cycles / 100);
  refuse_what_is_wrong();
  in_threads(8, cycles / 200);
  return 0;
}

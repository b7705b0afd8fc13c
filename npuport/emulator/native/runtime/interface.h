// What the operators' library uses of the runtime's: counters and the text of the latest error.
#pragma once
#include <cstdint>

#define EXPORTED extern "C" __attribute__((visibility("default")))

struct Counter;

// The counter of this name, made at the first call; valid until the process ends. Callers keep it.
EXPORTED Counter* npuport_counter(const char* name);

// One more event of this kind, with the bytes that it moved or took. Safe from any thread.
EXPORTED void npuport_count(Counter* counter, int64_t bytes);

// What aclGetRecentErrMsg answers in this thread from now on.
EXPORTED void npuport_set_recent_error(const char* text);

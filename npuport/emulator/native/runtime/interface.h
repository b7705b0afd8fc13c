// What libascendcl offers beside CANN's own functions: counters, the event hook, and the text of the latest error.
// The operators' library uses it; Python reads the counters through ctypes.
#pragma once
#include <cstdint>

#define EXPORTED extern "C" __attribute__((visibility("default")))

struct Counter;

// The counter of this name, made at the first call; valid until the process ends. It takes a lock: callers keep it.
EXPORTED Counter* npuport_counter(const char* name);

// One more event of this kind, with the bytes that it moved or took. Safe from any thread, takes no lock.
EXPORTED void npuport_count(Counter* counter, int64_t bytes);

// The same, and tells the event hook: for copies, waits and refusals.
EXPORTED void npuport_count_event(Counter* counter, int64_t bytes);

// The hook is called in the thread in which the event happens, after it was counted; nullptr removes it.
EXPORTED void npuport_set_event_hook(void (*hook)(const char* what, int64_t bytes));

// Writes a line "name calls bytes" for each name that was counted since the last reset, in the order of names, and a
// closing zero; returns the room that this needs. Nothing is written where `room` is less.
EXPORTED int64_t npuport_read_counts(char* out, int64_t room);
EXPORTED void npuport_reset_counts(void);

// What aclGetRecentErrMsg answers in this thread from now on.
EXPORTED void npuport_set_recent_error(const char* text);

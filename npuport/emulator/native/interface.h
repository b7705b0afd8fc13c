// What libascendcl offers beside CANN's own functions: counters, the event hook, and the recent error message.
//
// libopapi counts its kernels and reports its failures through it; Python reads the counters through ctypes.
#pragma once
#include <cstdint>

#define NPUPORT_EXPORT extern "C" __attribute__((visibility("default")))

// One counted name. The pointer stays valid, and stays the same, as long as the process lives.
struct npuport_counter;

// Finds or makes the counter of a name: takes a lock, so ask once and keep the pointer.
NPUPORT_EXPORT npuport_counter* npuport_counter_named(const char* name);

// Counts one call and its bytes; any thread, no lock.
NPUPORT_EXPORT void npuport_count(npuport_counter* counter, int64_t bytes);

// Counts as above and tells the event hook: for what stops the host or moves memory (copies, waits, refusals).
NPUPORT_EXPORT void npuport_count_event(npuport_counter* counter, int64_t bytes);

// The hook is called in the thread in which the event happens, after it was counted; nullptr removes it.
NPUPORT_EXPORT void npuport_set_event_hook(void (*hook)(const char* what, int64_t bytes));

// Writes a line "name calls bytes" for each name that was counted since the last reset, in the order of names, and a
// closing zero; returns the room that this needs. Nothing is written where `room` is less.
NPUPORT_EXPORT int64_t npuport_read_counts(char* out, int64_t room);
NPUPORT_EXPORT void npuport_reset_counts(void);

// What aclGetRecentErrMsg gives in this thread.
NPUPORT_EXPORT void npuport_set_error(const char* message);

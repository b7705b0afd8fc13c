// The recent error message: one a thread, as the vendor has it.
#include "results.h"

#include <cstdarg>
#include <cstdio>
#include <string>

namespace {

std::string& recent_error() {
  static thread_local std::string message;
  return message;
}

}  // namespace

Result failed(Result code, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  recent_error() = text;
  return code;
}

EXPORTED void npuport_set_recent_error(const char* message) { recent_error() = message; }

EXPORTED const char* aclGetRecentErrMsg() { return recent_error().c_str(); }

// Called by the functions of missing_symbols.cpp, which the build writes.
EXPORTED Result npuport_not_emulated(const char* function) {
  return failed(kNotSupported, "emulated device: %s is not emulated", function);
}

// Result codes of CANN's runtime, by the numbers that torch_npu knows (its NPUErrorCodes), and how a call fails.
#pragma once
#include <cstdint>

#include "interface.h"

using Result = int;

constexpr Result kSuccess = 0;
constexpr Result kInvalidParameter = 107000;
constexpr Result kInvalidDevice = 107001;
constexpr Result kNoContext = 107002;
constexpr Result kNotSupported = 207000;
constexpr Result kOutOfMemory = 207001;
constexpr Result kKernelNotFound = 100024;

// Keeps the message for aclGetRecentErrMsg and gives the code back, so that a call can `return failed(...)`.
Result failed(Result code, const char* format, ...) __attribute__((format(printf, 2, 3)));

// Dtypes that CANN documents as refused, by kernel: rows of the file that NPUPORT_EMULATOR_REFUSALS names.
#pragma once
#include <c10/core/ScalarType.h>

#include <vector>

struct Refusals;

// What is refused to this kernel ("aclnnMseLoss"); null where nothing is. Valid until the process ends.
const Refusals* refusals_of(const char* kernel);

// Whether a call with these dtypes, one a parameter (Undefined for what is no tensor), is refused. Counts each refusal,
// in every mode, and leaves the vendor's form of the message as the recent error.
bool refused(const Refusals& refusals, const std::vector<c10::ScalarType>& dtypes);

// The older aclop interface: torch_npu describes an operator by name, tensors and attributes. On a 910B it takes it where
// there is no aclnn kernel, such as for a recurrent layer of several layers. The operators' library registers what it has.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "interface.h"

struct LegacyTensor {
  int dtype = -1;  // of aclDataType; -1 for a tensor that was left out
  std::vector<int64_t> sizes;
  int format = 0;
  void* start = nullptr;
};

using LegacyAttribute = std::variant<bool, int64_t, float, std::string, std::vector<int64_t>, std::vector<float>>;

struct LegacyCall {
  const char* name;
  std::vector<LegacyTensor> inputs;
  std::vector<LegacyTensor> outputs;
  const std::map<std::string, LegacyAttribute>& attributes;
};

// Gives 0, or another result code after npuport_set_recent_error.
using LegacyOperator = int (*)(const LegacyCall&);

// Called while the operators' library is loaded.
EXPORTED void npuport_register_legacy_operator(const char* name, LegacyOperator run);

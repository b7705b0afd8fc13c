// Reads the table of refused dtypes once and answers for one kernel. npuport/emulator/refusal_table.py writes the table
// and says what its columns are; NPUPORT_EMULATOR_DTYPE_CHECKS says for which kernels a refusal is more than counted.
#include "calling_convention.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace {

constexpr size_t TYPES = static_cast<size_t>(at::ScalarType::NumOptions);

const std::map<std::string, at::ScalarType>& types_by_name() {
  static const auto* types = new std::map<std::string, at::ScalarType>{
      {"DT_BOOL", at::kBool},        {"DT_UINT8", at::kByte},           {"DT_INT8", at::kChar},
      {"DT_INT16", at::kShort},      {"DT_INT32", at::kInt},            {"DT_INT64", at::kLong},
      {"DT_FLOAT16", at::kHalf},     {"DT_BFLOAT16", at::kBFloat16},    {"DT_FLOAT", at::kFloat},
      {"DT_DOUBLE", at::kDouble},    {"DT_COMPLEX64", at::kComplexFloat}, {"DT_COMPLEX128", at::kComplexDouble},
  };
  return *types;
}

// What one argument may not be: for each dtype that is refused, its counter and its name.
struct Argument {
  size_t position = 0;
  std::string name;
  std::string supported;
  std::array<Counter*, TYPES> counters{};
  std::array<const char*, TYPES> names{};
};

}  // namespace

struct Refusals {
  bool enforced = false;
  std::vector<Argument> arguments;
};

namespace {

bool enforced(const std::string& kind) {
  static const std::string checks = [] {
    const char* stated = std::getenv("NPUPORT_EMULATOR_DTYPE_CHECKS");
    return std::string(stated == nullptr ? "strict" : stated);
  }();
  return checks == "strict" || (checks == "losses" && kind == "loss");
}

Argument read_argument(const std::string& kernel, std::istringstream& columns) {
  Argument argument;
  std::string refused, type;
  columns >> argument.position >> argument.name >> refused >> argument.supported;
  for (std::istringstream types(refused); std::getline(types, type, ',');) {
    const auto found = types_by_name().find(type);
    if (found == types_by_name().end()) continue;
    const auto place = static_cast<size_t>(found->second);
    argument.counters[place] = npuport_counter(("refused." + kernel + "." + type).c_str());
    argument.names[place] = found->first.c_str();
  }
  return argument;
}

std::map<std::string, Refusals> read_table() {
  std::map<std::string, Refusals> table;
  const char* path = std::getenv("NPUPORT_EMULATOR_REFUSALS");
  if (path == nullptr) return table;
  std::ifstream file(path);
  if (!file) std::fprintf(stderr, "npuport: cannot read %s: the emulated device refuses no dtype\n", path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream columns(line);
    std::string kernel, kind;
    columns >> kernel >> kind;
    Refusals& refusals = table[kernel];
    refusals.enforced = enforced(kind);
    refusals.arguments.push_back(read_argument(kernel, columns));
  }
  return table;
}

}  // namespace

const Refusals* refusals_of(const char* kernel) {
  static const auto* table = new std::map<std::string, Refusals>(read_table());
  const auto found = table->find(kernel);
  return found == table->end() ? nullptr : &found->second;
}

bool refused(const Refusals& refusals, const std::vector<c10::ScalarType>& dtypes) {
  for (const Argument& argument : refusals.arguments) {
    if (argument.position >= dtypes.size()) continue;
    const auto place = static_cast<size_t>(dtypes[argument.position]);
    if (place >= TYPES || argument.counters[place] == nullptr) continue;
    npuport_count_event(argument.counters[place], 0);
    if (!refusals.enforced) return false;
    npuport_set_recent_error(("EZ1001: Tensor " + argument.name + " not implemented for " + argument.names[place] +
                              ", should be in dtype support list [" + argument.supported + ",].").c_str());
    return true;
  }
  return false;
}

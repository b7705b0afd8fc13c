#include "legacy_operators.h"

namespace {

constexpr int LEGACY_FAILED = 500000;  // ACL_ERROR_INTERNAL_ERROR

int failed(const LegacyCall& call, const char* reason) {
  npuport_set_recent_error((std::string(call.name) + ": " + reason).c_str());
  return LEGACY_FAILED;
}

}  // namespace

Tensor LegacyArguments::tensor(const LegacyTensor& described) {
  const at::ScalarType type = scalar_type_of(described.dtype);
  if (type == at::ScalarType::Undefined) return Tensor();
  return at::from_blob(described.start, described.sizes, at::TensorOptions(type));
}

void LegacyArguments::expect(const char* name, const std::string& value) const {
  TORCH_CHECK(attribute<std::string>(name) == value, name, " other than ", value, " is not emulated");
}

int run_legacy_operator(const LegacyCall& call, void (*body)(const LegacyArguments&)) {
  try {
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    body(LegacyArguments(call));
    return SUCCESS;
  } catch (const c10::Error& error) {
    return failed(call, error.what_without_backtrace());
  } catch (const std::exception& error) {
    return failed(call, error.what());
  }
}

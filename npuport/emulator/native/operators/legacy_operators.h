// Operators that torch_npu still calls through aclop, in the form of the others:
//
//     LEGACY_OPERATOR(DynamicRNN, {
//       const Tensor input = call.input(0);
//       call.write(0, ...);
//     })
#pragma once
#include "../runtime/legacy_operators.h"
#include "calling_convention.h"

class LegacyArguments {
 public:
  explicit LegacyArguments(const LegacyCall& call) : call_(call) {}

  // Undefined where it was left out.
  Tensor input(size_t place) const { return tensor(call_.inputs.at(place)); }
  void write(size_t place, const Tensor& result) const { tensor(call_.outputs.at(place)).copy_(result); }

  // Throws where the attribute is not there or of another type.
  template <class Type> const Type& attribute(const char* name) const {
    const auto found = call_.attributes.find(name);
    const Type* value = found == call_.attributes.end() ? nullptr : std::get_if<Type>(&found->second);
    TORCH_CHECK(value, "no attribute ", name, " of the type that it should have");
    return *value;
  }
  // Throws unless the attribute has the only value that is emulated.
  void expect(const char* attribute, const std::string& value) const;

 private:
  static Tensor tensor(const LegacyTensor& described);
  const LegacyCall& call_;
};

int run_legacy_operator(const LegacyCall& call, void (*body)(const LegacyArguments&));

#define LEGACY_OPERATOR(NAME, ...)                                                                              \
  static void NAME##_legacy_body(const LegacyArguments& call) __VA_ARGS__                                       \
  static int NAME##_legacy(const LegacyCall& call) { return run_legacy_operator(call, &NAME##_legacy_body); }   \
  __attribute__((constructor)) static void NAME##_register() {                                                  \
    npuport_register_legacy_operator(#NAME, &NAME##_legacy);                                                    \
  }

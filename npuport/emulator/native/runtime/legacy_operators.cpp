// Descriptions, buffers and attributes of the aclop interface, and the call that hands them to a registered operator. An
// operator that nobody registered fails by its name.
#include "legacy_operators.h"

#include <mutex>

#include "results.h"

namespace {

constexpr int kUndefined = -1;  // ACL_DT_UNDEFINED: an input that is left out

struct DataBuffer {
  void* start;
  size_t size;
};

using TensorDescription = LegacyTensor;

struct Attributes {
  std::map<std::string, LegacyAttribute> values;
};

struct Registered {
  LegacyOperator run;
  Counter* counter;
};

struct Registry {
  std::mutex lock;
  std::map<std::string, Registered> operators;
};

Registry& registry() {
  static auto* all = new Registry;
  return *all;
}

const Registered* find(const char* name) {
  Registry& all = registry();
  std::lock_guard<std::mutex> held(all.lock);
  const auto place = all.operators.find(name);
  return place == all.operators.end() ? nullptr : &place->second;
}

Result set(Attributes* attributes, const char* name, LegacyAttribute value) {
  attributes->values.insert_or_assign(name, std::move(value));
  return kSuccess;
}

template <class Description, class Buffer>
std::vector<LegacyTensor> tensors(int count, Description descriptions, Buffer buffers) {
  std::vector<LegacyTensor> all;
  for (int place = 0; place < count; place++) {
    all.push_back(*descriptions[place]);
    all.back().start = all.back().dtype == kUndefined ? nullptr : buffers[place]->start;
  }
  return all;
}

template <class Description, class Buffer>
Result run(const char* name, int input_count, Description input_descriptions, Buffer inputs, int output_count,
           Description output_descriptions, Buffer outputs, const Attributes* attributes) {
  const Registered* found = find(name);
  if (found == nullptr) return failed(kKernelNotFound, "emulated device: no kernel for the aclop operator %s", name);
  npuport_count(found->counter, 0);
  static const Attributes none;
  return found->run(LegacyCall{name, tensors(input_count, input_descriptions, inputs),
                               tensors(output_count, output_descriptions, outputs),
                               (attributes == nullptr ? none : *attributes).values});
}

}  // namespace

EXPORTED void npuport_register_legacy_operator(const char* name, LegacyOperator run) {
  Counter* counter = npuport_counter((std::string("kernel.") + name).c_str());
  Registry& all = registry();
  std::lock_guard<std::mutex> held(all.lock);
  all.operators[name] = Registered{run, counter};
}

EXPORTED TensorDescription* aclCreateTensorDesc(int dtype, int rank, const int64_t* sizes, int format) {
  return new TensorDescription{dtype, {sizes, sizes + rank}, format};
}
EXPORTED void aclDestroyTensorDesc(const TensorDescription* description) { delete description; }
EXPORTED int aclGetTensorDescType(const TensorDescription* description) { return description->dtype; }
EXPORTED int aclGetTensorDescFormat(const TensorDescription* description) { return description->format; }
EXPORTED size_t aclGetTensorDescNumDims(const TensorDescription* description) {
  return description->sizes.size();
}
EXPORTED Result aclGetTensorDescDimV2(const TensorDescription* description, size_t index, int64_t* size) {
  if (index >= description->sizes.size()) return failed(kInvalidParameter, "emulated device: no dimension %zu", index);
  *size = description->sizes[index];
  return kSuccess;
}
EXPORTED void aclSetTensorDescName(TensorDescription*, const char*) {}
EXPORTED Result aclSetTensorPlaceMent(TensorDescription*, int) { return kSuccess; }
// The format and shape in memory. There are no private formats here, so both are those of the description.
EXPORTED Result aclSetTensorFormat(TensorDescription*, int) { return kSuccess; }
EXPORTED Result aclSetTensorShape(TensorDescription*, int, const int64_t*) { return kSuccess; }

EXPORTED DataBuffer* aclCreateDataBuffer(void* start, size_t size) { return new DataBuffer{start, size}; }
EXPORTED Result aclDestroyDataBuffer(const DataBuffer* buffer) {
  delete buffer;
  return kSuccess;
}

EXPORTED Attributes* aclopCreateAttr() { return new Attributes; }
EXPORTED void aclopDestroyAttr(const Attributes* attributes) { delete attributes; }
EXPORTED Result aclopSetAttrBool(Attributes* attributes, const char* name, uint8_t value) {
  return set(attributes, name, value != 0);
}
EXPORTED Result aclopSetAttrInt(Attributes* attributes, const char* name, int64_t value) {
  return set(attributes, name, value);
}
EXPORTED Result aclopSetAttrFloat(Attributes* attributes, const char* name, float value) {
  return set(attributes, name, value);
}
EXPORTED Result aclopSetAttrString(Attributes* attributes, const char* name, const char* value) {
  return set(attributes, name, std::string(value));
}
EXPORTED Result aclopSetAttrDataType(Attributes* attributes, const char* name, int value) {
  return set(attributes, name, static_cast<int64_t>(value));
}
EXPORTED Result aclopSetAttrListBool(Attributes* attributes, const char* name, int count, const uint8_t* values) {
  return set(attributes, name, std::vector<int64_t>(values, values + count));
}
EXPORTED Result aclopSetAttrListInt(Attributes* attributes, const char* name, int count, const int64_t* values) {
  return set(attributes, name, std::vector<int64_t>(values, values + count));
}
EXPORTED Result aclopSetAttrListFloat(Attributes* attributes, const char* name, int count, const float* values) {
  return set(attributes, name, std::vector<float>(values, values + count));
}
// Lists of lists are dropped: no operator that is registered has one.
EXPORTED Result aclopSetAttrListListInt(Attributes*, const char*, int, const int*, const int64_t* const*) {
  return kSuccess;
}

EXPORTED Result aclopCompileAndExecute(const char* name, int input_count,
                                       const TensorDescription* const* input_descriptions,
                                       const DataBuffer* const* inputs, int output_count,
                                       const TensorDescription* const* output_descriptions,
                                       DataBuffer* const* outputs, const Attributes* attributes, int, int, const char*,
                                       void*) {
  return run(name, input_count, input_descriptions, inputs, output_count, output_descriptions,
             const_cast<const DataBuffer* const*>(outputs), attributes);
}
EXPORTED Result aclopCompileAndExecuteV2(const char* name, int input_count, TensorDescription** input_descriptions,
                                         DataBuffer** inputs, int output_count, TensorDescription** output_descriptions,
                                         DataBuffer** outputs, Attributes* attributes, int, int, const char*, void*) {
  return run(name, input_count, input_descriptions, inputs, output_count, output_descriptions, outputs, attributes);
}

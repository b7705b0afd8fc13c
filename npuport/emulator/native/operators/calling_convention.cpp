// What the operators' two C functions share.
#include "calling_convention.h"

#include <string>

Counter* counter_of(const char* kernel) { return npuport_counter((std::string("kernel.") + kernel).c_str()); }

static int fail(const Executor& executor, const char* reason) {
  npuport_set_recent_error((std::string(executor.kernel) + ": " + reason).c_str());
  return KERNEL_FAILED;
}

int run_operator(Executor* executor) {
  std::unique_ptr<Executor> owned(executor);
  npuport_count(owned->counter, 0);
  try {
    // torch_npu calls from below autograd; what the kernel makes must not be recorded by it again.
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    owned->run();
    return SUCCESS;
  } catch (const c10::Error& error) {
    return fail(*owned, error.what_without_backtrace());
  } catch (const std::exception& error) {
    return fail(*owned, error.what());
  }
}

void write_shaped(ShapedOutput out, const Tensor& result) {
  Tensor view = at::from_blob(out->tensor.data_ptr(), result.sizes(), out->tensor.options());
  view.copy_(result);
  out->tensor = view;
}

at::Generator generator(int64_t seed, int64_t offset) {
  return at::detail::createCPUGenerator(static_cast<uint64_t>(seed) * 1000003u + static_cast<uint64_t>(offset));
}

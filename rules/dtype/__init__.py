"""NPU2: dtypes that an NPU refuses, computes slowly, or computes as another one."""

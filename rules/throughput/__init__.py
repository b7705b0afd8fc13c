"""NPU9: what leaves the device idle: one environment, small batches, loops over time, gradients nobody needs."""

"""NPU4: copies from the host to the device, each of which is a launch of its own and often a wait."""

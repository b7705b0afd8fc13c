"""NPU3: reads to the host and fences, which make the host wait for the device."""

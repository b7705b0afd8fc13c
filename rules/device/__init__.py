"""NPU1: where code names, chooses or asks for a CUDA device."""

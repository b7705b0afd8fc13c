"""NPU7: communication backends, collectives and GPU resources."""

"""NPU5: mixed precision."""

"""NPU8: checkpoints and random state."""

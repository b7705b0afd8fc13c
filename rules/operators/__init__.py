"""NPU6: operators, packages and graphs that an NPU has not, or has differently."""

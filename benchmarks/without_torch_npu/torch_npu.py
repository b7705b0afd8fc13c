"""Makes a machine without torch_npu of one with it: first on the path, it cannot be imported."""

raise ImportError("No module named 'torch_npu'", name="torch_npu")

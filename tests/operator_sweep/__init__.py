"""Every operator of the emulated device, held against the CPU.

- ``tables``      one module a group of operators; its rows are what is run; a new module is found by being there
- ``rows``        a row: one call, over dtypes and inputs, forward and backward; random operators by their properties
- ``inputs``      the tensors that rows are run on: 0-dim, empty, non-contiguous, broadcast
- ``comparison``  what counts as a difference
- ``__main__``    runs rows in a process whose device is emulated, and says what happened, one JSON object a line

``tests/test_operator_sweep.py`` starts that process. By hand, where the emulated device is in the environment:
``python -m tests.operator_sweep [TABLE[/ROW]]...``.
"""

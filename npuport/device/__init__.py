"""Which device a script gets, and why: a real NPU, the emulated one, or the CPU.

- ``choice``     the device that ``run`` and ``validate`` take, and the environment of the child that runs on it
- ``installed``  what is installed for an interpreter: torch, torch_npu, CANN; read without importing any of it
- ``npu``        signs of a real NPU, and whether a tensor can be made on it, tried in a child process
- ``doctor``     all of it as a list of checks, for ``npuport doctor``

Nothing here imports torch. How the emulated device is built is ``npuport.emulator``'s.
"""

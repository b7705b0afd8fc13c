"""The emulated Ascend device: CANN's shared libraries, ours, under the real torch_npu.

Device memory is host memory, streams and events complete at once, operators run on ATen's CPU kernels. What runs on it
runs under torch_npu's front end on an emulated device; nothing here says how an Ascend processor would do.

- ``native/runtime``    C++ of libascendcl: device, streams, events, memory, copies, counters; knows nothing of torch
- ``native/operators``  C++ of libopapi: the aclnn kernels over ATen, and which dtypes they refuse
- ``build``             builds them on first use, against the torch of an interpreter; what state the build is in
- ``requirements``      what a build needs: platform, torch and torch_npu that pair
- ``compiler``          the C++ compiler: finding it, running it
- ``cache``             the folder of builds: one builder at a time, nothing half-made, old builds removed
- ``shared_libraries``  reading ELF files; ``missing_symbols`` what torch_npu links to and nobody defines
- ``refusal_table``     the dtypes that CANN refuses, from the operator facts
- ``environment``       the environment variables of a process that runs on the emulated device
- ``errors``            the one way in which all of this fails

Nothing here imports torch: builds and runs happen in processes of the interpreter that has it. Which device to take is
the business of ``npuport.device``, watching a script that of ``npuport.observe``.
"""

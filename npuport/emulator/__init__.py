"""The emulated Ascend device: CANN's shared libraries, ours, under the real torch_npu.

Device memory is host memory, streams and events complete at once, and operators run on ATen's CPU kernels. What runs on
it has passed torch_npu's front end (dispatch, dtypes, copies, allocator, streams); nothing is said of Ascend hardware.

- ``native/runtime``    C++ of ``libascendcl.so``: device, memory, streams, copies, counters; knows nothing of torch
- ``native/operators``  C++ of ``libopapi.so``: the aclnn operators over ATen, one file a group, and dtypes they refuse
- ``build``             compiles both against an installed torch, once, into the user's cache; tells its state
- ``requirements``      what a build needs: platform, torch and torch_npu that pair
- ``compiler``          the C++ compiler: finding it, running it
- ``cache``             the folder of builds: one builder at a time, nothing half-made, old builds removed
- ``shared_libraries``  reads ELF files; ``missing_symbols`` what torch_npu links to and nobody defines
- ``refusal_table``     the file of the dtypes that kernels refuse
- ``environment``       the environment in which a child process finds the libraries
- ``errors``            the one way in which all of this fails

Python in here never imports torch. Which device a script gets is ``npuport.device``'s choice, what happened on it is
counted by ``npuport.observe``.
"""

"""The built-in rules, one a file, in families; installed as ``npuport.rules``.

A rule's file is named after its code and name. Its docstring is its documentation page; its fixtures are
``fixtures/rules/<code>.py`` (and ``<code>.fixed.py``). To add a rule, add these files and nothing else:
``CONTRIBUTING.md`` has the recipe.

- ``source``      NPU0, the file itself
- ``device``      NPU1, device names, strings and the CUDA API
- ``dtype``       NPU2, bools, integers and float64 where floats are meant
- ``copies``      NPU4, copies from the host to the device
- ``host_reads``  NPU3, reads to the host and fences
- ``precision``   NPU5, mixed precision
- ``operators``   NPU6, operators, packages, graphs
- ``processes``   NPU7, backends, collectives, GPU resources
- ``state``       NPU8, checkpoints and random state
- ``throughput``  NPU9, what leaves the device idle

Shared analysis belongs in ``npuport.analysis``, shared rewriting in ``npuport.engine.rewriting``.
"""

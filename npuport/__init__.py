"""npuport moves GPU reinforcement-learning code (PyTorch) to Ascend NPU.

Rooms, from the top down; imports run downwards only (import-linter holds it):

- ``cli``       one module a command
- ``reports``   one module an output format
- ``engine``    rules and analysis make findings, findings make edits, edits make files
- ``analysis``  what the code means: names, device strings, branches; knows nothing of rules
- ``sources``   what to read: discovery, encodings, settings
- ``facts``     what torch_npu can do, by release

The rules live in the top-level folder ``rules`` (installed as ``npuport.rules``). Nothing in here
imports torch: an installed torch_npu without CANN makes ``import torch`` fail.
"""

__version__ = "0.1.0"

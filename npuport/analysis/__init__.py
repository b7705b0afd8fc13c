"""What the code means: names, device strings, branches. Knows nothing of rules, findings or edits.

- ``walk``            the one pass over a file's ``ast``: parents, scopes, indexed nodes
- ``names``           what a name stands for: imports, aliases, local rebinding
- ``module``          one file with all of this, as rules see it
- ``vocabulary``      the words of the field: device-like names, libraries that are not torch
- ``device_strings``  whether a string such as ``"cuda:0"`` is a device, text, or something else
- ``branches``        choices between devices, and code that already knows an NPU
- ``project``         what one file may need to know of the others
"""

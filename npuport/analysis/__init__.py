"""What the code means: names, device strings, branches. Knows nothing of rules, findings or edits.

- ``walk``            the one pass over a file's ``ast``: parents, scopes, indexed nodes
- ``names``           what a name stands for: imports, aliases, local rebinding
- ``module``          one file with all of this, as rules see it
- ``vocabulary``      the words of the field: device-like names, libraries that are not torch
- ``device_evidence`` what speaks for a value being a device
- ``device_roles``     what a device string is for: a value, a question, an accepted value
- ``string_classifier`` whether a string such as ``"cuda:0"`` is a device, text, or something else
- ``device_strings``  the device strings of a file
- ``environment``     what is done with an environment variable
- ``branches``        code that already knows an NPU, and what a test guards
- ``hand_ports``      what a hand port left beside CUDA's code without a branch around both
- ``choices``         the halves of a choice between devices
- ``cuda_api``        what kind of name a use of torch.cuda is
- ``accumulators``    numbers and lists that a loop adds to and nobody looks at before it ends
- ``project``         what one file may need to know of the others
"""

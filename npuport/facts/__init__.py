"""What torch_npu can do, by release: the shipped data files in ``data/`` and their look-ups.

- ``releases``  releases of torch_npu, in order
- ``pairs``     torch, torch_npu and CANN that go together
- ``api``       names of torch.cuda and environment variables, and their twins
- ``operators`` dtypes, limits and support of operators, as the vendor lists them
- ``refusals``  dtypes that CANN's kernels refuse beyond doubt
- ``kernels``   public names that end in an operator without kernel

``docs/operator_facts.py`` makes the file of the operators from the parsed tables, ``docs/kernel_facts.py`` that of the
kernels from the pages of CANN's operator libraries.

Facts only; what to do about them is the rules' business. The sources of each file are named inside it.
"""

"""What torch_npu can do, by release: the shipped data files in ``data/`` and their look-ups.

Facts only; what to do about them is the rules' business. The sources of each file are named inside it.
"""

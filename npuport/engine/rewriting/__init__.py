"""libcst transforms that several rules share: device strings, names below torch.cuda, imports, calls.

Each transform takes a libcst node and the writer of a style and gives the replacement. A transform that only
one rule needs lives in that rule's file.
"""

"""libcst transforms that several rules share: device strings, names below torch.cuda, imports, calls.

- ``strings``     device strings; ``questions`` comparisons with them; ``precedence`` parentheses around a result
- ``names``       names below ``torch.cuda``; ``imports`` the imports that bind them
- ``dtypes``      dtypes of constructors, casts
- ``amp``         autocast and gradient scalers
- ``environment`` environment variables
- ``creation``    tensors that are made where they are needed, batches and indices that are uploaded once
- ``uploads``     uploads through functions of ``helper_functions``, which fixes write into the file
- ``losses``, ``distributions``: what has no kernel, by what has one; ``masks`` assignments through a mask
- ``deferred_reads`` reads of the device that can wait until a loop ends; ``removal`` calls that go

Each transform takes a libcst node and the writer of a style and gives the replacement. A transform that only
one rule needs lives in that rule's file, unless it is long.
"""

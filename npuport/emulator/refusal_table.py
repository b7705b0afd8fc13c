"""The dtypes that the emulated kernels refuse, as the text file that ``native/operators/refusals.cpp`` reads.

One line an argument, six columns with a blank between: kernel, ``loss`` or ``other``, position in the C function, name
of the argument, the dtypes that are refused, the dtypes that are supported; dtypes as CANN names them, with commas:

    aclnnMseLoss loss 1 target DT_BOOL,DT_INT64,DT_DOUBLE DT_FLOAT,DT_FLOAT16,DT_BFLOAT16
"""

from __future__ import annotations

from npuport.facts.refusals import Refusal, refusals


def refusal_table() -> str:
    """The whole file."""
    return "".join(_line(refusal) for refusal in refusals())


def _line(refusal: Refusal) -> str:
    kind = "loss" if refusal.in_loss else "other"
    dtypes = (",".join(refusal.refused), ",".join(refusal.supported))
    return " ".join((refusal.kernel, kind, str(refusal.position), refusal.argument, *dtypes)) + "\n"

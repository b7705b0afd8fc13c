"""What an annotation says of a value."""

from __future__ import annotations

import ast

from npuport.analysis.flow.declarations import dotted_text
from npuport.analysis.flow.dtypes import ANY_DTYPE, ANYWHERE
from npuport.analysis.flow.evaluation import Evaluation
from npuport.analysis.flow.value import (
    A_BOOL,
    A_FLOAT,
    A_TEXT,
    AN_INT,
    CLASS,
    DEVICE,
    INSTANCE,
    LAYER,
    OPTIMIZER,
    UNKNOWN,
    Atom,
    Value,
    array,
    tensor,
)

_TENSOR = tensor(ANY_DTYPE, ANYWHERE)
_ARRAY = array(ANY_DTYPE)
_OPTIMIZER = Value(Atom(OPTIMIZER))
_BY_TEXT = {
    "torch.Tensor": _TENSOR,
    "th.Tensor": _TENSOR,
    "Tensor": _TENSOR,
    "np.ndarray": _ARRAY,
    "numpy.ndarray": _ARRAY,
    "float": A_FLOAT,
    "int": AN_INT,
    "bool": A_BOOL,
    "str": A_TEXT,
    "nn.Module": Value(Atom(LAYER)),
    "torch.nn.Module": Value(Atom(LAYER)),
    "torch.optim.Optimizer": _OPTIMIZER,
    "optim.Optimizer": _OPTIMIZER,
    "Optimizer": _OPTIMIZER,
    "torch.device": Value(Atom(DEVICE, devices=ANYWHERE)),
    "th.device": Value(Atom(DEVICE, devices=ANYWHERE)),
}


def value_of_annotation(run: Evaluation, annotation: ast.expr) -> Value:
    """The value of a parameter or name with an annotation; unknown where it says nothing that matters."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        text = annotation.value
    elif isinstance(annotation, ast.Name | ast.Attribute):
        text = dotted_text(annotation)
    else:
        return UNKNOWN
    known = _BY_TEXT.get(text)
    if known is not None:
        return known
    meant = run.knowledge.named_statically(run.file, text) if text.replace(".", "").isidentifier() else None
    declared = meant.get(CLASS) if meant is not None else None
    return Value(Atom(INSTANCE, refs=declared.refs)) if declared is not None else UNKNOWN

"""torch.utils.data: what data sets hold and loaders give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from npuport.analysis.flow.dtypes import BOOL, FLOAT64, INT64, ON_HOST
from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.joining import element_of, join_all
from npuport.analysis.flow.library.evaluation import Evaluation
from npuport.analysis.flow.value import (
    AN_INT,
    ARRAY,
    LOADER,
    MAPPING,
    NUMBER,
    NUMPY_SCALAR,
    SEQUENCE,
    TENSOR,
    UNKNOWN,
    Atom,
    Value,
    sequence,
    tensor,
)

_SAMPLERS: Final = frozenset({
    "RandomSampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler", "DistributedSampler",
})  # fmt: skip
_OF_NUMBERS: Final = {"float": FLOAT64, "int": INT64, "bool": BOOL}


def call(run: Evaluation, name: str, site: CallSite) -> Value:
    """What ``torch.utils.data.`` something gives."""
    if name == "DataLoader":
        return _loader(site)
    if name == "TensorDataset":
        return sequence(sequence(items=tuple(site.args)))
    if name == "Subset":
        return sequence(element_of(site.first))
    if name == "ConcatDataset":
        return sequence(element_of(element_of(site.first)))
    if name == "random_split":
        return sequence(sequence(element_of(site.first)))
    if name == "BatchSampler":
        return sequence(sequence(AN_INT))
    return sequence(AN_INT) if name in _SAMPLERS else UNKNOWN


def _loader(site: CallSite) -> Value:
    dataset = site.argument(0, "dataset")
    if dataset is None or "collate_fn" in site.keywords:
        return Value(Atom(LOADER))
    batch = _collated(element_of(dataset))
    return Value(Atom(LOADER, element=batch if batch else None))


def _collated(sample: Value) -> Value:
    """One batch, as ``default_collate`` builds it of samples: tensors in host memory."""
    return join_all(_collated_part(atom) for atom in sample.atoms.values())


def _collated_part(atom: Atom) -> Value:
    kind = atom.kind
    if kind in (TENSOR, ARRAY, NUMPY_SCALAR):
        return tensor(atom.dtypes, atom.devices or ON_HOST)
    if kind == NUMBER:
        return join_all(tensor(_OF_NUMBERS[name], ON_HOST) for name in atom.dtypes if name in _OF_NUMBERS)
    if kind == SEQUENCE:
        items = tuple(map(_collated, atom.items)) if isinstance(atom.items, tuple) else None
        return Value(atom.holding(_collated_element(atom), items))
    if kind == MAPPING:
        named = atom.items
        content = {key: _collated(value) for key, value in named.items()} if isinstance(named, Mapping) else None
        return Value(atom.holding(_collated_element(atom), content))
    return UNKNOWN


def _collated_element(atom: Atom) -> Value | None:
    return _collated(atom.element) if atom.element is not None else None

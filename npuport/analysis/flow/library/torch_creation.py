"""Functions of torch that make tensors of nothing or of data: ``zeros``, ``tensor``, ``FloatTensor`` ..."""

from __future__ import annotations

from typing import Final

from npuport.analysis.flow.dtypes import (
    ANY_DTYPE,
    ANYWHERE,
    FLOAT32,
    INT64,
    LEGACY_TENSORS,
    ON_ACCELERATOR,
    ON_HOST,
    devices_of_argument,
    dtypes_of_argument,
    dtypes_of_data,
    names_dtype,
    promote,
    together,
)
from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.joining import element_of, join
from npuport.analysis.flow.library.evaluation import Evaluation, LibraryCall
from npuport.analysis.flow.library.moves import goes_to_accelerator, moved
from npuport.analysis.flow.value import EMPTY, NONE, NUMBER, ROWS, SEQUENCE, TENSOR, UNKNOWN, Value, tensor

_DTYPE_OF_FACTORY: Final = {
    **dict.fromkeys(
        ("zeros", "ones", "empty", "rand", "randn", "eye", "linspace", "logspace", "normal", "empty_strided",
         "hann_window", "hamming_window"), FLOAT32),
    **dict.fromkeys(("randint", "randperm", "tril_indices", "triu_indices"), INT64),
}  # fmt: skip
_LIKE: Final = ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "full_like", "randint_like")
_FROM_DATA: Final = ("tensor", "as_tensor", "asarray", "from_numpy", "frombuffer", "scalar_tensor", "from_dlpack")
# These give their argument itself where it is a tensor already.
_PASS_TENSORS: Final = frozenset({"as_tensor", "asarray", "from_dlpack"})


def _options(site: CallSite) -> tuple[frozenset[str] | None, frozenset[str] | None]:
    """What ``dtype=`` and ``device=`` say."""
    keywords = site.keywords
    if not keywords:
        return None, None
    return dtypes_of_argument(keywords.get("dtype")), devices_of_argument(keywords.get("device"))


def _made(
    run: Evaluation,
    name: str,
    site: CallSite,
    dtypes: frozenset[str],
    devices: frozenset[str],
    marks: frozenset[str] = EMPTY,
) -> Value:
    result = tensor(dtypes, devices, run.origin(site.node), marks=marks)
    if run.recording:
        run.event("factory", site.node, result, name)
    return result


def _factory(run: Evaluation, name: str, site: CallSite) -> Value:
    dtypes, devices = _options(site)
    marks = frozenset({ROWS}) if name == "randperm" else EMPTY
    return _made(run, name, site, dtypes or _DTYPE_OF_FACTORY[name], devices or ON_HOST, marks)


def _normal(run: Evaluation, name: str, site: CallSite) -> Value:
    """``torch.normal`` of tensors stays on their device; of numbers and a size it is a factory.

    A tensor of standard deviations is asked whether all are positive, which reads it.
    """
    deviation = site.argument(1, "std")
    if deviation is not None and deviation.only(TENSOR) and not deviation.atoms[TENSOR].on_host:
        run.event("read", site.node, deviation, "torch.normal")
    tensors = [atom for atom in (value.get(TENSOR) for value in site.args) if atom is not None]
    if not tensors:
        return _factory(run, name, site)
    dtypes, devices = tensors[0].dtypes, tensors[0].devices
    for atom in tensors[1:]:
        dtypes, devices = promote(dtypes, atom.dtypes), devices | atom.devices
    return tensor(dtypes, together(devices), run.origin(site.node))


def _full(run: Evaluation, name: str, site: CallSite) -> Value:
    dtypes, devices = _options(site)
    if dtypes is None:
        dtypes = dtypes_of_data(site.argument(1, "fill_value"), numpy=False)
    return _made(run, name, site, dtypes, devices or ON_HOST)


def _arange(run: Evaluation, name: str, site: CallSite) -> Value:
    dtypes, devices = _options(site)
    return _made(run, name, site, dtypes or _arange_dtypes(site), devices or ON_HOST)


def _arange_dtypes(site: CallSite) -> frozenset[str]:
    bounds = [*site.args, *(site.keywords[key] for key in ("start", "end", "step") if key in site.keywords)]
    numbers = [value.get(NUMBER) for value in bounds]
    if any(number is not None and "float" in number.dtypes for number in numbers):
        return FLOAT32
    return INT64 if all(number is not None for number in numbers) else INT64 | ANY_DTYPE


def _like(run: Evaluation, name: str, site: CallSite) -> Value:
    model = (site.argument(0, "input") or UNKNOWN).get(TENSOR)
    dtypes, devices = _options(site)
    if model is None:
        return _made(run, name, site, dtypes or ANY_DTYPE, devices or ANYWHERE)
    return _made(run, name, site, dtypes or model.dtypes, devices or model.devices)


def _from_data(run: Evaluation, name: str, site: CallSite) -> Value:
    data = site.argument(0, "data") or UNKNOWN
    dtypes, devices = _options(site)
    if dtypes is None and len(site.args) > 1 and names_dtype(site.args[1]):
        dtypes = dtypes_of_argument(site.args[1])
    passed: Value | None = None
    atom = data.get(TENSOR) if name in _PASS_TENSORS else None
    if atom is not None:
        passed = moved(run, site.node, atom, devices, dtypes)
        others = [part for kind, part in data.atoms.items() if kind not in (TENSOR, NONE)]
        if not others:
            return passed
        data = Value(*others)
    return join(passed, _created(run, name, site, data, dtypes, devices))


def _created(
    run: Evaluation,
    name: str,
    site: CallSite,
    data: Value,
    dtypes: frozenset[str] | None,
    devices: frozenset[str] | None,
) -> Value:
    origin = run.origin(site.node)
    _note_reads(run, name, site, data)
    dtypes = dtypes if dtypes is not None else dtypes_of_data(data, numpy=False)
    result = tensor(dtypes, devices or ON_HOST, origin)
    if run.recording:
        run.event("create", site.node, data, name, (result,), site.keywords)
        if goes_to_accelerator(devices):
            run.event("upload", site.node, tensor(dtypes, ON_HOST, origin), "create")
    return result


def _note_reads(run: Evaluation, name: str, site: CallSite, data: Value) -> None:
    """``torch.tensor([loss, other_loss])`` reads each tensor of a list on the host."""
    listed = data.get(SEQUENCE)
    if listed is None or not data.only(SEQUENCE):
        return
    element = element_of(data)
    atom = element.get(TENSOR)
    if atom is not None and element.only(TENSOR) and not atom.on_host:
        run.event("read", site.node, element, f"torch.{name}")


def legacy(run: Evaluation, name: str, site: CallSite) -> Value:
    """``torch.FloatTensor`` and its kin, in host memory."""
    _, devices = _options(site)
    return _created(run, name, site, site.first, frozenset({LEGACY_TENSORS[name]}), devices)


def legacy_on_accelerator(run: Evaluation, name: str, site: CallSite) -> Value:
    """``torch.cuda.FloatTensor`` and its kin."""
    dtypes = frozenset({LEGACY_TENSORS[name]})
    result = tensor(dtypes, ON_ACCELERATOR, run.origin(site.node))
    if run.recording:
        run.event("create", site.node, site.first, name, (result,), site.keywords)
        run.event("upload", site.node, tensor(dtypes, ON_HOST, run.origin(site.node)), "legacy")
    return result


CREATION: Final[dict[str, LibraryCall]] = {
    **dict.fromkeys(_DTYPE_OF_FACTORY, _factory),
    **dict.fromkeys(_LIKE, _like),
    **dict.fromkeys(_FROM_DATA, _from_data),
    **dict.fromkeys(LEGACY_TENSORS, legacy),
    "normal": _normal,
    "full": _full,
    "arange": _arange,
    "range": lambda run, name, site: _made(run, name, site, _options(site)[0] or FLOAT32, _options(site)[1] or ON_HOST),
}

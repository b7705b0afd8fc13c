"""torch.nn and torch.optim: what their classes make, and what the objects do."""

from __future__ import annotations

from typing import Final

from npuport.analysis.flow.dtypes import (
    ANY_DTYPE,
    ANYWHERE,
    FLOAT32,
    ON_ACCELERATOR,
    ON_HOST,
    devices_of_argument,
    dtypes_of_argument,
    together,
)
from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.library import operators
from npuport.analysis.flow.library.evaluation import Evaluation
from npuport.analysis.flow.library.moves import CASTS, MOVES, target
from npuport.analysis.flow.value import (
    A_BOOL,
    A_TEXT,
    AN_INT,
    DEVICE,
    EMPTY,
    LAYER,
    LOSS,
    MAPPING,
    NOTHING,
    OPTIMIZER,
    RECURRENT,
    SCHEDULER,
    SEQUENCE,
    TENSOR,
    TEXT,
    UNKNOWN,
    Atom,
    Value,
    sequence,
    tensor,
)

_RETURN_PAIRS: Final = frozenset({"LSTM", "GRU", "RNN", "LSTMCell", "MultiheadAttention"})
_RECURRENT: Final = frozenset({"LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell"})  # their ``bias`` is a flag
_WRAPPERS: Final = frozenset({"DataParallel", "DistributedDataParallel", "SyncBatchNorm"})
_CONTAINERS: Final = frozenset({"ModuleList", "ModuleDict", "ParameterList", "ParameterDict"})
_LOSS_FUNCTIONS: Final = frozenset({
    "cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div",
})  # fmt: skip
_LOSS_ARGUMENTS: Final = ("input", "target")


def call(run: Evaluation, dotted: str, last: str, site: CallSite) -> Value:
    """What ``torch.nn.`` something gives."""
    if dotted.startswith("torch.nn.functional."):
        return _functional(run, last, site)
    if dotted.startswith("torch.nn.init."):
        return site.first
    if dotted.startswith("torch.nn.utils."):
        return _utility(run, dotted, last, site)
    if last in ("Parameter", "Buffer"):
        return _parameter(site)
    if last.endswith("Loss"):
        return Value(Atom(LOSS, refs=frozenset({last})))
    if last in _CONTAINERS:
        return _container(last, site)
    if last in _WRAPPERS and site.first:
        return site.first
    return _layer(last, site) if last[:1].isupper() and last != "Module" else UNKNOWN


def _layer(name: str, site: CallSite) -> Value:
    """A layer. Its device is unknown unless told: somebody may move the module that it is part of."""
    devices = devices_of_argument(site.keywords.get("device")) or EMPTY
    dtypes = dtypes_of_argument(site.keywords.get("dtype")) or EMPTY
    marks = frozenset({RECURRENT}) if name in _RETURN_PAIRS else EMPTY
    return Value(Atom(LAYER, dtypes, devices, refs=frozenset({name}), marks=marks))


def _container(name: str, site: CallSite) -> Value:
    """A list or dict of modules is a module, and what it holds."""
    held = site.first.get(SEQUENCE if name.endswith("List") else MAPPING)
    return Value(Atom(LAYER, refs=frozenset({name})), *((held,) if held is not None else ()))


def _parameter(site: CallSite) -> Value:
    atom = site.first.get(TENSOR)
    if atom is None:
        return tensor(ANY_DTYPE, ANYWHERE)
    return Value(atom.replaced(devices=ANYWHERE))


def is_loss_function(name: str) -> bool:
    """Whether a function of torch.nn.functional is a loss."""
    return name.endswith("_loss") or name in _LOSS_FUNCTIONS


def _functional(run: Evaluation, name: str, site: CallSite) -> Value:
    if not is_loss_function(name):
        return operators.apply(run, site.node, name, site.args, site.keywords) or UNKNOWN
    return _lost(run, name, site)


def _lost(run: Evaluation, name: str, site: CallSite) -> Value:
    arguments = (*site.args, *(site.keywords[key] for key in _LOSS_ARGUMENTS if key in site.keywords))
    if run.recording:
        run.event("loss", site.node, UNKNOWN, name, arguments, site.keywords)
    devices: frozenset[str] = EMPTY
    dtypes = FLOAT32
    for value in arguments:
        atom = value.get(TENSOR)
        if atom is not None:
            devices |= atom.devices
            if "float64" in atom.dtypes:
                dtypes = atom.dtypes
    return tensor(dtypes, together(devices))


def _utility(run: Evaluation, dotted: str, name: str, site: CallSite) -> Value:
    if name in ("clip_grad_norm_", "clip_grad_norm", "parameters_to_vector", "get_total_norm"):
        found = operators.tensors_within(site.first)
        return tensor(FLOAT32, found[0].devices if found else ANYWHERE)
    if name in ("spectral_norm", "weight_norm", "remove_spectral_norm", "remove_weight_norm", "orthogonal"):
        return site.first
    if name == "pad_sequence":
        found = operators.tensors_within(site.first)
        return Value(found[0]) if found else tensor(ANY_DTYPE, ANYWHERE)
    return NOTHING if name in ("clip_grad_value_", "vector_to_parameters") else UNKNOWN


def call_layer(run: Evaluation, atom: Atom, site: CallSite) -> Value:
    """What calling a layer gives: float32 without autocast or a cast, on the input's device where that is known."""
    devices = atom.devices or ANYWHERE
    for value in site.args:
        given = value.get(TENSOR)
        if given is not None:
            if given.devices and given.devices != ANYWHERE:
                devices = given.devices
            break
    result = tensor(run.autocast or atom.dtypes or FLOAT32, devices)
    return sequence(items=(result, UNKNOWN)) if RECURRENT in atom.marks else result


def call_loss(run: Evaluation, atom: Atom, site: CallSite) -> Value:
    """What calling a loss object gives."""
    return _lost(run, " ".join(sorted(atom.refs)), site)


# What a module of torch.nn answers, and so does a class of the program that inherits it.
_RETURN_SELF: Final = frozenset({
    "train", "eval", "requires_grad_", "apply", "share_memory", "type", "to_empty", "compile",
})  # fmt: skip
_NO_ANSWER: Final = frozenset({
    "zero_grad", "load_state_dict", "register_parameter", "add_module", "register_module", "reset_parameters",
    "flatten_parameters",
})  # fmt: skip


def layer_method(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value | None:
    """A method of a layer."""
    if name == "forward":
        return call_layer(run, atom, site)
    if name in CASTS:
        return Value(atom.replaced(dtypes=frozenset({CASTS[name]})))
    result = _module_method(run, atom, name, site)
    return result if result is not None else UNKNOWN


def instance_method(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value | None:
    """A method of nn.Module on an instance of a class of the program; None where nn.Module has no such method."""
    if name in CASTS:
        return Value(atom)
    if name == "register_buffer":
        return _register_buffer(run, atom, site)
    return _module_method(run, atom, name, site)


def _module_method(run: Evaluation, atom: Atom, name: str, site: CallSite) -> Value | None:
    if name == "to" or name in MOVES:
        return _move_module(run, atom, name, site)
    if name == "cpu":
        return Value(atom.replaced(devices=ON_HOST))
    if name in _RETURN_SELF:
        return Value(atom)
    if name in _NO_ANSWER:
        return NOTHING
    if name in ("parameters", "buffers"):
        return sequence(_parameter_of(atom))
    if name in ("named_parameters", "named_buffers"):
        return sequence(sequence(items=(A_TEXT, _parameter_of(atom))))
    if name == "state_dict":
        return Value(Atom(MAPPING, element=_parameter_of(atom)))
    if name in ("modules", "children"):
        return sequence()
    return None


def _parameter_of(atom: Atom) -> Value:
    return tensor(atom.dtypes or FLOAT32, atom.devices or ANYWHERE)


def _move_module(run: Evaluation, atom: Atom, name: str, site: CallSite) -> Value:
    devices, dtypes = (ON_ACCELERATOR, None) if name in MOVES else target(site)
    if devices is not None and run.recording:
        run.event("moved", site.node, Value(Atom(DEVICE, devices=devices)), name)
    if atom.kind != LAYER:
        dtypes = None
    return Value(atom.replaced(devices=devices, dtypes=dtypes))


def _register_buffer(run: Evaluation, atom: Atom, site: CallSite) -> Value:
    name, value = site.argument(0, "name"), site.argument(1, "tensor")
    text = name.get(TEXT) if name is not None else None
    if text is None or value is None:
        return NOTHING
    buffer = value.get(TENSOR)
    if buffer is not None:  # it moves with its module
        value = Value(buffer.replaced(devices=ANYWHERE))
    for class_key in atom.refs:
        for attribute in text.refs:
            run.set_attribute(class_key, attribute, value)
    return NOTHING


def layer_attribute(atom: Atom, name: str) -> Value | None:
    """An attribute of a layer."""
    if name == "bias" and not _RECURRENT.isdisjoint(atom.refs):
        return A_BOOL
    if name in ("weight", "bias"):
        return _parameter_of(atom)
    if name in ("in_features", "out_features", "in_channels", "out_channels", "hidden_size", "num_layers"):
        return AN_INT
    return A_BOOL if name == "training" else None


def make_optimizer(run: Evaluation, dotted: str, last: str, site: CallSite) -> Value:
    """What ``torch.optim.`` something gives."""
    if not last[:1].isupper():
        return UNKNOWN
    marks = frozenset({SCHEDULER}) if ".lr_scheduler." in dotted else EMPTY
    return Value(Atom(OPTIMIZER, refs=frozenset({last}), marks=marks))


def optimizer_method(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value | None:
    """A method of an optimiser or of a scheduler."""
    if name == "step":
        if SCHEDULER not in atom.marks:
            run.event("update", site.node)
        return NOTHING
    return NOTHING if name in ("zero_grad", "load_state_dict", "add_param_group") else UNKNOWN

"""Which table answers: by the package of a function, by the kind of a method's receiver."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final, TypeAlias

from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.library import (
    array_methods,
    containers,
    distributions,
    environments,
    layers,
    numpy_functions,
    python_functions,
    standard_library,
    tensor_methods,
    torch_functions,
)
from npuport.analysis.flow.library.evaluation import Evaluation, MethodCall
from npuport.analysis.flow.value import (
    A_BOOL,
    A_FLOAT,
    ARRAY,
    DISTRIBUTION,
    ENVIRONMENT,
    INSTANCE,
    LAYER,
    LOADER,
    LOSS,
    MAPPING,
    NUMPY,
    NUMPY_SCALAR,
    OPTIMIZER,
    SEQUENCE,
    TENSOR,
    TEXT,
    UNKNOWN,
    Atom,
    Value,
)

_Call: TypeAlias = Callable[[Evaluation, str, CallSite], Value]
_Attribute: TypeAlias = Callable[[Evaluation, Atom, str, ast.AST], "Value | None"]


def call_library(run: Evaluation, dotted: str, call: CallSite) -> Value:
    """What a call of a library's function or class gives, by its full dotted name."""
    package = _PACKAGES.get(dotted.partition(".")[0])
    return package(run, dotted, call) if package is not None else _other(run, dotted, call)


def call_method(run: Evaluation, atom: Atom, receiver: Value, name: str, call: CallSite) -> Value | None:
    """What a method gives on one part of its receiver; None where such a part has no such method.

    For an instance of a class of the program, only what nn.Module defines is known here.
    """
    methods = _METHODS.get(atom.kind)
    return methods(run, atom, receiver, name, call) if methods is not None else None


def attribute(run: Evaluation, atom: Atom, name: str, node: ast.AST) -> Value | None:
    """What an attribute of one part of a value is; None where it has none that is known."""
    attributes = _ATTRIBUTES.get(atom.kind)
    return attributes(run, atom, name, node) if attributes is not None else None


def call_object(run: Evaluation, atom: Atom, call: CallSite) -> Value | None:
    """What calling a layer or a loss gives; None for other kinds."""
    if atom.kind == LAYER:
        return layers.call_layer(run, atom, call)
    return layers.call_loss(run, atom, call) if atom.kind == LOSS else None


def instance_of_library(run: Evaluation, bases: frozenset[str], call: CallSite) -> Value:
    """What an instance of a class that inherits these classes is besides; nothing where they are not known."""
    if any(base.endswith(("Env", "Wrapper")) for base in bases):
        return Value(Atom(ENVIRONMENT))
    distribution = distributions.inherited(bases)
    return distributions.make(run, distribution, call) if distribution else UNKNOWN


def constant(dotted: str) -> Value | None:
    """The value of a constant of a library such as ``math.pi``; None for other names."""
    return _CONSTANTS.get(dotted)


_CONSTANTS: Final = {
    **dict.fromkeys(
        (package + "." + name for package in ("math", "numpy", "torch") for name in ("pi", "e", "inf", "nan")), A_FLOAT
    ),
    "math.tau": A_FLOAT,
    "numpy.newaxis": UNKNOWN,
    "numpy.Inf": A_FLOAT,
    "numpy.NaN": A_FLOAT,
}


def _last(dotted: str) -> str:
    return dotted.rpartition(".")[2]


def _builtins(run: Evaluation, dotted: str, call: CallSite) -> Value:
    name = _last(dotted)
    if name == "map":
        return python_functions.call_map(run, call, call_library)
    return python_functions.call_builtin(run, name, call)


def _collections(run: Evaluation, dotted: str, call: CallSite) -> Value:
    return standard_library.call_collections(run, _last(dotted), call, call_library)


def _dataclasses(run: Evaluation, dotted: str, call: CallSite) -> Value:
    return standard_library.call_dataclasses(run, _last(dotted), call, call_library)


def _random(run: Evaluation, dotted: str, call: CallSite) -> Value:
    return standard_library.call_random(run, _last(dotted), call)


def _math(run: Evaluation, dotted: str, call: CallSite) -> Value:
    return standard_library.call_math(run, _last(dotted), call)


def _itertools(run: Evaluation, dotted: str, call: CallSite) -> Value:
    return standard_library.call_itertools(run, _last(dotted), call)


def _heapq(run: Evaluation, dotted: str, call: CallSite) -> Value:
    return standard_library.call_heapq(run, _last(dotted), call)


def _functools(run: Evaluation, dotted: str, call: CallSite) -> Value:
    if dotted == "functools.reduce":
        return standard_library.reduced(run, call)
    return call.first if dotted in standard_library.PASSING else UNKNOWN


def _typing(run: Evaluation, dotted: str, call: CallSite) -> Value:
    if dotted == "typing.cast":
        return call.args[1] if len(call.args) > 1 else UNKNOWN
    return standard_library.class_of_namedtuple(call) if dotted == "typing.NamedTuple" else UNKNOWN


def _torch_npu(run: Evaluation, dotted: str, call: CallSite) -> Value:
    """``torch_npu.npu`` is ``torch.npu``."""
    if dotted.startswith("torch_npu.npu."):
        return torch_functions.call(run, dotted.replace("torch_npu", "torch", 1), call)
    return _other(run, dotted, call)


def _other(run: Evaluation, dotted: str, call: CallSite) -> Value:
    """A library without a table; its calls are reported."""
    if dotted in standard_library.PASSING:
        return call.first
    result = standard_library.OTHERS.get(dotted, UNKNOWN)
    if run.recording:
        run.event("call", call.node, result, dotted, tuple(call.args), call.keywords)
    return result


_PACKAGES: Final[dict[str, _Call]] = {
    "torch": torch_functions.call,
    "torch_npu": _torch_npu,
    "numpy": numpy_functions.call,
    "gymnasium": environments.call,
    "gym": environments.call,
    "builtins": _builtins,
    "collections": _collections,
    "dataclasses": _dataclasses,
    "random": _random,
    "math": _math,
    "itertools": _itertools,
    "heapq": _heapq,
    "functools": _functools,
    "typing": _typing,
}


def _numpy_method(run: Evaluation, atom: Atom, receiver: Value, name: str, call: CallSite) -> Value | None:
    if environments.is_space(atom):
        return environments.space_method(run, atom, receiver, name, call)
    return numpy_functions.SOMETHING


def _numpy_attribute(run: Evaluation, atom: Atom, name: str, node: ast.AST) -> Value | None:
    if environments.is_space(atom):
        return environments.space_attribute(run, atom, name, node)
    return numpy_functions.SOMETHING


def _loader_method(run: Evaluation, atom: Atom, receiver: Value, name: str, call: CallSite) -> Value | None:
    return UNKNOWN


def _layer_attribute(run: Evaluation, atom: Atom, name: str, node: ast.AST) -> Value | None:
    return layers.layer_attribute(atom, name)


def _instance_attribute(run: Evaluation, atom: Atom, name: str, node: ast.AST) -> Value | None:
    return A_BOOL if name == "training" else None


def _distribution_attribute(run: Evaluation, atom: Atom, name: str, node: ast.AST) -> Value | None:
    return distributions.attribute(atom, name)


_METHODS: Final[dict[str, MethodCall]] = {
    TENSOR: tensor_methods.call,
    ARRAY: array_methods.call,
    NUMPY_SCALAR: array_methods.call,
    NUMPY: _numpy_method,
    SEQUENCE: containers.sequence_method,
    MAPPING: containers.mapping_method,
    TEXT: containers.text_method,
    LAYER: layers.layer_method,
    INSTANCE: layers.instance_method,
    DISTRIBUTION: distributions.method,
    OPTIMIZER: layers.optimizer_method,
    ENVIRONMENT: environments.method,
    LOADER: _loader_method,
}
_ATTRIBUTES: Final[dict[str, _Attribute]] = {
    TENSOR: tensor_methods.attribute,
    ARRAY: array_methods.attribute,
    NUMPY_SCALAR: array_methods.attribute,
    NUMPY: _numpy_attribute,
    SEQUENCE: containers.sequence_attribute,
    MAPPING: containers.mapping_attribute,
    LAYER: _layer_attribute,
    INSTANCE: _instance_attribute,
    DISTRIBUTION: _distribution_attribute,
    ENVIRONMENT: environments.attribute,
}

"""Calls: of functions, methods and classes of the program, of libraries, and of what nobody knows."""

from __future__ import annotations

import ast

from npuport.analysis.flow.attributes import attribute
from npuport.analysis.flow.declarations import function_value
from npuport.analysis.flow.dtypes import ANY_DTYPE, ANYWHERE
from npuport.analysis.flow.evaluation import Evaluation
from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.joining import element_of, join
from npuport.analysis.flow.library.dispatch import call_library, call_method, call_object
from npuport.analysis.flow.library.environments import step_result
from npuport.analysis.flow.library.tensor_methods import method_proves_tensor, moved_unknown, weak_method
from npuport.analysis.flow.program_calls import (
    call_function,
    call_functions,
    call_instance,
    instantiate,
    map_functions,
)
from npuport.analysis.flow.value import (
    CLASS,
    ENVIRONMENT,
    FUNCTION,
    INSTANCE,
    LAYER,
    LIBRARY,
    LOSS,
    MAPPING,
    NOTHING,
    OPTIMIZER,
    SEQUENCE,
    SPREAD,
    TENSOR,
    UNKNOWN,
    Atom,
    Value,
    array,
)
from npuport.analysis.flow.vocabulary import (
    CLOCK_NAME,
    COMMON_METHODS,
    ENVIRONMENT_NAME,
    FENCE_RECEIVER,
    FENCES,
    LEARNER_NAME,
    OPTIMIZER_NAME,
    STORING_METHODS,
    UPDATE_METHOD,
)

# More methods of one name than this say nothing of which is called.
_MOST_CANDIDATES = 3
_SOME_TENSOR = Atom(TENSOR, ANY_DTYPE, ANYWHERE)
_CASTS = frozenset({"float", "long", "double", "half", "bool", "int", "byte", "bfloat16"})


def evaluate_call(run: Evaluation, node: ast.Call) -> Value:
    """The value of a call."""
    unpacked, run.unpacked = run.unpacked, 0
    function = node.func
    receiver: Value | None = None
    if isinstance(function, ast.Attribute):
        receiver = run.evaluate(function.value)
        if _is_super(function.value):  # what the base class is called on is the instance itself
            receiver = run.names.get(run.function.self_name or "", UNKNOWN)
        called = _attribute_called(run, function, receiver)
    else:
        called = run.evaluate(function)
    site = _arguments(run, node)
    run.unpacked = unpacked
    try:
        return _call(run, site, called, receiver)
    finally:
        run.unpacked = 0


def _attribute_called(run: Evaluation, node: ast.Attribute, receiver: Value) -> Value:
    base = node.value
    if isinstance(base, ast.Name):
        known = run.names.get(f"{base.id}.{node.attr}")
        if known is not None:
            return known
    elif _is_super(base) and run.function.owner is not None:
        for declared in run.knowledge.lineage(run.function.owner)[1:]:
            if node.attr in declared.methods:
                return function_value(declared.methods[node.attr])
        return UNKNOWN
    return attribute(run, receiver, node.attr, node) if receiver else _unknown_attribute(run, node)


def _unknown_attribute(run: Evaluation, node: ast.Attribute) -> Value:
    """A callable that an attribute of exactly one class holds: ``x.net(obs)``."""
    value = attribute(run, UNKNOWN, node.attr, node)
    return value if value.only(LAYER, INSTANCE, LOSS) else UNKNOWN


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _arguments(run: Evaluation, node: ast.Call) -> CallSite:
    args: list[Value] = []
    for argument in node.args:
        if not isinstance(argument, ast.Starred):
            args.append(run.evaluate(argument))
            continue
        value = run.evaluate(argument.value)
        atom = value.get(SEQUENCE)
        if atom is not None and isinstance(atom.items, tuple):
            args += atom.items
        else:
            args.append(Value(Atom(SPREAD, element=element_of(value))))
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = run.evaluate(keyword.value)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
            continue
        mapping = value.get(MAPPING)
        if mapping is not None and isinstance(mapping.items, dict):
            for name, item in mapping.items.items():
                keywords.setdefault(name, item)
    return CallSite(node, args, keywords)


def last_name(node: ast.expr) -> str:
    """The last name of an expression: ``optimizer`` of ``self.optimizer``, calls and subscripts looked through."""
    while True:
        if isinstance(node, ast.Attribute):
            return node.attr
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            return ""


def _call(run: Evaluation, site: CallSite, called: Value, receiver: Value | None) -> Value:
    name = site.node.func.attr if isinstance(site.node.func, ast.Attribute) else ""
    if receiver is not None and name in ("step", "recv", "reset", "backward"):
        special = _step_or_update(run, site, receiver, name)
        if special is not None:
            return special
    result: Value | None = None
    known = False
    for atom in called.atoms.values():
        value = _call_atom(run, site, atom, receiver)
        if value is not None:
            known, result = True, join(result, value)
    if receiver is not None:
        for atom in receiver.atoms.values():
            if atom.kind == INSTANCE and called:
                continue  # the program's own method
            value = call_method(run, atom, receiver, name, site)
            if value is not None:
                known, result = True, join(result, value)
        if not known:
            return _call_unknown_method(run, site, receiver, name)
    return result if result is not None else UNKNOWN


def _is_network(run: Evaluation, instance: Atom) -> bool:
    """Whether an instance of a class of the program is a module of torch."""
    knowledge = run.knowledge
    keys = [key for key in instance.refs if key in knowledge.classes]
    return any(base.startswith("torch.nn.") for key in keys for base in knowledge.library_bases(key))


# Environments, optimisers and losses, known by what they are or by how they are called


def _step_or_update(run: Evaluation, site: CallSite, receiver: Value, name: str) -> Value | None:
    """The value of ``env.step``, ``optimizer.step`` and ``loss.backward``; None where it is another call."""
    node = site.node
    assert isinstance(node.func, ast.Attribute)
    called = last_name(node.func.value)
    if name == "backward":
        run.event("backward", node, receiver)
        if TENSOR not in receiver.atoms:
            run.prove_tensor(node.func.value, Value(_SOME_TENSOR))
        return NOTHING
    environment = receiver.get(ENVIRONMENT)
    named = ENVIRONMENT_NAME.search(called) is not None
    if environment is not None or (named and OPTIMIZER not in receiver.atoms and name != "backward"):
        if name in ("step", "recv"):
            run.event("step", node, receiver, name, tuple(site.args))
        if INSTANCE not in receiver.atoms:
            return step_result(run, environment, site, called)
        return None
    if name == "step" and _is_optimizer(receiver, called, site):
        run.event("update", node, receiver)
        return NOTHING
    return None


def _is_optimizer(receiver: Value, called: str, site: CallSite) -> bool:
    if OPTIMIZER in receiver.atoms:
        return "scheduler" not in next(iter(receiver.atoms.values())).marks and "sched" not in called
    if INSTANCE in receiver.atoms or CLOCK_NAME.search(called):
        return False
    return OPTIMIZER_NAME.search(called) is not None or (not site.args and bool(called))


# Callables


def _call_atom(run: Evaluation, site: CallSite, atom: Atom, receiver: Value | None) -> Value | None:
    kind = atom.kind
    if kind == FUNCTION:
        return call_functions(run, site, atom)
    if kind == CLASS:
        result: Value | None = None
        for ref in atom.refs:
            result = join(result, instantiate(run, site, ref))
        return result
    if kind == INSTANCE:
        result = call_instance(run, site, atom)
        if any(
            base.startswith("torch.nn.")
            for ref in atom.refs
            if ref in run.knowledge.classes
            for base in run.knowledge.library_bases(ref)
        ):
            run.event("forward", site.node, result or UNKNOWN, values=tuple(site.args))
        return result
    if kind == LIBRARY:
        result = None
        for ref in atom.refs:
            value = map_functions(run, site) if ref == "builtins.map" else None
            result = join(result, value if value is not None else call_library(run, ref, site))
        return result
    result = call_object(run, atom, site)
    if kind == LAYER:
        run.event("forward", site.node, result or UNKNOWN, values=tuple(site.args))
    return result


# Unknown receivers


def _call_unknown_method(run: Evaluation, site: CallSite, receiver: Value, name: str) -> Value:
    """A method of a value of which nothing is known: what the name alone says."""
    node = site.node
    assert isinstance(node.func, ast.Attribute)
    if receiver and not receiver.only("none"):
        return UNKNOWN
    if name in FENCES and FENCE_RECEIVER.search(last_name(node.func.value)):
        run.event("fence", node, how=name)
        return NOTHING
    if method_proves_tensor(name) or weak_method(name):
        some = Value(_SOME_TENSOR)
        if method_proves_tensor(name):
            run.prove_tensor(node.func.value, some)
        # .item() may be NumPy's: the read is told with what is known, which is nothing.
        return call_method(run, _SOME_TENSOR, UNKNOWN if name == "item" else some, name, site) or UNKNOWN
    if name == "to" and (site.args or site.keywords):
        return moved_unknown(run, site)
    if name in _CASTS:
        return call_method(run, _SOME_TENSOR, UNKNOWN, name, site) or UNKNOWN
    if name in COMMON_METHODS:
        return _call_common_method(run, site, name)
    run.knowledge.read(run.function, "methods", run.scope.component, name)
    candidates = [] if name.startswith("__") else run.knowledge.methods_named(run.file, name)
    if 0 < len(candidates) <= _MOST_CANDIDATES:
        result: Value | None = None
        for candidate in candidates:
            result = join(result, call_function(run, site, candidate, weak=True))
        return result if result is not None else UNKNOWN
    if not candidates and UPDATE_METHOD.match(name) and _may_learn(site, name):
        run.event("update", node, UNKNOWN, "name")
    if name in STORING_METHODS:
        run.event("push", node, UNKNOWN, name, tuple(site.args))
    return UNKNOWN


def _may_learn(site: CallSite, name: str) -> bool:
    """Whether a method that is called like an update may be one: ``config.update({...})`` is none."""
    function = site.node.func
    return not name.startswith("update") or (
        isinstance(function, ast.Attribute) and LEARNER_NAME.search(last_name(function.value)) is not None
    )


def _call_common_method(run: Evaluation, site: CallSite, name: str) -> Value:
    if name in ("append", "add"):
        run.event("push", site.node, UNKNOWN, name, tuple(site.args))
    if name in ("tolist", "numpy"):
        run.event("read", site.node, UNKNOWN, name)
    if name == "numpy":
        return array(ANY_DTYPE)
    return UNKNOWN

"""Checkpoints: what ``torch.load`` gives and where it goes, and what has a state to save."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from npuport.analysis.device_evidence import called_name, class_of, has_method, target_name, targets_of
from npuport.analysis.module import Module
from npuport.analysis.vocabulary import words_of
from npuport.analysis.walk import Binding


class Sink(Enum):
    """What is done with what was loaded."""

    MODULE = "module"  # copied into a module, a scheduler or a scaler by load_state_dict
    OPTIMIZER = "optimizer"  # taken over by an optimizer's load_state_dict
    MOVED = "moved"  # moved to a device by the code itself
    MOVED_DEEP = "moved deep"  # every tensor in it is moved, by a function that calls itself
    OTHER = "other"  # anything else


@dataclass(frozen=True)
class Load:
    """One call of ``torch.load``.

    Attributes:
        call: the call.
        map_location: where tensors are put; None where it is left out or None.
        pickled: a pickle module is given: the file may hold anything.
        sinks: what is done with the result, as far as this file shows.
    """

    call: ast.Call
    map_location: ast.expr | None
    pickled: bool
    sinks: frozenset[Sink]

    @property
    def only_copied(self) -> bool:
        """Whether all that was loaded is copied or moved to where it belongs, so that it may come from the CPU."""
        return Sink.OTHER not in self.sinks


_MOVERS = ("to", "cuda", "npu", "cpu")
# Methods that give a part of what was loaded, or the same in another form.
_PARTS = ("get", "pop", "state_dict", "copy", "eval", "float")
# These look and leave nothing behind.
_LOOKS = ("keys", "__contains__")
_LOOKING_CALLS = ("print", "len", "isinstance", "hasattr", "type")

_OPTIMIZER_WORDS = frozenset({"opt", "opts", "optim", "optims", "optimizer", "optimizers", "optimiser", "optimisers"})


def loads(module: Module) -> list[Load]:
    """The calls of ``torch.load`` by that name in a file, in source order; shared.

    Calls with ``**options`` are left out.
    """
    found = module.memo.get("loads")
    if found is None:
        found = module.memo["loads"] = list(_find(module))
    return found  # type: ignore[return-value]


def _find(module: Module) -> Iterator[Load]:
    for reference in module.references:
        call = module.parent(reference.node)
        if reference.dotted not in ("torch.load", "torch.serialization.load") or not isinstance(call, ast.Call):
            continue
        named = called_name(call) == "load" and call.func is reference.node
        if named and all(keyword.arg for keyword in call.keywords):
            pickled = len(call.args) > 2 or any(keyword.arg == "pickle_module" for keyword in call.keywords)
            yield Load(call, _map_location(call), pickled, frozenset(_Uses(module).sinks(call)))


def _map_location(call: ast.Call) -> ast.expr | None:
    given = call.args[1] if len(call.args) > 1 else None
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "map_location"), given)
    return None if isinstance(given, ast.Constant) and given.value is None else given


class _Uses:
    """Follows a value through names, subscripts and calls to what is done with it."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._seen: set[ast.AST] = set()

    def sinks(self, node: ast.expr) -> Iterator[Sink]:
        """What is done with the value of ``node``."""
        if node in self._seen:
            return
        self._seen.add(node)
        parent = self._module.parent(node)
        if isinstance(parent, ast.Call) and node in parent.args:
            yield from self._argument(parent, node)
        elif isinstance(parent, ast.keyword):
            call = self._module.parent(parent)
            if isinstance(call, ast.Call):
                yield from self._argument(call, node)
        elif isinstance(parent, ast.Attribute):
            yield from self._method(parent)
        elif isinstance(parent, ast.Subscript | ast.IfExp | ast.BoolOp | ast.Await) and node is not _test(parent):
            yield from self.sinks(parent)
        elif isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr):
            for target in [parent.target] if isinstance(parent, ast.NamedExpr) else targets_of(parent):
                yield from self._assigned(target)
            if isinstance(parent, ast.NamedExpr):
                yield from self.sinks(parent)
        elif not isinstance(parent, ast.Expr | ast.Compare | ast.If | ast.Assert | ast.Delete | ast.FormattedValue):
            yield Sink.OTHER

    def _argument(self, call: ast.Call, node: ast.expr) -> Iterator[Sink]:
        name = called_name(call)
        if name == "load_state_dict" and isinstance(call.func, ast.Attribute):
            yield _sink_of_state(self._module, call.func.value)
        elif node in call.args and _moves_every_tensor(self._module, call):
            yield Sink.MOVED_DEEP
            yield from self.sinks(call)
        elif name not in _LOOKING_CALLS:
            yield Sink.OTHER

    def _method(self, attribute: ast.Attribute) -> Iterator[Sink]:
        call = self._module.parent(attribute)
        if not isinstance(call, ast.Call) or call.func is not attribute:
            yield Sink.OTHER
        elif attribute.attr in _MOVERS:
            yield Sink.MOVED
        elif attribute.attr in _PARTS:
            yield from self.sinks(call)
        elif attribute.attr not in _LOOKS:
            yield Sink.OTHER

    def _assigned(self, target: ast.expr) -> Iterator[Sink]:
        if isinstance(target, ast.Name):
            for use in self._module.index.names.get(target.id, ()):
                if target in (binding.node for binding in self._module.names.bindings(target.id, use)):
                    yield from self.sinks(use)
        elif isinstance(target, ast.Attribute):
            yield Sink.OTHER  # other files may read it
            for read in self._module.index.attributes.get(target.attr, ()):
                if read is not target and isinstance(read.ctx, ast.Load):
                    yield from self.sinks(read)
        else:
            yield Sink.OTHER


def _sink_of_state(module: Module, owner: ast.expr) -> Sink:
    """What ``load_state_dict`` of ``owner`` does; a method of the program's own may keep what it is given."""
    if is_optimizer(module, owner):
        return Sink.OPTIMIZER
    return Sink.OTHER if has_method(module, owner, "load_state_dict") else Sink.MODULE


def _test(parent: ast.AST) -> ast.AST | None:
    """What a node only asks: the index of a subscript, the condition of a choice."""
    if isinstance(parent, ast.Subscript):
        return parent.slice
    return parent.test if isinstance(parent, ast.IfExp) else None


def _moves_every_tensor(module: Module, call: ast.Call) -> bool:
    """Whether a function of this file is called that calls itself on the parts of its argument and moves tensors."""
    if not isinstance(call.func, ast.Name | ast.Attribute):
        return False
    name = called_name(call)
    for function in module.index.functions:
        if function.name == name:
            calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
            again = any(called_name(inner) == name for inner in calls)
            return again and any(called_name(inner) in ("to", "cuda", "npu") for inner in calls)
    return False


def is_optimizer(module: Module, value: ast.expr) -> bool:
    """Whether a value is an optimizer: by its name, or because torch.optim makes it."""
    name = target_name(value) or ""
    if not _OPTIMIZER_WORDS.isdisjoint(words_of(name)):
        return True
    made = [(module.resolve(maker) or "").split(".") for maker in _makers(module, value)]
    return any(parts[:2] == ["torch", "optim"] and "lr_scheduler" not in parts for parts in made)


def is_module(module: Module, value: ast.expr) -> bool:
    """Whether a value is known to be an ``nn.Module``: made by torch.nn, or of a class of this file that is one."""
    owner = class_of(module, value)
    if owner is not None:
        return any((module.resolve(base) or "").startswith("torch.nn.") for base in owner.bases)
    makers = _makers(module, value)
    return bool(makers) and all(_makes_module(module, maker) for maker in makers)


def _makes_module(module: Module, maker: ast.expr) -> bool:
    dotted = module.resolve(maker) or ""
    if dotted.startswith("torch.nn.") and dotted.rpartition(".")[2][:1].isupper():
        return True
    owner = class_of(module, ast.Call(maker, [], [])) if isinstance(maker, ast.Name) else None
    return owner is not None and any((module.resolve(base) or "").startswith("torch.nn.") for base in owner.bases)


def _makers(module: Module, value: ast.expr) -> list[ast.expr]:
    """What is called to make each value that a name or attribute gets: ``Net`` of ``Net(4).to(device)``."""
    values: list[ast.expr | None] = [value]
    if isinstance(value, ast.Name):
        values = [binding.value for binding in _bindings(module, value)]
    elif isinstance(value, ast.Attribute):
        statements = [s for s in module.index.assignments if value.attr in map(target_name, targets_of(s))]
        values = [statement.value for statement in statements]
    makers = [_maker(made) for made in values]
    return [maker for maker in makers if maker is not None] if None not in makers else []


def _bindings(module: Module, name: ast.Name) -> list[Binding]:
    return module.names.bindings(name.id, name)


def _maker(value: ast.expr | None) -> ast.expr | None:
    while isinstance(value, ast.Call):
        function = value.func
        if isinstance(function, ast.Attribute) and function.attr in (*_MOVERS, "eval", "train", "float"):
            value = function.value
        else:
            return function
    return None

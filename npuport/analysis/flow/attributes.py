"""Attributes of what a value may be."""

from __future__ import annotations

import ast

from npuport.analysis.flow.declarations import function_value, library
from npuport.analysis.flow.evaluation import Evaluation
from npuport.analysis.flow.joining import join, join_all
from npuport.analysis.flow.library.dispatch import attribute as attribute_of_library
from npuport.analysis.flow.library.dispatch import constant
from npuport.analysis.flow.value import A_BOOL, CLASS, FILE, INSTANCE, LIBRARY, UNKNOWN, Atom, Value
from npuport.analysis.flow.vocabulary import COMMON_ATTRIBUTES


def attribute(run: Evaluation, base: Value, name: str, node: ast.Attribute) -> Value:
    """The value of ``base.name``; a method gives the function."""
    if not base.atoms:
        return _of_unknown(run, name)
    result: Value | None = None
    for atom in base.atoms.values():
        found = _of_atom(run, atom, name, node)
        result = found if result is None else join(result, found)
    return result if result is not None else UNKNOWN


def _of_atom(run: Evaluation, atom: Atom, name: str, node: ast.Attribute) -> Value | None:
    kind = atom.kind
    if kind == LIBRARY:
        return join_all([constant(f"{ref}.{name}") or library(f"{ref}.{name}") for ref in atom.refs])
    if kind in (INSTANCE, CLASS):
        return _of_class(run, atom, name, node)
    if kind == FILE:
        for ref in atom.refs:
            run.knowledge.read(run.function, "global", ref, name)
        return join_all([run.knowledge.member_of_file(ref, name) for ref in atom.refs])
    return attribute_of_library(run, atom, name, node)


def _of_class(run: Evaluation, atom: Atom, name: str, node: ast.Attribute) -> Value | None:
    knowledge = run.knowledge
    result: Value | None = None
    for key in atom.refs:
        if key not in knowledge.classes:
            continue
        found = _in_lineage(run, key, name, node)
        if found is None:
            for heir in knowledge.heirs(key):
                found = join(found, _own(run, heir.key, name))
        result = join(result, found)
    if result is None and name == "training":
        return A_BOOL
    return result


def _in_lineage(run: Evaluation, key: str, name: str, node: ast.Attribute) -> Value | None:
    """Attributes of all classes of the lineage that write it; else the nearest method."""
    knowledge = run.knowledge
    result: Value | None = None
    for declared in knowledge.lineage(key):
        knowledge.read(run.function, "attribute", declared.key, name)
        written = declared.attributes.get(name)
        if written is not None:
            result = written if result is None else join(result, written)
        elif name in declared.methods:
            return join(result, _method(run, declared.methods[name], node))
    return result


def _own(run: Evaluation, key: str, name: str) -> Value | None:
    declared = run.knowledge.classes[key]
    run.knowledge.read(run.function, "attribute", key, name)
    if name in declared.attributes:
        return declared.attributes[name]
    if name in declared.methods:
        return function_value(declared.methods[name])
    return None


def _method(run: Evaluation, key: str, node: ast.Attribute) -> Value | None:
    function = run.knowledge.functions[key]
    if function.kind != "property":
        return function_value(key)
    run.calls(function, node)
    run.knowledge.read(run.function, "return", key)
    return function.returns


def _of_unknown(run: Evaluation, name: str) -> Value:
    """An attribute that exactly one class of the program has."""
    if name in COMMON_ATTRIBUTES:
        return UNKNOWN
    knowledge = run.knowledge
    knowledge.read(run.function, "owners", run.scope.component, name)
    owners = knowledge.owners_of(run.file, name)
    if len(owners) != 1:
        return UNKNOWN
    owner = next(iter(owners))
    knowledge.read(run.function, "attribute", owner, name)
    return knowledge.classes[owner].attributes.get(name, UNKNOWN)

"""Uploads through functions that fixes write into the file."""

from __future__ import annotations

import ast

from npuport.analysis.module import Module
from npuport.analysis.tensor_creation import Creation
from npuport.analysis.upload_groups import NamedGroup, Part, StoredGroup, TupleGroup, data_name
from npuport.engine.fix import Insertion, NotFixable, Rewrite, Transform
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.creation import device_text
from npuport.engine.rewriting.helper_functions import UPLOAD, UPLOAD_TOGETHER
from npuport.engine.rewriting.names import without_argument
from npuport.engine.writer import Writer


def uploaded_without_wait(creation: Creation) -> Transform:
    """``torch.tensor(x).to(device)`` to ``upload(torch.tensor(x), device)``."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        return f"{writer.helper_function(UPLOAD)}({host_code(creation, node, writer)}, {device_text(creation, writer)})"

    return transform


def made_on_host(creation: Creation) -> Transform:
    """``torch.tensor(x).to(device)`` and ``torch.tensor(x, device=device)`` to ``torch.tensor(x)``."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        return host_code(creation, node, writer)

    return transform


def host_code(creation: Creation, node: cst.CSTNode, writer: Writer) -> str:
    """The creation without its way to the device, as source text."""
    call = cst.ensure_type(node, cst.Call)
    if creation.moved:
        return writer.code(cst.ensure_type(call.func, cst.Attribute).value)
    device = next(arg for arg in call.args if arg.keyword is not None and arg.keyword.value == "device")
    return writer.code(without_argument(call, device))


# ---- several uploads as one copy

_LONG = 88  # columns of a call, without its indentation, that are laid out as one line


def tuple_uploaded_together(module: Module, group: TupleGroup) -> Rewrite:
    """``(torch.tensor(x).to(device), torch.tensor(y).to(device))`` to ``upload_together((...), device)``.

    Where only some elements are uploads, these become ``*upload_together((...), device)``.
    """
    elements = group.node.elts[group.first : group.first + len(group.parts)]
    start, end = module.branches.span(group.node)
    first, last = module.branches.span(elements[0])[0], module.branches.span(elements[-1])[1]

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        name, text = writer.helper_function(UPLOAD_TOGETHER), module.source.text
        device = device_text(group.parts[0].upload.creation, writer)
        inside = _with_host_code(module, group.parts, first, last, writer)
        if len(elements) < len(group.node.elts):
            return f"{text[start:first]}*{name}(({inside}), {device}){text[last:end]}"
        if first == start:  # a tuple without parentheses
            return f"{name}(({inside}), {device})"
        return f"{name}({text[start:first]}{inside}{text[last:end]}, {device})"

    return Rewrite(group.node, transform)


def _with_host_code(module: Module, parts: tuple[Part, ...], start: int, end: int, writer: Writer) -> str:
    """A piece of the text in which the uploads of some parts stay on the host."""
    pieces, position = [], start
    for part in parts:
        begins, ends = module.branches.span(part.upload.node)
        code = module.source.text[begins:ends]
        pieces += [module.source.text[position:begins], host_code(part.upload.creation, _parsed(code), writer)]
        position = ends
    return "".join([*pieces, module.source.text[position:end]])


def _parsed(code: str) -> cst.CSTNode:
    return cst.parse_expression(f"({code})").with_changes(lpar=(), rpar=())


def names_uploaded_together(group: NamedGroup) -> tuple[Rewrite | Insertion, ...]:
    """Make the tensors on the host where they are made, and upload them all behind the last one."""

    def text(writer: Writer) -> str:
        names = [writer.module.text_of(_target(part)) for part in group.parts]
        return _call(names, names, group.parts[0], writer)

    on_host = (Rewrite(part.upload.node, made_on_host(part.upload.creation)) for part in group.parts)
    return (*on_host, Insertion(_statement(group.parts[-1]), text, after=True))


def stores_uploaded_together(module: Module, group: StoredGroup) -> tuple[Rewrite | Insertion, ...]:
    """Upload before the first store what each of them puts away."""
    names = [f"device_{data_name(part)}" for part in group.parts]

    def text(writer: Writer) -> str:
        if len(set(names)) < len(names) or any(name in module.index.names for name in names):
            raise NotFixable("the names for the tensors are taken")
        made = [
            _with_host_code(module, (part,), *module.branches.span(part.expression), writer) for part in group.parts
        ]
        return _call(names, made, group.parts[0], writer)

    stored = (Rewrite(part.expression, _named(name)) for part, name in zip(group.parts, names, strict=True))
    return (Insertion(_statement(group.parts[0]), text), *stored)


def _named(name: str) -> Transform:
    return lambda node, writer: name


def _call(names: list[str], tensors: list[str], part: Part, writer: Writer) -> str:
    """``a, b = upload_together((a, b), device)``, on several lines where it is long."""
    function = writer.helper_function(UPLOAD_TOGETHER)
    device = device_text(part.upload.creation, writer)
    arguments = f"({', '.join(tensors)}), {device}"
    line = f"{', '.join(names)} = {function}({arguments})"
    if len(line) <= _LONG:
        return line
    if len(arguments) <= _LONG:
        return f"{', '.join(names)} = {function}(\n    {arguments}\n)"
    listed = "".join(f"        {tensor},\n" for tensor in tensors)
    return f"{', '.join(names)} = {function}(\n    (\n{listed}    ),\n    {device},\n)"


def _statement(part: Part) -> ast.Assign:
    assert part.statement is not None
    return part.statement


def _target(part: Part) -> ast.expr:
    return _statement(part).targets[0]

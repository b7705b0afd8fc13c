from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npuport.analysis.configuration import Configuration, Use, name_of
from npuport.analysis.device_evidence import called_name, target_name, targets_of
from npuport.analysis.module import Module, Reference
from npuport.analysis.vocabulary import TEXT_KEYWORDS, TEXT_SINKS, words_of
from npuport.engine.fix import Fix, NotFixable, replacement, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.precedence import as_conditional
from npuport.engine.rewriting.questions import question
from npuport.engine.rewriting.strings import accepted_values, pattern_values_of, replaced
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer

# Words in the keys of configuration files that hold a backend.
_BACKEND_WORDS = frozenset({
    "backend", "backends", "distributed", "dist", "ddp", "communication", "comm", "communicator", "collective",
})  # fmt: skip
_BACKEND = re.compile(r"nccl|NCCL|(?:cpu:gloo,)?cuda:nccl(?:,cpu:gloo)?")


class NcclBackend(Rule):
    """The communication backend is NCCL.

    What it does
    ------------
    Reports ``"nccl"`` as backend, also in ``"cpu:gloo,cuda:nccl"``, as default or accepted value of an option, in
    comparisons, and ``is_nccl_available()``. In configuration files and shell scripts, ``backend: nccl``.

    Why on an NPU
    -------------
    NPUs communicate through HCCL. ``init_process_group("nccl")`` raises; an option that accepts only nccl and
    gloo refuses hccl; a branch on ``"nccl"`` is dead.

    Example
    -------
    ::

        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")

    Use instead
    -----------
    ::

        dist.init_process_group("hccl" if torch.npu.is_available() else "gloo")

    Fix safety
    ----------
    Safe, but for a comparison whose branch does what only CUDA can do. With ``--style portable`` the backend is
    chosen by ``DEVICE_TYPE``, and options and comparisons accept both; configuration files are not changed.

    Sources
    -------
    - ``cpu:gloo,npu:hccl`` and ``is_backend_available("hccl")`` were tried under torch_npu 2.13.0 (set-up only; no
      collective has run for npuport).
    """

    code = "NPU701"
    name = "nccl-backend"
    topic = "dist"
    triggers = Triggers(("nccl", "NCCL"))
    configuration_triggers = ("nccl", "NCCL")

    def check_configuration(self, configuration: Configuration) -> Iterator[Hit]:
        for entry, value in configuration.settings():
            named = _BACKEND.fullmatch(value.text) and not _BACKEND_WORDS.isdisjoint(words_of(name_of(entry)))
            if not named or configuration.names_beside(entry, "hccl"):
                continue
            npu = value.text.replace("nccl", "hccl").replace("NCCL", "HCCL").replace("cuda", "npu")
            fix = replacement("Use HCCL", value, npu, unsafe_because=configuration.asked_of(entry))
            if entry.use is Use.ASKED:
                yield Hit(value, f"compares a backend with {value.text}, which an NPU's never is", fix)
            else:
                yield Hit(value, f"{value.text} is not available on an NPU, which communicates through hccl", fix)

    def check(self, module: Module) -> Iterator[Hit]:
        if not module.in_torch_program:
            return
        for node in module.index.strings:
            if _BACKEND.fullmatch(str(node.value)) and not module.knows_npu(node) and not _is_text(module, node):
                yield from self._named(module, node)
        for reference in module.references:
            call = module.parent(reference.node)
            if reference.dotted.endswith("torch.distributed.Backend.NCCL") and not module.knows_npu(reference.node):
                yield Hit(reference.node, "Backend.NCCL is no backend on an NPU, which has hccl", _member(reference))
            if (
                reference.dotted == "torch.distributed.is_nccl_available"
                and isinstance(call, ast.Call)
                and not module.knows_npu(call)
            ):
                yield Hit(
                    call, "is_nccl_available() is False on an NPU machine", rewrite("Ask for HCCL", call, _is_available)
                )

    def _named(self, module: Module, node: ast.Constant) -> Iterator[Hit]:
        text = str(node.value)
        parent = module.parent(node)
        compared = (
            parent
            if isinstance(parent, ast.Compare)
            else module.parent(parent)
            if isinstance(parent, ast.Tuple | ast.List | ast.Set)
            else None
        )
        if isinstance(compared, ast.Compare):
            if compared.left is not node or isinstance(compared.ops[0], ast.Eq | ast.NotEq):
                reason = module.branches.cuda_only_reason(compared)
                fix = rewrite("Ask for HCCL", compared, question(text, _hccl(text)), unsafe_because=reason)
                yield Hit(node, f"asks for {text!r}; on an NPU the backend is hccl", fix)
            return
        if isinstance(parent, ast.MatchValue):
            yield Hit(
                node,
                f"asks for {text!r}; on an NPU the backend is hccl",
                rewrite("Match HCCL", node, pattern_values_of(text, _hccl(text))),
            )
        elif _is_accepted_value(module, node):
            yield Hit(
                node,
                f"{text!r} is accepted as a backend, hccl is not",
                rewrite("Accept HCCL", node, accepted_values(text, _hccl(text))),
            )
        else:
            yield Hit(
                node,
                f"{text!r} is no backend on an NPU, which has hccl",
                self._value(module, node, text),
                together=_tests(module, node),
            )

    def _value(self, module: Module, node: ast.Constant, text: str) -> Fix:
        def transform(literal: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
            if not writer.portable:
                writer.need_torch_npu()
                return replaced(
                    _renamed_device(literal), "nccl" if "nccl" in text else "NCCL", "hccl" if "nccl" in text else "HCCL"
                )
            if not module.uses_torch:
                raise NotFixable("torch is not imported here")
            code = writer.code(literal)
            choice = f'{code.replace(text, _hccl(text))} if {writer.helper("DEVICE_TYPE")} == "npu" else {code}'
            return as_conditional(choice, node, module.parent(node))

        return rewrite("Use HCCL", node, transform)


def _member(reference: Reference) -> Fix:
    """``dist.Backend.NCCL`` is the text "nccl"; torch_npu registers "hccl" as ``Backend.HCCL`` when it is imported."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
        assert isinstance(node, cst.Attribute)
        if writer.portable:
            raise NotFixable("torch may have no Backend.HCCL")
        writer.need_torch_npu()
        return node.with_changes(attr=cst.Name("HCCL"))

    return rewrite("Use HCCL", reference.node, transform)


def _hccl(text: str) -> str:
    return text.replace("cuda:", "npu:").replace("nccl", "hccl").replace("NCCL", "HCCL")


def _renamed_device(literal: cst.CSTNode) -> cst.CSTNode:
    assert isinstance(literal, cst.SimpleString)
    return literal.with_changes(value=literal.value.replace("cuda:", "npu:"))


def _is_text(module: Module, node: ast.Constant) -> bool:
    parent = module.parent(node)
    if isinstance(parent, ast.Expr | ast.JoinedStr):
        return True
    if isinstance(parent, ast.Subscript):
        return parent.slice is node  # a key stays, as the dictionary's does
    if isinstance(parent, ast.MatchValue):
        return not isinstance(module.parent(parent), ast.match_case | ast.MatchOr)
    if isinstance(parent, ast.Assign | ast.AnnAssign):
        names = filter(None, map(target_name, targets_of(parent)))
        return any(not TEXT_KEYWORDS.isdisjoint(words_of(name)[-1:]) for name in names)
    if isinstance(parent, ast.keyword):
        return parent.arg in TEXT_KEYWORDS
    if isinstance(parent, ast.Dict):
        return node in parent.keys
    if isinstance(parent, ast.Call):
        name = called_name(parent)
        return name in TEXT_SINKS or name.endswith(("Error", "Warning"))
    return False


def _is_accepted_value(module: Module, node: ast.Constant) -> bool:
    """One of several values: of ``choices=``, of a ``Literal``, of a list."""
    parent = module.parent(node)
    if not isinstance(parent, ast.Tuple | ast.List | ast.Set):
        return False
    if isinstance(module.parent(parent), ast.For):
        return False
    return any(isinstance(item, ast.Constant) and item.value in ("gloo", "mpi", "ucc") for item in parent.elts)


def _tests(module: Module, node: ast.Constant) -> tuple[ast.AST, ...]:
    """The availability tests that choose this backend: both change together."""
    choice = module.parent(node)
    if not isinstance(choice, ast.IfExp) or node is choice.test:
        return ()
    asked = ("torch.cuda.is_available", "torch.distributed.is_nccl_available")
    return tuple(r.node for r in module.references if r.dotted in asked and choice.test in [*module.ancestors(r.node)])


def _is_available(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
    assert isinstance(node, cst.Call)
    writer.need_torch_npu()
    function = node.func
    if isinstance(function, cst.Attribute):
        function = function.with_changes(attr=cst.Name("is_backend_available"))
    else:
        function = writer.expression(f"{writer.torch()}.distributed.is_backend_available")
    backend = f'"hccl" if {writer.helper("DEVICE_TYPE")} == "npu" else "nccl"' if writer.portable else '"hccl"'
    return node.with_changes(func=function, args=[writer.argument(backend)])

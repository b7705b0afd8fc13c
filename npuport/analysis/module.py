"""One file with all that the analysis knows of it, as rules see it."""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from npuport.analysis.branches import Branches
from npuport.analysis.hand_ports import HandPorts
from npuport.analysis.names import Names
from npuport.analysis.vocabulary import FOREIGN_LIBRARIES, GPU_LIBRARIES, TORCH_LIBRARIES, library_of
from npuport.analysis.walk import FUNCTIONS, Binding, SyntaxIndex, index_syntax
from npuport.sources.errors import UnreadableSource
from npuport.sources.text import SourceText

if TYPE_CHECKING:
    from npuport.analysis.flow.program import FileFlow

Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True)
class ProjectFacts:
    """What a file may need to know of the other files that are checked with it.

    Attributes:
        used_by_torch: a file without torch that a torch file imports: its device names reach torch.
        classes_with_cuda: names of classes, not ``nn.Module``, that define a method ``cuda`` of their own.
        transfer_to_npu: some file imports ``torch_npu.contrib.transfer_to_npu``.
        own_libraries: libraries that pick a device for their users, where the files are those of the library itself.
        helper_import: ``from <module> import``, where the package has one module for the portable names.
    """

    used_by_torch: bool = False
    classes_with_cuda: frozenset[str] = frozenset()
    transfer_to_npu: bool = False
    own_libraries: frozenset[str] = frozenset()
    helper_import: str = ""


@dataclass(frozen=True)
class Reference:
    """One use of an imported name, as far as its attributes reach.

    Attributes:
        node: the outermost attribute (``torch.cuda.empty_cache``) or the name itself.
        dotted: what it stands for, e.g. ``torch.cuda.empty_cache``.
        root: the name that the chain starts with, or the ``getattr`` call.
        binding: how that name came to be, where it has one binding.
    """

    node: ast.expr
    dotted: str
    root: ast.expr
    binding: Binding | None


class Module:
    """A parsed Python file.

    Attributes:
        source: its text.
        tree: its syntax tree.
        target: the torch_npu release whose facts count.
        project: facts about the files around it.
    """

    def __init__(self, source: SourceText, target: str, project: ProjectFacts | None = None) -> None:
        self.source = source
        self.target = target
        self.project = project or ProjectFacts()
        self.tree = parse(source)

    @cached_property
    def index(self) -> SyntaxIndex:
        """The indexed nodes of the file."""
        return index_syntax(self.tree)

    @cached_property
    def names(self) -> Names:
        """Resolves names."""
        return Names(self.index, self.tree)

    @cached_property
    def branches(self) -> Branches:
        """Answers about choices between devices."""
        return Branches(self.source, self.index)

    @property
    def key(self) -> str:
        """The file's key in its program: its absolute path."""
        return key_of(self.source.path)

    @cached_property
    def flow(self) -> FileFlow:
        """What flows through the file; one that was not attached to a program is a program by itself."""
        from npuport.analysis.flow.program import ProgramFlow

        return ProgramFlow({self.key: (self.tree, self.source.text)}).file(self.key)

    def forget(self) -> None:
        """Let go of all that was derived from the file: a large program keeps thousands of files."""
        own = ("source", "target", "project", "tree")
        self.__dict__ = {name: value for name, value in self.__dict__.items() if name in own}

    @property
    def is_attached(self) -> bool:
        """Whether the file is part of a program of several, or was asked what flows through it."""
        return "flow" in self.__dict__

    def attach(self, flow: FileFlow) -> None:
        """Make the file part of a program."""
        self.__dict__["flow"] = flow

    def resolve(self, node: ast.AST | None) -> str | None:
        """The dotted name that ``node`` stands for, or None."""
        return self.names.resolve(node)

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around ``node``; None for the module."""
        return self.index.parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around ``node``, from the inside out."""
        parent = self.parent(node)
        while parent is not None:
            yield parent
            parent = self.parent(parent)

    def enclosing(self, node: ast.AST, kind: type[Node] | tuple[type[Node], ...]) -> Node | None:
        """The nearest node of a type around ``node``."""
        for ancestor in self.ancestors(node):
            if isinstance(ancestor, kind):
                return ancestor
        return None

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that ``node`` belongs to."""
        if isinstance(node, ast.stmt):
            return node
        found = self.enclosing(node, ast.stmt)
        assert found is not None, "every expression lies in a statement"
        return found

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None:
        """The function whose body ``node`` runs in."""
        scope = self.names.scope_of(node)
        return scope if isinstance(scope, FUNCTIONS) else None

    def text_of(self, node: ast.AST) -> str:
        """The source text of a statement or expression."""
        return self.branches.text_of(node)

    def knows_npu(self, site: ast.AST) -> bool:
        """Whether the code around ``site`` has an NPU arm, or a version for the NPU, already."""
        return self.branches.knows_npu(site) or self._hand_ports.covers(site)

    @cached_property
    def _hand_ports(self) -> HandPorts:
        return HandPorts(self.branches, self.index, self.source.text)

    @cached_property
    def imported(self) -> frozenset[str]:
        """Dotted names of everything that is imported anywhere in the file, star imports as their module."""
        names = {
            b.imported for scope in self.index.bindings.values() for bs in scope.values() for b in bs if b.imported
        }
        names.update(self.index.star_imports)
        for node in self.index.imports:
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
        if "importlib" in names:
            names.update(dotted for call in self.index.calls if (dotted := self.resolve(call)) and "." not in dotted)
        return frozenset(names)

    @cached_property
    def libraries(self) -> frozenset[str]:
        """Top packages that the file imports."""
        return frozenset(library_of(name) for name in self.imported)

    @property
    def uses_torch(self) -> bool:
        """Whether the file imports torch."""
        return "torch" in self.libraries

    @property
    def in_torch_program(self) -> bool:
        """Whether device names of this file can reach torch.

        It imports torch or a library on top of torch, or a torch file imports it.
        """
        if not TORCH_LIBRARIES.isdisjoint(self.libraries):
            return True
        return self.project.used_by_torch and GPU_LIBRARIES.isdisjoint(self.libraries)

    def is_foreign(self, node: ast.AST) -> bool:
        """Whether ``node`` is known to belong to a library with GPU names of its own (cupy, jax, numba, ...).

        Looks through calls, attributes and plain assignments: ``x = cp.zeros(3)`` makes ``x`` foreign.
        """
        for _ in range(12):
            dotted = self.resolve(node)
            if dotted:
                return library_of(dotted) in FOREIGN_LIBRARIES
            if isinstance(node, ast.Call):
                node = node.func
            elif isinstance(node, ast.Attribute | ast.Subscript | ast.Starred | ast.Await):
                node = node.value
            elif isinstance(node, ast.Name):
                values = [binding.value for binding in self.names.bindings(node.id, node)]
                if len(values) != 1 or values[0] is None:
                    return False
                node = values[0]
            else:
                return False
        return False

    def calls_into(self, libraries: frozenset[str]) -> Iterator[tuple[ast.Call, str]]:
        """Calls of what is imported from some libraries, with the dotted name that is called."""
        names = {
            name
            for scope in self.index.bindings.values()
            for name, bindings in scope.items()
            if any(library_of(binding.imported or "") in libraries for binding in bindings)
        }
        for name in sorted(names):
            for root in self.index.names.get(name, ()):
                node: ast.AST = root
                while isinstance(parent := self.parent(node), ast.Attribute):
                    node = parent
                if isinstance(parent, ast.Call) and parent.func is node and (dotted := self.resolve(node)):
                    yield parent, dotted

    @cached_property
    def references(self) -> list[Reference]:
        """Uses of names that stand for torch or for something below it, in source order."""
        found = [
            ref
            for name in self._torch_names
            for node in self.index.names.get(name, ())
            if (ref := self._reference(node))
        ]
        for call in self.index.calls:
            if isinstance(call.func, ast.Name) and call.func.id == "getattr" and (ref := self._reference(call)):
                found.append(ref)
        return sorted(found, key=lambda ref: (ref.node.lineno, ref.node.col_offset))

    @cached_property
    def _torch_names(self) -> set[str]:
        """Names that some scope binds to torch or below, and what star imports may bring."""
        names: set[str] = set()
        aliases: list[tuple[str, str]] = []
        for scope in self.index.bindings.values():
            for name, bindings in scope.items():
                for binding in bindings:
                    if binding.imported:
                        if binding.imported.startswith("torch"):
                            names.add(name)
                    elif binding.value is not None and (root := _root_name(binding.value)):
                        aliases.append((name, root))
        if any(module.startswith("torch") for module in self.index.star_imports):
            names.update(self.index.names)
        before = -1
        while before != len(names):
            before = len(names)
            names.update(name for name, root in aliases if root in names or root == "importlib")
        return names

    def _reference(self, root: ast.Name | ast.Call) -> Reference | None:
        dotted = self.resolve(root)
        if not dotted or not dotted.startswith("torch"):
            return None
        node: ast.expr = root
        parent = self.parent(node)
        while isinstance(parent, ast.Attribute):
            node, dotted = parent, f"{dotted}.{parent.attr}"
            parent = self.parent(node)
        dotted = _SAME_NAME.sub("torch.cuda.amp.", dotted)
        bindings = self.names.bindings(root.id, root) if isinstance(root, ast.Name) else []
        return Reference(node, dotted, root, bindings[0] if len(bindings) == 1 else None)

    @cached_property
    def memo(self) -> dict[str, object]:
        """Results that several rules share, by the name of the analysis that made them."""
        return {}


def key_of(path: os.PathLike[str]) -> str:
    """The key of a file in its program: its absolute path."""
    return os.path.abspath(path)


# torch.cuda.amp.autocast_mode.autocast is torch.cuda.amp.autocast.
_SAME_NAME = re.compile(r"^torch\.cuda\.amp\.(?:autocast_mode|grad_scaler)\.")


def _root_name(value: ast.expr) -> str | None:
    """The name that a possible alias of a module starts with: ``torch`` of ``torch.cuda``."""
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Name) and value.func.id == "getattr" and value.args:
            return _root_name(value.args[0])
        value = value.func
        return value.value.id if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) else None
    while isinstance(value, ast.Attribute):
        value = value.value
    return value.id if isinstance(value, ast.Name) else None


def parse(source: SourceText) -> ast.Module:
    """The syntax tree of a file, as the running Python reads it.

    Raises:
        UnreadableSource: it is not valid Python, or nested too deeply to be read.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.text)
    except SyntaxError as error:
        row = min(max(error.lineno or 1, 1), len(source.line_starts))
        raise UnreadableSource(str(error.msg), row, max(error.offset or 1, 1)) from None
    except (RecursionError, MemoryError):
        raise UnreadableSource("nested too deeply to be parsed") from None
    except ValueError as error:
        raise UnreadableSource(str(error)) from None

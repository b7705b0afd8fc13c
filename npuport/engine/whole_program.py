"""The parsed files of one program, for rules that ask what flows through it."""

from __future__ import annotations

from collections.abc import Iterable

from npuport.analysis.flow.knowledge import Parse
from npuport.analysis.flow.linking import Linker
from npuport.analysis.flow.program import ProgramFlow
from npuport.analysis.flow.storage import StoredScope
from npuport.analysis.module import Module, ProjectFacts, key_of
from npuport.sources.text import SourceText


class WholeProgram:
    """Files that imports connect, and the flow through all of them.

    Args:
        target: the torch_npu release whose facts count.
        modules: the files that must be evaluated.
        known: files that are known from the cache.
        parse: gives the syntax of a known file where it is wanted after all.
        linker: says what imports mean in this run.
    """

    def __init__(
        self, target: str, modules: Iterable[Module], known: Iterable[StoredScope], parse: Parse, linker: Linker
    ) -> None:
        self._target = target
        self._modules = {module.key: module for module in modules}
        texts = {key: (module.tree, module.source.text) for key, module in self._modules.items()}
        self.flow = ProgramFlow(texts, known, parse, linker)

    def attach(self, module: Module) -> Module:
        """Make a file, as it was when the flow was made, answer what flows through it."""
        module.attach(self.flow.file(module.key))
        return module

    def module(self, source: SourceText, project: ProjectFacts) -> Module:
        """The parsed file; a new text takes the place of its old one.

        Raises:
            UnreadableSource: it is not valid Python.
        """
        known = self._modules.get(key_of(source.path))
        if known is not None and known.source.text == source.text and known.project == project:
            return self.attach(known)
        module = Module(source, self._target, project)
        self._modules[module.key] = module
        self.flow.replace(module.key, module.tree, source.text)
        return self.attach(module)

"""The parsed files of a run as programs, for rules that ask what flows through it."""

from __future__ import annotations

from collections.abc import Iterable

from npuport.analysis.flow.frequency import Level, Reason
from npuport.analysis.flow.program import ProgramFlow
from npuport.analysis.module import Module, ProjectFacts
from npuport.sources.text import SourceText


class WholeProgram:
    """Parsed files and the flow through all of them.

    Args:
        target: the torch_npu release whose facts count.
        modules: the files.
    """

    def __init__(self, target: str, modules: Iterable[Module]) -> None:
        self._target = target
        self._modules = {module.key: module for module in modules}
        self.flow = ProgramFlow(
            {key: module.tree for key, module in self._modules.items()},
            {key: module.source.text for key, module in self._modules.items()},
        )

    def module(self, source: SourceText, project: ProjectFacts) -> Module:
        """The parsed file, attached to the program; a new text takes the place of the file's old one.

        Raises:
            UnreadableSource: it is not valid Python.
        """
        known = self._modules.get(str(source.path))
        if known is None:  # no rule asks what flows through it
            return Module(source, self._target, project)
        module = known
        if known.source.text != source.text or known.project != project:
            module = Module(source, self._target, project)
            self._modules[module.key] = module
            self.flow.replace(module.key, module.tree, source.text)
        module.attach(self.flow.file(module.key))
        return module

    def explain(self, key: str, line: int) -> tuple[Level, list[Reason]] | None:
        """How often a line of a file runs, and why; None where no statement begins there."""
        return self.flow.file(key).explain(line) if key in self._modules else None

"""Branches between devices: what already knows an NPU, and what a test for CUDA guards."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from npuport.analysis.walk import SyntaxIndex, block_of
from npuport.sources.text import SourceText

# "npu" as a word part: has_npu, torch_npu, "npu:0", isNPU; not "input", "npucard" is fine.
_NPU = re.compile(r"(?<![A-Za-z])npu|NPU|hccl|HCCL|ASCEND_|[a-z]Npu|is_ascend|ascend_")
_NPU_TEXTS = (
    " npu",
    '"npu',
    "'npu",
    ".npu",
    "_npu",
    "(npu",
    "[npu",
    "=npu",
    ",npu",
    "NPU",
    "Npu",
    "hccl",
    "HCCL",
    "ASCEND_",
    "ascend",
)
_CUDA = re.compile(r"cuda|CUDA|gpu|GPU|nccl|xpu|mps|device|accelerator")

# What only CUDA has: a test that guards one of these must not come true on an NPU unseen.
_CUDA_ONLY = re.compile(
    r"(?<!\bre)\.compile\(|\bfused\s*=\s*True|flash_attn|flash_attention|\bapex\b|\btriton\b|CUDAGraph|cuda\.graph\b|"
    r"make_graphed_callables|nvtx|get_device_capability|version\.cuda|xformers|bitsandbytes|transformer_engine|tensorrt|"
    r"\bDataParallel\(|data_parallel\(|nvidia-smi|\bpynvml\b"
)
# Flags that switch such things on.
_CUDA_ONLY_FLAG = re.compile(r"fused|triton|flash_attn|xformers|cuda_?graph", re.IGNORECASE)


class Branches:
    """Answers about the branches of one file."""

    def __init__(self, source: SourceText, index: SyntaxIndex) -> None:
        self._source = source
        self._parents = index.parents
        self._spans: dict[ast.AST, tuple[int, int]] = {}
        self._mentions: dict[ast.AST, bool] = {}
        # A search for each text is much faster than the pattern over a whole file.
        self.speaks_of_npu = any(text in source.text for text in _NPU_TEXTS)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Character offsets of the first character of a node and of the one behind it.

        Before Python 3.12 the positions inside an f-string are not reliable; such a node is searched for
        in the text of the f-string.
        """
        found = self._spans.get(node)
        if found is None:
            found = self._spans[node] = self._find_span(node)
        return found

    def _find_span(self, node: ast.AST) -> tuple[int, int]:
        source = self._source
        start = source.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end = source.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        if sys.version_info >= (3, 12) or not isinstance(node, ast.expr):
            return start, end
        around = next((a for a in _upwards(node, self._parents) if isinstance(a, ast.JoinedStr)), None)
        if around is None or _reads_as(source.text[start:end], node):
            return start, end
        outer_start, outer_end = self.span(around)
        text = source.text[outer_start:outer_end]
        wanted = ast.unparse(node)
        place = text.find(wanted)
        if place >= 0 and text.find(wanted, place + 1) < 0:
            return outer_start + place, outer_start + place + len(wanted)
        return outer_start, outer_end

    def is_exact(self, node: ast.expr) -> bool:
        """Whether the span of ``node`` holds just that node's code (see ``span``)."""
        if sys.version_info >= (3, 12) or not any(isinstance(a, ast.JoinedStr) for a in _upwards(node, self._parents)):
            return True
        return _reads_as(self.text_of(node), node)

    def text_of(self, node: ast.AST) -> str:
        """The source text of a statement or expression."""
        start, end = self.span(node)
        return self._source.text[start:end]

    def mentions_npu(self, node: ast.AST) -> bool:
        """Whether the text of ``node`` names an NPU, its backend or its environment."""
        if node not in self._mentions:
            self._mentions[node] = bool(_NPU.search(self.text_of(node)))
        return self._mentions[node]

    def knows_npu(self, site: ast.AST) -> bool:
        """Whether ``site`` is the CUDA arm of a choice that has an NPU arm too.

        Such code is ported already: conditional expressions, if chains, dispatching ``if`` statements that
        follow each other, ``or`` between two availability tests, and literals that list both devices.
        """
        if not self.speaks_of_npu:
            return False
        child, parent = site, self._parents.get(site)
        while parent is not None:
            if self._arm_beside(parent, child):
                return True
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
                return isinstance(parent, ast.FunctionDef) and self._follows_npu_return(parent, child)
            child, parent = parent, self._parents.get(parent)
        return False

    def asks_for_npu(self, site: ast.AST) -> bool:
        """Whether a test around ``site``, in the same function, is about the NPU."""
        child, parent = site, self._parents.get(site)
        while parent is not None and not isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if isinstance(parent, ast.If | ast.IfExp) and child is not parent.test and self.mentions_npu(parent.test):
                return True
            child, parent = parent, self._parents.get(parent)
        return False

    def _arm_beside(self, parent: ast.AST, child: ast.AST) -> bool:
        if isinstance(parent, ast.IfExp | ast.If):
            return self._npu_arm_of_if(parent, child)
        if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.Or):
            return any(self.mentions_npu(value) for value in parent.values if value is not child)
        if isinstance(parent, ast.Tuple | ast.List | ast.Set):
            return any(
                self.mentions_npu(item) for item in parent.elts if item is not child and _is_device_literal(item)
            )
        if isinstance(parent, ast.Dict):
            keys = [key.value for key in parent.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
            return any(_NPU.search(key) for key in keys) and any(_CUDA.search(key) for key in keys)
        if isinstance(parent, ast.MatchOr):
            return any(self.mentions_npu(pattern) for pattern in parent.patterns if pattern is not child)
        if isinstance(parent, ast.match_case):
            match = self._parents[parent]
            return isinstance(match, ast.Match) and any(
                self.mentions_npu(case.pattern) for case in match.cases if case is not parent
            )
        return False

    def _npu_arm_of_if(self, chain: ast.If | ast.IfExp, child: ast.AST) -> bool:
        """Whether an arm other than the one that holds ``child`` is the NPU's."""
        test_names_npu = self.mentions_npu(chain.test)
        if child is not chain.test and test_names_npu:
            return not self.half_ported(chain, child)
        if child is not chain.test and not _CUDA.search(self.text_of(chain.test)):
            return False  # the test asks something else: what its arms mention says nothing
        others = [arm for arm in _arms(chain) if arm is not child and not (isinstance(arm, list) and child in arm)]
        return any(self._any_mentions(arm) for arm in others) or self._dispatches_beside(chain)

    def half_ported(self, chain: ast.If | ast.IfExp, child: ast.AST) -> bool:
        """``"cuda" if torch.npu.is_available() else ...``: the arm of a positive NPU test still says cuda."""
        body = chain.body if isinstance(chain.body, list) else [chain.body]
        test = self.text_of(chain.test)
        return child in body and not test.lstrip().startswith("not ") and "cuda" not in test.lower()

    def _any_mentions(self, arm: ast.AST | list[ast.stmt]) -> bool:
        return any(self.mentions_npu(node) for node in arm) if isinstance(arm, list) else self.mentions_npu(arm)

    def _dispatches_beside(self, chain: ast.AST) -> bool:
        """An adjoining ``if`` of the same block that asks for the NPU: the statements dispatch together."""
        if not isinstance(chain, ast.If):
            return False
        block = block_of(chain, self._parents)
        if chain not in block:
            return False
        here = block.index(chain)
        for step in (-1, 1):
            place = here + step
            while 0 <= place < len(block) and isinstance(neighbour := block[place], ast.If):
                if self.mentions_npu(neighbour.test):
                    return True
                place += step
        return False

    def _follows_npu_return(self, function: ast.FunctionDef, statement: ast.AST) -> bool:
        """``if has_npu(): return ...`` earlier in the function: what follows is for other devices."""
        for earlier in function.body:
            if earlier is statement:
                return False
            if isinstance(earlier, ast.If) and self.mentions_npu(earlier.test) and _leaves(earlier.body):
                return not re.match(r"\s*not\b", self.text_of(earlier.test))
        return False

    def cuda_only_reason(self, question: ast.AST) -> str:
        """Why the test that ``question`` is must not come true on an NPU unseen: what it guards; "" for no reason.

        That is what only CUDA has in the branch behind it, or in a later operand of ``question and ...``.
        """
        guarded: list[ast.AST] = []
        child, parent = question, self._parents.get(question)
        while isinstance(parent, ast.expr) and not isinstance(parent, ast.IfExp | ast.Lambda):
            if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And) and child in parent.values:
                guarded += parent.values[parent.values.index(child) + 1 :]
            child, parent = parent, self._parents.get(parent)
        switched = self._parents.get(parent) if isinstance(parent, ast.IfExp) else parent
        if isinstance(switched, ast.keyword) and switched.arg == "fused":
            return "it guards fused, which only CUDA has"
        if isinstance(parent, ast.If | ast.IfExp) and child is parent.test:
            guarded += parent.body if isinstance(parent, ast.If) else [parent.body]
            if isinstance(parent, ast.If) and self._is_negated(child) and _leaves(parent.body):
                block = block_of(parent, self._parents)
                guarded += block[block.index(parent) + 1 :] if parent in block else []
        if isinstance(parent, ast.Assign):  # use_triton = device.type == "cuda"
            guarded += parent.targets
        found = next(filter(None, (self._only_cuda_has(node) for node in guarded)), None)
        return f"it guards {found}, which only CUDA has" if found else ""

    def _only_cuda_has(self, node: ast.AST) -> str:
        pattern = _CUDA_ONLY_FLAG if isinstance(node, ast.Name) else _CUDA_ONLY
        found = pattern.search(self.text_of(node))
        return found.group().strip(".(") if found else ""

    @staticmethod
    def _is_negated(test: ast.AST) -> bool:
        return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def _upwards(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    above = parents.get(node)
    while isinstance(above, ast.expr | ast.comprehension | ast.keyword):
        yield above
        above = parents.get(above)


def _reads_as(text: str, node: ast.expr) -> bool:
    try:
        return ast.dump(ast.parse(text.strip(), mode="eval").body) == ast.dump(node)
    except SyntaxError:
        return False


def _is_device_literal(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant | ast.JoinedStr | ast.Call | ast.Attribute)


def _arms(chain: ast.If | ast.IfExp) -> Iterator[ast.AST | list[ast.stmt]]:
    """The tests and bodies of an if chain, downwards; a list for the body of a statement."""
    yield chain.test
    yield chain.body
    rest = chain.orelse
    if isinstance(rest, list):
        if len(rest) == 1 and isinstance(rest[0], ast.If):
            yield from _arms(rest[0])
        elif rest:
            yield rest
    elif isinstance(rest, ast.IfExp):
        yield from _arms(rest)
    else:
        yield rest


def _leaves(block: list[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)

"""How a file cuts data into batches: loops over slices, splits, loaders; and what varies from batch to batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from npuport.analysis.constants import integer
from npuport.analysis.device_evidence import called_name
from npuport.analysis.module import Module

# Containers whose elements differ in length.
_RAGGED = re.compile(r"(?:^|_)(?:episodes?|eps|trajector(?:y|ies)|trajs?|paths?|ragged)(?:_|$)")
_LEAVING = (ast.Break, ast.Continue)


@dataclass(frozen=True)
class Cut:
    """Data of a known size cut into batches of a known size.

    Attributes:
        node: where.
        size: of the data.
        batch: of one batch.
    """

    node: ast.Call
    size: int
    batch: int

    @property
    def rest(self) -> int:
        """The size of the last batch; 0 where it is as long as the others."""
        return self.size % self.batch


def cuts(module: Module) -> Iterator[Cut]:
    """The places of a file where data of a known size is cut into batches of a known size."""
    for call in module.index.calls:
        name = called_name(call)
        if name == "range" and len(call.args) == 3 and _slices(module, call):
            yield from _cut(module, call, call.args[1], call.args[2])
        elif name == "split" and isinstance(call.func, ast.Attribute) and len(call.args) == 1:
            drawn = call.func.value
            if isinstance(drawn, ast.Call) and called_name(drawn) in ("randperm", "arange") and len(drawn.args) == 1:
                yield from _cut(module, call, drawn.args[0], call.args[0])
        elif name == "BatchSampler" and len(call.args) >= 2 and not _drops_last(call):
            yield from _cut(module, call, _size_of_sampler(call.args[0]), call.args[1])


def _cut(module: Module, call: ast.Call, size: ast.expr | None, batch: ast.expr) -> Iterator[Cut]:
    whole, part = integer(module, size), integer(module, batch)
    if whole is not None and part is not None and whole > part > 1:
        yield Cut(call, whole, part)


def _slices(module: Module, call: ast.Call) -> bool:
    """Whether a loop over ``range(0, n, batch)`` takes a slice a turn, the last one too."""
    loop = module.parent(call)
    start = call.args[0]
    if not isinstance(start, ast.Constant) or start.value != 0:
        return False
    if isinstance(loop, ast.comprehension):
        target, bodies = loop.target, [module.parent(loop)]
    elif isinstance(loop, ast.For) and loop.iter is call:
        target, bodies = loop.target, list(loop.body)
    else:
        return False
    nodes = [node for body in bodies if body is not None for node in ast.walk(body)]
    if not isinstance(target, ast.Name) or any(isinstance(node, _LEAVING) for node in nodes):
        return False
    slices = [node for node in nodes if isinstance(node, ast.Slice)]
    return any(isinstance(part.lower, ast.Name) and part.lower.id == target.id for part in slices)


def _size_of_sampler(sampler: ast.expr) -> ast.expr | None:
    """``n`` of ``SubsetRandomSampler(range(n))``."""
    while isinstance(sampler, ast.Call) and len(sampler.args) == 1:
        if called_name(sampler) == "range":
            return sampler.args[0]
        sampler = sampler.args[0]
    return None


def _drops_last(call: ast.Call) -> bool:
    given = next((k.value for k in call.keywords if k.arg == "drop_last"), call.args[2] if len(call.args) > 2 else None)
    return given is not None and not (isinstance(given, ast.Constant) and not given.value)


def keeps_last(loader: ast.Call) -> bool:
    """Whether a DataLoader shuffles its data into batches of more than one and keeps the short last one."""
    keywords = {keyword.arg: keyword.value for keyword in loader.keywords}
    if None in keywords or not keywords.keys().isdisjoint({"drop_last", "batch_sampler", "sampler", "collate_fn"}):
        return False
    shuffle, batch = keywords.get("shuffle"), keywords.get("batch_size")
    shuffled = isinstance(shuffle, ast.Constant) and shuffle.value is True
    return shuffled and batch is not None and not (isinstance(batch, ast.Constant) and batch.value == 1)


def comprehension_of(module: Module, node: ast.expr | None) -> ast.ListComp | ast.GeneratorExp | None:
    """The comprehension that an expression is, or that a name was bound to."""
    if isinstance(node, ast.Name):
        bindings = module.names.bindings(node.id, node)
        node = bindings[0].value if len(bindings) == 1 else None
    if isinstance(node, ast.Call) and called_name(node) in ("list", "tuple") and len(node.args) == 1:
        node = node.args[0]
    return node if isinstance(node, ast.ListComp | ast.GeneratorExp) else None


def ragged_source(module: Module, made: ast.ListComp | ast.GeneratorExp) -> str:
    """The container of episodes that a comprehension takes whole ones from; empty where it takes none.

    ``[e.obs for e in episodes]`` and ``rows = [self.episodes[i] for i in order]; [r[0] for r in rows]``.
    """
    for _ in range(3):
        iterated = made.generators[0].iter
        name = _named_ragged(iterated) or _named_ragged(_indexed(made))
        if name:
            return name
        inner = comprehension_of(module, iterated)
        if inner is None:
            return ""
        made = inner
    return ""


def _indexed(made: ast.ListComp | ast.GeneratorExp) -> ast.expr | None:
    return made.elt.value if isinstance(made.elt, ast.Subscript) else None


def _named_ragged(node: ast.expr | None) -> str:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name if _RAGGED.search(name.lower()) else ""

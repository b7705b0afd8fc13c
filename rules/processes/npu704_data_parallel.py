from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.module import Module
from npuport.engine.fix import Transform, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.precedence import as_conditional
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer


class DataParallelOnNpu(Rule):
    """``nn.DataParallel`` spreads a batch over several cards of one process.

    What it does
    ------------
    Reports ``torch.nn.DataParallel(...)`` and ``torch.nn.parallel.data_parallel(...)``. DistributedDataParallel
    is fine.

    Why on an NPU
    -------------
    The vendor documents it as unsupported. It also copies the network to every card in each step, which is
    slow on a GPU too.

    Example
    -------
    ::

        agent = nn.DataParallel(agent)

    Use instead
    -----------
    ::

        agent = nn.parallel.DistributedDataParallel(agent, device_ids=[local_rank])

    Fix safety
    ----------
    Unsafe: the wrapper is dropped, so only one card is used, and the keys of saved state dicts lose their
    ``module.`` prefix. Moving to DistributedDataParallel needs one process a card, which is left to a person.

    Sources
    -------
    - Vendor's table of torch.nn: https://github.com/Ascend/pytorch/tree/master/docs/zh/api/native_api
    """

    code = "NPU704"
    name = "data-parallel"
    topic = "dist"
    triggers = Triggers(("DataParallel", "data_parallel"))

    def check(self, module: Module) -> Iterator[Hit]:
        for reference in module.references:
            call = module.parent(reference.node)
            if not isinstance(call, ast.Call) or call.func is not reference.node or module.knows_npu(call):
                continue
            if reference.dotted in (
                "torch.nn.DataParallel",
                "torch.nn.parallel.DataParallel",
                "torch.nn.parallel.data_parallel.DataParallel",
            ):
                reason = "only one card is used, and saved keys lose their module. prefix"
                fix = (
                    rewrite("Drop the wrapper on an NPU", call, _dropping(module, call), unsafe_because=reason)
                    if len(call.args) == 1
                    else None
                )
                yield Hit(call, "DataParallel is not supported on an NPU; use DistributedDataParallel", fix)
            elif reference.dotted == "torch.nn.parallel.data_parallel":
                yield Hit(call, "data_parallel is not supported on an NPU; use DistributedDataParallel")


def _dropping(module: Module, call: ast.Call) -> Transform:
    def transform(node: cst.CSTNode, writer: Writer) -> str:
        assert isinstance(node, cst.Call)
        value = node.args[0].value
        simple = isinstance(value, cst.Name | cst.Attribute | cst.Call | cst.Subscript) or value.lpar
        inner = writer.code(value) if simple else f"({writer.code(value)})"
        if not writer.portable:
            return as_conditional(writer.code(value), call, module.parent(call)) if not simple else inner
        choice = f'{inner} if {writer.helper("DEVICE_TYPE")} == "npu" else {writer.code(node)}'
        return as_conditional(choice, call, module.parent(call))

    return transform

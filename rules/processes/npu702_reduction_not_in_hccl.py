from __future__ import annotations

from collections.abc import Iterator

from npuport.analysis.module import Module
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.facts.releases import release_line

# Read from the history of Ascend/pytorch: release lines from which HCCL's process group takes them.
_AVERAGE_SINCE = "7.0.0"
_PREMULTIPLIED_SINCE = "26.0.0"


class ReductionNotInHccl(Rule):
    """A reduction is used that HCCL of the target release does not have.

    What it does
    ------------
    Reports ``ReduceOp.AVG`` for targets before release line 7.0.0 of torch_npu (2.5.1, 2.4.0.post4, 2.1.0.post12)
    and pre-multiplied sums for targets before 26.0.0 (2.9.0.post2, 2.8.0.post4, 2.7.1.post4). Newer targets have
    both, and nothing is reported.

    Why on an NPU
    -------------
    The collective raises or gives a wrong result. Ports that dropped ``op=AVG`` and divided afterwards reported
    losses off by the world size, and needed two follow-up fixes.

    Example
    -------
    ::

        dist.all_reduce(loss, op=dist.ReduceOp.AVG)

    Use instead
    -----------
    ::

        dist.all_reduce(loss, op=dist.ReduceOp.SUM)
        loss /= dist.get_world_size()

    Sources
    -------
    - History and release branches of https://github.com/Ascend/pytorch
    """

    code = "NPU702"
    name = "reduction-not-in-hccl"
    topic = "dist"
    triggers = Triggers(("ReduceOp", "premul_sum", "PREMUL_SUM"))
    until = _PREMULTIPLIED_SINCE

    def check(self, module: Module) -> Iterator[Hit]:
        line = release_line(module.target)
        for reference in module.references:
            imported = module.resolve(reference.root) in ("torch", "torch.distributed", "torch.distributed.ReduceOp")
            if not imported or module.knows_npu(reference.node):
                continue  # an alias is reported where it is assigned
            last = reference.dotted.rpartition(".")[2]
            if reference.dotted.endswith("ReduceOp.AVG") and line < release_line(_AVERAGE_SINCE):
                yield Hit(
                    reference.node,
                    f"HCCL has no AVG before release line {_AVERAGE_SINCE}: sum, then divide by the group's size",
                )
            elif last in ("_make_nccl_premul_sum", "PREMUL_SUM") and line < release_line(_PREMULTIPLIED_SINCE):
                yield Hit(
                    reference.node,
                    f"HCCL has no pre-multiplied sum before release line {_PREMULTIPLIED_SINCE}: scale, then sum",
                )

from __future__ import annotations

from collections.abc import Iterator

from npuport.analysis.checkpoints import Load, loads
from npuport.analysis.device_evidence import names_a_device
from npuport.analysis.module import Module
from npuport.analysis.own_tests import belongs_to_tests
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.names import replace_argument, with_argument
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer


class LoadWithoutMapLocation(Rule):
    """A checkpoint is loaded onto whatever device it was saved from.

    What it does
    ------------
    Reports ``torch.load`` without ``map_location``. It is a note in a file that names no device, and where a pickle
    module is given, since what was pickled need not be tensors. Not reported in tests, which load what they saved.

    Why on an NPU
    -------------
    Tensors go back to the device they were saved from. A checkpoint of a GPU fails on an NPU ("Attempting to
    deserialize object on a CUDA device"), one of ``npu:3`` fails on a machine with one card, and none of them loads
    in an actor on the CPU.

    Example
    -------
    ::

        agent.load_state_dict(torch.load(path))

    Use instead
    -----------
    ::

        agent.load_state_dict(torch.load(path, map_location="cpu"))

    Fix safety
    ----------
    Safe where all that is loaded goes into ``load_state_dict`` of torch, which copies to where the parameters are, or
    is moved by ``.to()``. Unsafe elsewhere: tensors that are used as they come would be on the CPU.

    Sources
    -------
    - ``torch.load``: https://docs.pytorch.org/docs/stable/generated/torch.load.html
    - https://github.com/DeNA/HandyRL/pull/339
    """

    code = "NPU802"
    name = "load-without-map-location"
    topic = "checkpoint"
    severity = Severity.WARNING
    triggers = Triggers(patterns=(r"load\s*\(",))

    def check(self, module: Module) -> Iterator[Hit]:
        if belongs_to_tests(module):
            return
        for load in loads(module):
            if load.map_location is None and not module.knows_npu(load.call):
                message = "without map_location tensors go to the device they were saved from, which may not exist here"
                severity = None if names_a_device(module) and not load.pickled else Severity.NOTE
                yield Hit(load.call, message, _fix(load), severity)


def _fix(load: Load) -> Fix:
    reason = "" if load.only_copied else "what is not copied into a module stays on the CPU"
    return rewrite("Load to the CPU", load.call, _to_the_cpu, unsafe_because=reason)


def _to_the_cpu(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
    assert isinstance(node, cst.Call)
    if any(arg.keyword and arg.keyword.value == "map_location" for arg in node.args):
        return replace_argument(node, "map_location", '"cpu"', writer)
    positional = [arg for arg in node.args if arg.keyword is None]
    if len(positional) > 1:  # torch.load(path, None)
        args = [
            arg.with_changes(value=writer.expression('"cpu"')) if arg is positional[1] else arg for arg in node.args
        ]
        return node.with_changes(args=args)
    return with_argument(node, writer.argument('"cpu"', "map_location"))

from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.cuda_api import Kind, cuda_uses
from npuport.analysis.device_evidence import called_name, parameter_of_default
from npuport.analysis.module import Module
from npuport.engine.fix import Fix, Insertion, Rewrite
from npuport.engine.rule import Hit, Rule, Triggers


class CudaDefaultArgument(Rule):
    """A default argument asks CUDA when the module is imported.

    What it does
    ------------
    Reports ``torch.cuda.current_device()`` as the default of a parameter.

    Why on an NPU
    -------------
    Defaults are evaluated when the function is defined, so the *import* of the module raises, before any
    function is called. On a GPU the default is worse than it looks, too: it is the card that was current at
    import time, before ``set_device(local_rank)``.

    Example
    -------
    ::

        def load(batch, device=torch.cuda.current_device()):
            return batch.to(device)

    Use instead
    -----------
    ::

        def load(batch, device=None):
            if device is None:
                device = torch.npu.current_device()
            return batch.to(device)

    Fix safety
    ----------
    Safe: the look-up moves from import time to the call. Unsafe where a caller in the file passes None.

    Sources
    -------
    - Seen in four places of one RLHF port, each of which crashed at import.
    """

    code = "NPU110"
    name = "cuda-default-argument"
    topic = "device"
    triggers = Triggers(("cuda",))

    def check(self, module: Module) -> Iterator[Hit]:
        for use in cuda_uses(module):
            if use.kind is Kind.DEFAULT_ARGUMENT:
                call = module.parent(use.node)
                assert isinstance(call, ast.Call)
                yield Hit(
                    call,
                    "asks CUDA when the module is imported, which fails on an NPU machine",
                    self._fix(module, call),
                )

    def _fix(self, module: Module, call: ast.Call) -> Fix | None:
        arguments = module.parent(call)
        function = module.parent(arguments) if arguments is not None else None
        if not isinstance(arguments, ast.arguments) or not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            return None
        parameter = parameter_of_default(arguments, call)
        body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
        if not body:
            return None
        lookup = Insertion(
            body[0],
            lambda writer: f"if {parameter} is None:\n    {parameter} = {writer.device_module()}.current_device()",
        )
        unsafe = f"a caller passes None to {function.name}()" if _passes_none(module, function.name) else ""
        return Fix("Look it up in the body", (Rewrite(call, lambda node, writer: "None"), lookup), unsafe)


def _passes_none(module: Module, name: str) -> bool:
    for call in module.index.calls:
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        if called_name(call) == name and any(
            isinstance(value, ast.Constant) and value.value is None for value in values
        ):
            return True
    return False

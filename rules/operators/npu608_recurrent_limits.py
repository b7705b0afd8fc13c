from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.device_evidence import names_a_device, parameter_default
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.facts.operators import operator

# Options that the vendor lists as not available, by the position of the argument.
_OPTIONS = {"dropout": 5, "proj_size": 7}
_PACKING = ("torch.nn.utils.rnn.pack_padded_sequence", "torch.nn.utils.rnn.pack_sequence")


class RecurrentLimits(Rule):
    """A recurrent network uses what the NPU's GRU and LSTM do not have.

    What it does
    ------------
    Reports ``dropout=`` of ``nn.GRU`` and ``nn.LSTM``, ``proj_size=`` of ``nn.LSTM``, and packed sequences
    (``pack_padded_sequence``, ``pack_sequence``). Cells, and networks without these, are fine.

    Why on an NPU
    -------------
    The vendor lists these as not available: the kernels take whole batches of equal length and no dropout between
    layers. Packing also reads the lengths on the host, and gives every batch another shape.

    Example
    -------
    ::

        self.rnn = nn.GRU(64, 64, num_layers=2, dropout=0.1)
        packed = pack_padded_sequence(x, lengths.cpu(), enforce_sorted=False)

    Use instead
    -----------
    ::

        self.layers = nn.ModuleList([nn.GRU(64, 64), nn.GRU(64, 64)])
        self.dropout = nn.Dropout(0.1)  # between the layers
        out = out * mask  # padded sequences, and a mask in the loss

    Sources
    -------
    - Vendor's tables of torch.nn: https://github.com/Ascend/pytorch/tree/master/docs/zh/api/native_api
    """

    code = "NPU608"
    name = "recurrent-limits"
    topic = "op"
    severity = Severity.WARNING
    triggers = Triggers(("dropout", "proj_size", "pack_padded_sequence", "pack_sequence", "GRU(", "LSTM("))

    def check(self, module: Module) -> Iterator[Hit]:
        severity = None if names_a_device(module) else Severity.NOTE
        for reference in module.references:
            call = module.parent(reference.node)
            if not isinstance(call, ast.Call) or call.func is not reference.node or module.knows_npu(call):
                continue
            name = reference.dotted.rpartition(".")[2]
            if reference.dotted in _PACKING:
                facts = operator(reference.dotted)
                if facts is not None and not facts.supported:
                    yield Hit(
                        call, f"{name} is not supported on an NPU; pad, and mask what was padded", severity=severity
                    )
            elif reference.dotted in (f"torch.nn.{name}", f"torch.nn.modules.rnn.{name}"):
                for option in _limits(name):
                    value = _given(call, option)
                    if value is not None and not _is_off(module, value):
                        yield Hit(value, f"{option} of nn.{name} is not available on an NPU", severity=severity)


def _limits(name: str) -> Iterator[str]:
    """The options that the vendor's row for a recurrent network names."""
    facts = operator(f"torch.nn.{name}") if name in ("GRU", "LSTM") else None
    if facts is not None:
        yield from (option for option in _OPTIONS if option in facts.limits)


def _given(call: ast.Call, option: str) -> ast.expr | None:
    position = _OPTIONS[option]
    if position < len(call.args):
        return call.args[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg == option), None)


def _is_off(module: Module, value: ast.expr) -> bool:
    """A zero, or a parameter whose default is one; what comes from elsewhere is not known to be off or on."""
    if isinstance(value, ast.Constant):
        return not value.value
    if not isinstance(value, ast.Name):
        return True
    default = parameter_default(module, value)
    return not (isinstance(default, ast.Constant) and default.value)

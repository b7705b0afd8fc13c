"""What the text of a program says of the whole of it."""

from __future__ import annotations

import re
from typing import NamedTuple

_MAKES_ENVIRONMENT = re.compile(r"\bgym(?:nasium)?\.(?:make|vector)|\.make\(|\bmake_vec\(|import gym")
_NAMES_ACCELERATOR = re.compile(
    r"cuda|\bnpu\b|\"npu|'npu|\bdevice\b|accelerator|\bdvc\b|\bxpu\b|_npu\b|use_gpu|\bhpu\b"
)
_COMPUTES_IN_FLOAT64 = re.compile(
    r"set_default_(?:dtype|tensor_type)\([^)]*(?:float64|[dD]ouble)|jax_enable_x64"
    r"|(?:net|model|policy|actor|critic|agent|module|self)\.double\(\)",
    re.IGNORECASE,
)
_CHECKS_OFF = "set_default_validate_args(False)"


class Traits(NamedTuple):
    """What is true of a program as soon as one of its files says so.

    Attributes:
        makes_environment: it makes an environment.
        makes_optimizer: it makes an optimiser.
        names_accelerator: it names an accelerator or a device.
        checks_off: distributions do not validate their arguments.
        computes_in_float64: its networks, or all its tensors, are float64.
    """

    makes_environment: bool
    makes_optimizer: bool
    names_accelerator: bool
    checks_off: bool
    computes_in_float64: bool

    def joined(self, other: Traits) -> Traits:
        """What two files of one program say together."""
        return Traits(*(a or b for a, b in zip(self, other, strict=True)))


def traits_of(text: str) -> Traits:
    """What one file's text says."""
    return Traits(
        makes_environment=_MAKES_ENVIRONMENT.search(text) is not None,
        makes_optimizer="optim" in text,
        names_accelerator=_NAMES_ACCELERATOR.search(text) is not None,
        checks_off=_CHECKS_OFF in text,
        computes_in_float64=_COMPUTES_IN_FLOAT64.search(text) is not None,
    )

"""The one way in which the emulated device fails to come about."""

from __future__ import annotations

from npuport.sources.errors import UsageError


class EmulatorError(UsageError):
    """The emulated device cannot be had: one line that says why and what to do."""

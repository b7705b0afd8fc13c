"""What the emulated device has counted, read from its library."""

from __future__ import annotations

import ctypes
from functools import cache

KERNEL = "kernel."
TO_HOST = "copy.device_to_host"
# What a copy of a tensor with gaps, or a cast, takes; a call that runs on the CPU may need them as well.
_COPYING = {KERNEL + "aclnnInplaceCopy", KERNEL + "aclnnCast"}
_seen: set[str] = set()


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL("libascendcl.so")
    library.npuport_read_counts.argtypes = [ctypes.c_char_p, ctypes.c_int64]
    library.npuport_read_counts.restype = ctypes.c_int64
    return library


def start() -> None:
    """Counts from zero."""
    _seen.update(_counted())
    _library().npuport_reset_counts()


def ran_on_the_cpu() -> bool:
    """Whether values went to the host since the last start and no kernel computed anything."""
    names = _counted()
    return TO_HOST in names and not {name for name in names if name.startswith(KERNEL)} - _COPYING


def kernels_run() -> list[str]:
    """The aclnn kernels that have run in this process."""
    return sorted(name.removeprefix(KERNEL) for name in _seen | _counted() if name.startswith(KERNEL))


def _counted() -> set[str]:
    text = ctypes.create_string_buffer(_library().npuport_read_counts(None, 0) + 1)
    _library().npuport_read_counts(text, len(text))
    return {line.split()[0] for line in text.value.decode().splitlines()}

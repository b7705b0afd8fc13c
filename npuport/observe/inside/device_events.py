"""Copies, waits, refusals and kernels, as the emulated device itself tells them.

Its library calls a function of ours at every copy, wait and refusal, in the thread in which it happens, so that the
Python stack shows the line. Kernels are too many for that: they are read from its counters. The interface is described
in ``npuport/emulator/native/runtime/interface.h``.
"""

from __future__ import annotations

import ctypes
import sys
from collections import Counter
from types import ModuleType

from npuport.observe.inside.watch import Watch

_LIBRARY = "libascendcl.so"
_KERNEL = "kernel."
_REFUSED = "refused."
_ALLOCATED = "allocate.device"
_EVENT = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int64)


class DeviceEvents:
    """Listens to the emulated device; keep it alive as long as the device is."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._library = ctypes.CDLL(_LIBRARY)
        self._library.npuport_read_counts.argtypes = [ctypes.c_char_p, ctypes.c_int64]
        self._library.npuport_read_counts.restype = ctypes.c_int64
        self._before: Counter[str] = Counter()
        self._hook = _EVENT(self._event)
        watch.kernels = self.kernels
        watch.device_tensors = self.device_tensors
        watch.first_step_listeners.append(self._first_step)

    def listen(self) -> None:
        """From now on events are counted by line."""
        self._library.npuport_set_event_hook(self._hook)

    def kernels(self) -> dict[str, int]:
        """Calls by kernel after the first environment step."""
        if self._watch.counters.setup:
            return {}
        calls = self._kernel_calls()
        calls.subtract(self._before)
        return {name: count for name, count in calls.most_common() if count > 0}

    def device_tensors(self) -> bool:
        """Whether memory of the device was ever asked for."""
        return self._calls()[_ALLOCATED] > 0

    def _event(self, what: bytes, moved: int) -> None:
        name = what.decode()
        frame = sys._getframe(1) if sys._getframe().f_back is not None else None
        if name.startswith(_REFUSED):
            self._watch.count("refused", moved, name[len(_REFUSED) :], frame=frame)
        else:
            self._watch.count(name, moved, frame=frame)

    def _first_step(self) -> None:
        self._before = self._kernel_calls()

    def _kernel_calls(self) -> Counter[str]:
        calls = self._calls()
        return Counter({name[len(_KERNEL) :]: calls[name] for name in calls if name.startswith(_KERNEL)})

    def _calls(self) -> Counter[str]:
        room = self._library.npuport_read_counts(None, 0) + 4096
        text = ctypes.create_string_buffer(room)
        self._library.npuport_read_counts(text, room)
        rows = (line.rsplit(" ", 2) for line in text.value.decode().splitlines())
        return Counter({name: int(calls) for name, calls, _ in rows})


def install(watch: Watch) -> None:
    """Listen as soon as torch, and with it torch_npu, is there."""

    def after_torch(torch: ModuleType) -> None:
        events = DeviceEvents(watch)
        if watch.configuration.counting:
            events.listen()

    watch.when_imported("torch", after_torch)

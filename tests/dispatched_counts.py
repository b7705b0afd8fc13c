"""Keeps what the dispatched operators tell, beside what the device itself counts: a hook for ``extra_hook``."""

from __future__ import annotations

import atexit
from typing import Any


def install(watch: Any) -> None:
    """Called before the script."""

    def keep() -> None:
        for name, setup in (("setup", True), ("counts", False)):
            counts = watch.dispatched.totals(setup=setup)
            watch.extra[name] = {event: [count.calls, count.bytes] for event, count in counts.items()}
        watch.extra["lines"] = sorted(
            [line.place.filename, line.place.line, line.event, line.setup, line.count.calls, line.count.bytes]
            for line in watch.dispatched.lines()
        )

    atexit.register(keep)

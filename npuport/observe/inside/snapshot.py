"""The measurement of what has happened so far, written so that it survives any end of the process."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from functools import cache
from importlib import metadata
from pathlib import Path

from npuport.observe.inside.endings import End
from npuport.observe.inside.watch import Watch
from npuport.observe.measurement import Line, LossInput, Measurement, NonFiniteLoss, Outcome

_DISTRIBUTIONS = ("torch", "torch_npu", "gymnasium", "stable_baselines3")
_KILLED = End("killed")
# Snapshots may take this share of the time, and are no closer than this many seconds.
_SHARE = 0.005
_LEAST_SECONDS = 0.25


class Snapshots:
    """Writes the measurement now and then while the script runs, and at its end."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._next = 0.0
        watch.write = self.write
        watch.snapshot_listeners.append(self.write_when_due)

    def write_when_due(self) -> None:
        """Write where the last time is long enough ago."""
        if time.monotonic() < self._next:
            return
        before = time.thread_time()
        self.write()
        took = time.thread_time() - before
        self._next = time.monotonic() + max(_LEAST_SECONDS, took / _SHARE)

    def write(self) -> None:
        """Write at once; the file is whole at every moment."""
        if not self._watch.active:
            return
        path = Path(self._watch.configuration.result)
        unfinished = path.with_suffix(".unfinished")
        # As Measurement.to_json has it, without its copies: this is also written while the script runs.
        unfinished.write_text(json.dumps(measurement(self._watch), default=vars), encoding="utf-8")
        os.replace(unfinished, path)


def measurement(watch: Watch) -> Measurement:
    """What has happened so far."""
    configuration = watch.configuration
    counters = watch.counters
    end = watch.end or _KILLED
    return Measurement(
        script=f"-m {configuration.script}" if configuration.module else configuration.script,
        arguments=configuration.arguments,
        device=configuration.device,  # type: ignore[arg-type]
        device_name=configuration.device_name,
        dtype_checks=configuration.dtype_checks,
        versions=_versions(),
        user_files=_user_files(watch),
        seconds=round(time.monotonic() - watch.started if watch.seconds is None else watch.seconds, 4),
        start_seconds=round(watch.start_seconds, 4),
        outcome=Outcome(end.ending, end.status, end.error, Line(*end.place)),
        transitions=watch.transitions,
        vector_steps=watch.vector_steps,
        environments=watch.environments,
        updates=watch.updates,
        backward_calls=watch.backward_calls,
        device_tensors=watch.device_tensors(),
        device_parameters=watch.device_parameters,
        setup=counters.totals(setup=True),
        counts=counters.totals(setup=False),
        kernels=watch.kernels(),
        fallbacks=counters.details("fallback"),
        lines=counters.lines(),
        loss_inputs=[
            LossInput(Line(*place), function, dtypes, calls)
            for (place, function, dtypes), calls in list(watch.loss_inputs.items())
        ],
        non_finite=[NonFiniteLoss(Line(*place), *rest) for place, rest in list(watch.non_finite.items())],
        losses=list(watch.losses),
        episodes=list(watch.episodes),
        transition_at=list(watch.transition_at),
        not_measured=_not_measured(watch),
        extra=dict(watch.extra),
    )


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    found.update({name: _version(name) for name in _DISTRIBUTIONS if name in sys.modules})
    return found


@cache
def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"


def _user_files(watch: Watch) -> list[str]:
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    names = {watch.files.name(file) for file in files if isinstance(file, str) and file.endswith(".py")}
    return sorted(names - {""})


def _not_measured(watch: Watch) -> list[str]:
    told = list(watch.not_measured)
    if watch.end is not None and not watch.vector_steps:
        told.append("environment steps: no environment of gymnasium or stable_baselines3 was stepped in this process")
        if watch.configuration.max_steps is not None:
            told.append("the limit of environment steps: without one that is seen it could not end the script")
    if watch.forked:
        told.append(
            f"what {watch.forked} processes did that the script forked: only their vector environments are seen"
        )
    return told

"""Starts a script on a device, watched, and reads what was measured."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from npuport.device.choice import Device, Progress, child_environment
from npuport.observe.configuration import Configuration
from npuport.observe.measurement import Measurement, Outcome, measurement_from_json
from npuport.sources.errors import UsageError

_INSIDE = Path(__file__).parent / "inside" / "__main__.py"
# Of what numbers depend on: threads split sums, and set order decides in which order objects are visited.
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_HASH_SEED = "PYTHONHASHSEED"
_OUTPUT_KEPT = 20_000  # characters, the last
_LOOKED_AT = 4096  # bytes

Started = Callable[["subprocess.Popen[bytes]"], None]


@dataclass(frozen=True)
class RunOptions:
    """How a script is run and watched.

    Attributes:
        script: its path, or a module's name where `module`.
        device: of ``npuport.device.choice.choose_device``.
        dtype_checks: which dtypes the emulated device refuses.
        max_steps: live transitions after which the script is ended; likewise `max_updates` for optimiser steps.
        counting: the counting pass. Without it only transitions, episodes, updates and losses are watched, at next to
            no cost: the learning pass.
        seed: for Python, NumPy and torch, and for the first reset of an environment that the script does not seed.
        gym_alias: ``import gym`` gives gymnasium.
        capture_output: the script's own output is kept in the measurement instead of going to the terminal.
        cwd: where it runs; here where None.
        extra_hook: a module; its ``install(watch)`` is called in the child before the script.
        losses: how many of the first losses are kept.
        environment: more variables for the child.
        deterministic_threads: of the numeric libraries; as the machine has them where None.
    """

    script: str
    arguments: tuple[str, ...] = ()
    module: bool = False
    device: Device = field(kw_only=True)
    dtype_checks: str = "strict"
    max_steps: int | None = None
    max_updates: int | None = None
    counting: bool = True
    seed: int | None = None
    gym_alias: bool = False
    capture_output: bool = False
    cwd: Path | None = None
    extra_hook: str = ""
    losses: int = 50
    environment: Mapping[str, str] = field(default_factory=dict)
    deterministic_threads: int | None = None


def watch(options: RunOptions, progress: Progress | None = None, *, started: Started | None = None) -> Measurement:
    """Run the script to its end, and give what was measured, also where it crashed or was killed.

    Args:
        progress: of a build of the emulated device, where it has to be built first.
        started: is given the child when it has been started. Outside of the main thread no signal is forwarded to it:
            that is the caller's.

    Raises:
        UsageError: there is no such script, the device cannot be prepared, or the child could not even start.
    """
    if not options.module:
        check_script((options.cwd or Path()) / options.script)
    environment = _child_environment(options, progress)
    with tempfile.TemporaryDirectory(prefix="npuport-run-") as name:
        folder = Path(name)
        result = folder / "measurement.json"
        configuration = folder / "configuration.json"
        _configuration(options, result).write(configuration)
        output = folder / "output.txt" if options.capture_output else None
        status = _run([options.device.python, str(_INSIDE), str(configuration)], options, environment, output, started)
        return _read(result, status, output)


def check_script(path: Path) -> None:
    """Refuse what Python could not run at all, before anything is built or started.

    Raises:
        UsageError: it is not there, cannot be read, or is neither Python source nor an archive or folder with a
            ``__main__.py``.
    """
    if not path.exists():
        raise UsageError(f"no such script: {path}")
    if path.is_dir() and not (path / "__main__.py").is_file():
        raise UsageError(f"{path} is a folder without __main__.py; name a script, or a module with -m")
    if path.is_file() and path.suffix != ".pyc" and not zipfile.is_zipfile(path):
        try:
            with path.open("rb") as file:
                binary = b"\0" in file.read(_LOOKED_AT)
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
        if binary:
            raise UsageError(f"{path} is no Python source")


def _child_environment(options: RunOptions, progress: Progress | None) -> dict[str, str]:
    base = {**os.environ, **options.environment}
    if options.seed is not None:
        base.setdefault(_HASH_SEED, str(options.seed % 2**32))
    if options.deterministic_threads is not None:
        base.update(dict.fromkeys(_THREADS, str(options.deterministic_threads)))
    if options.counting:
        # What runs inside compiled graphs is not dispatched operator by operator.
        base.setdefault("TORCH_COMPILE_DISABLE", "1")
    return child_environment(options.device, base, options.dtype_checks, progress)


def _configuration(options: RunOptions, result: Path) -> Configuration:
    same = {entry.name for entry in dataclasses.fields(Configuration)} & {
        entry.name for entry in dataclasses.fields(RunOptions)
    }
    values = {name: getattr(options, name) for name in same - {"arguments", "device", "dtype_checks"}}
    return Configuration(
        **values,
        arguments=list(options.arguments),
        result=str(result),
        started=time.time(),
        device=options.device.kind,
        device_name=options.device.name,
        dtype_checks=options.dtype_checks if options.device.kind == "emulated" else "",
    )


def _run(
    command: list[str],
    options: RunOptions,
    environment: Mapping[str, str],
    output: Path | None,
    started: Started | None,
) -> int:
    """The status of the child; negative is the signal that ended it."""
    with output.open("wb") if output is not None else nullcontext() as file:
        errors = subprocess.STDOUT if file is not None else None
        child = subprocess.Popen(command, cwd=options.cwd, env=dict(environment), stdout=file, stderr=errors)
        if started is not None:
            started(child)
        return _wait(child)


def _wait(child: subprocess.Popen[bytes]) -> int:
    with _forwarding(child):
        while True:
            try:
                return child.wait()
            except KeyboardInterrupt:
                continue


@contextmanager
def _forwarding(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ctrl-C in a terminal reaches the child by itself; what was sent to this process alone is handed on."""

    def forward(number: int, frame: FrameType | None) -> None:
        if number != signal.SIGINT or not _in_terminal():
            child.send_signal(number)

    before: dict[int, Callable[..., object] | int | None] = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            before[number] = signal.signal(number, forward)
        except ValueError:  # not in the main thread: signals are the caller's
            break
    try:
        yield
    finally:
        for changed, handler in before.items():
            signal.signal(changed, handler)


def _in_terminal() -> bool:
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError, AttributeError):
        return False


def _read(result: Path, status: int, output: Path | None) -> Measurement:
    try:
        measured = measurement_from_json(json.loads(result.read_text(encoding="utf-8")))
    except FileNotFoundError:
        said = _tail(output).strip().splitlines()
        raise UsageError(f"the script could not be started: {said[-1] if said else _status_name(status)}") from None
    if measured.outcome.ending == "killed":
        measured.outcome = Outcome("killed", _shell_status(status), _status_name(status))
    if output is not None:
        measured.output = _tail(output)
    return measured


def _tail(output: Path | None) -> str:
    return output.read_text(encoding="utf-8", errors="replace")[-_OUTPUT_KEPT:] if output is not None else ""


def _shell_status(status: int) -> int:
    return 128 - status if status < 0 else status


def _status_name(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"

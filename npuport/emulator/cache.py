"""The folder of builds: one builder at a time, nothing half-made, old builds removed.

A build is a folder under its key. It is made under another name and renamed when it is whole, so a folder that is
there is complete. The lock is one of the system's (``flock``): it goes with the process that holds it, however that
process ends.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from npuport.emulator.errors import EmulatorError

_MAKING = ".making-"
_KEPT = 5  # builds
_DAY = 86400.0  # seconds
_LONGEST_UNUSED = 30 * _DAY
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of npuport; see https://bford.info/cachedir/\n"


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Where builds are kept: ``NPUPORT_CACHE_DIR``, else below ``XDG_CACHE_HOME``, else below ``~/.cache``."""
    stated = environment.get("NPUPORT_CACHE_DIR")
    if stated:
        return Path(stated).expanduser().absolute() / "emulator"
    # The specification of XDG has relative paths ignored.
    base = Path(environment.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path("~/.cache").expanduser()) / "npuport" / "emulator"


def find(folder: Path, key: str) -> Path | None:
    """The build of a key, marked as used; None where there is none yet."""
    build = folder / key
    if not build.is_dir():
        return None
    with suppress(OSError):  # a cache that may only be read is one that somebody else looks after
        os.utime(build)
    return build


def find_or_make(folder: Path, key: str, make: Callable[[Path], None]) -> Path:
    """The build of a key, made by ``make(empty folder)`` where there is none.

    Another process that makes the same build is waited for.

    Raises:
        EmulatorError: the folder cannot be written, or has no room; nothing half-made stays behind.
    """
    found = find(folder, key)
    if found is not None:
        return found
    try:
        _prepare(folder)
        with _locked(folder / f"{key}.lock"):
            return find(folder, key) or _made(folder, key, make)
    except OSError as error:
        raise EmulatorError(_explained(error, folder)) from error


def _made(folder: Path, key: str, make: Callable[[Path], None]) -> Path:
    _remove_unfinished(folder, key)
    making = folder / f"{_MAKING}{key}-{os.getpid()}"
    making.mkdir()
    try:
        make(making)
        making.rename(folder / key)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    _remove_old(folder, key)
    return folder / key


def _prepare(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tag = folder / "CACHEDIR.TAG"
    if not tag.exists():
        tag.write_text(_TAG, encoding="utf-8")


@contextmanager
def _locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock; without ``wait``, give False where another process has it."""
    with path.open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _remove_unfinished(folder: Path, key: str) -> None:
    """What builders left that were killed; called by the holder of the key's lock."""
    for left in folder.glob(f"{_MAKING}{key}-*"):
        shutil.rmtree(left, ignore_errors=True)


def _remove_old(folder: Path, newest: str) -> None:
    """Keep the builds that were used last; one that was used today may be in use still."""
    builds = sorted(_builds(folder), key=lambda build: build[1], reverse=True)
    now = time.time()
    for place, (build, used) in enumerate(builds):
        unused = now - used
        if build.name != newest and (unused > _LONGEST_UNUSED or (place >= _KEPT and unused > _DAY)):
            with _locked(folder / f"{build.name}.lock", wait=False) as free:
                if free:
                    shutil.rmtree(build, ignore_errors=True)
                    _remove_unfinished(folder, build.name)


def _builds(folder: Path) -> Iterator[tuple[Path, float]]:
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.name.startswith("."):
            with suppress(OSError):
                yield entry, entry.stat().st_mtime


def _explained(error: OSError, folder: Path) -> str:
    full = [os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT)]
    # Copying a folder gathers what went wrong for each of its files, as texts.
    reason = str(error.args[0][0][2]) if isinstance(error, shutil.Error) else error.strerror or str(error)
    if any(text in reason for text in full):
        return f"no room left in {folder} to build the emulated device; NPUPORT_CACHE_DIR names another folder"
    return f"cannot build the emulated device in {folder}: {reason}; NPUPORT_CACHE_DIR names another folder"

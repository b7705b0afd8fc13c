"""Writes a file so that it is either the old one or the new one, never half of each."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path


class ChangedMeanwhile(Exception):
    """The file is not what was read: somebody else wrote it."""


def write_atomically(path: Path, data: bytes, expected: bytes) -> None:
    """Replace the contents of a file; permissions stay, a symbolic link goes on pointing at it.

    Args:
        path: the file, or a link to it.
        data: its new contents.
        expected: its contents as they were read.

    Raises:
        ChangedMeanwhile: the file holds something else by now.
        OSError: the system refuses; the file is untouched.
    """
    target = Path(os.path.realpath(path))
    if target.read_bytes() != expected:
        raise ChangedMeanwhile(f"{path} was changed by another program while it was fixed")
    status = target.stat()
    if not os.access(target, os.W_OK):
        # Renaming over it would work all the same, but a file that is read-only is meant to stay as it is.
        raise PermissionError(13, "it is read-only", str(path))
    # The name is known before the file is there, so that an interrupt at any moment leaves nothing behind.
    temporary = target.parent / f".{target.name}.{os.getpid()}.npuport"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, stat.S_IMODE(status.st_mode))
        with contextlib.suppress(OSError, AttributeError):
            os.chown(temporary, status.st_uid, status.st_gid)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise

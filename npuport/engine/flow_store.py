"""What is known of each file's functions from earlier runs, one file of data for each source file."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from npuport.analysis.flow.storage import Data


class FlowStore:
    """A folder of data by source file.

    Args:
        folder: where it is; made when something is saved.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, key: str) -> Data | None:
        """What was saved for a source file; None where nothing was, or it cannot be read."""
        with suppress(OSError, ValueError):
            data = json.loads(self._path(key).read_bytes())
            if isinstance(data, dict) and data.get("key") == key:
                return data
        return None

    def save(self, key: str, data: Data) -> None:
        """Keep the data of a source file; a folder that cannot be written is no fault of the check."""
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(json.dumps({**data, "key": key}, separators=(",", ":")))
            os.replace(temporary, self._path(key))

    def _path(self, key: str) -> Path:
        return self._folder / f"{hashlib.blake2b(key.encode(), digest_size=12).hexdigest()}.json"

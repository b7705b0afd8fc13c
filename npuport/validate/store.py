"""Finished runs, kept in ``.npuport_cache/validate/``: a validation that was interrupted goes on where it was.

A run counts as the same when the program, its arguments, the device, the versions and every file of the user's that
took part in it are the same.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from npuport import __version__
from npuport.device.installed import read_interpreter
from npuport.engine.cache import FOLDER, digest, make_cache_folder
from npuport.observe.measurement import Measurement, measurement_from_json
from npuport.observe.run import RunOptions


@dataclass(frozen=True)
class RunStore:
    """Measurements by what was run.

    Attributes:
        folder: where they lie.
        environment: what all runs have in common: versions of npuport, torch, torch_npu and Python.
    """

    folder: Path
    environment: str

    def find(self, options: RunOptions) -> Measurement | None:
        """The measurement of this run, if it was finished and its files are as they were."""
        try:
            entry = json.loads(self._file(options).read_bytes())
            if entry["files"] == _digests(entry["files"]):
                return measurement_from_json(entry["measurement"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None  # not there, or damaged
        return None

    def keep(self, options: RunOptions, measurement: Measurement) -> None:
        """Keep a finished run; a folder that cannot be written only costs the next validation its time."""
        entry = {"files": _digests(measurement.user_files), "measurement": measurement.to_json()}
        file = self._file(options)
        with suppress(OSError):
            make_cache_folder(self.folder.parent)
            file.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=file.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(json.dumps(entry))
            os.replace(temporary, file)

    def _file(self, options: RunOptions) -> Path:
        """A folder for each program, a file for each of its runs."""
        device = options.device
        program = (options.script, _source_digest(options), options.module, str(options.cwd or Path.cwd()))
        run = (
            options.arguments, device.kind, device.name, options.dtype_checks, options.max_steps, options.max_updates,
            options.counting, options.seed, options.gym_alias, options.extra_hook, options.losses,
            sorted(options.environment.items()), options.deterministic_threads,
        )  # fmt: skip
        return self.folder / _hash(program, self.environment) / f"{_hash(run)}.json"


def run_store(python: str, folder: Path | None = None) -> RunStore:
    """The store of the current folder, for runs of an interpreter."""
    interpreter = read_interpreter(python)
    versions = (__version__, interpreter.version, interpreter.torch.version, interpreter.torch_npu.version)
    return RunStore(folder or Path(FOLDER) / "validate", repr(versions))


def _source_digest(options: RunOptions) -> str:
    """Of the program's own file; what it imports is compared once it has run."""
    name = options.script
    if options.module:
        spec = importlib.util.find_spec(name)
        name = spec.origin if spec is not None and spec.origin else name
    return _digest(str((options.cwd or Path()) / name))


def _digests(files: Sequence[str] | dict[str, str]) -> dict[str, str]:
    return {name: _digest(name) for name in files}


def _digest(name: str) -> str:
    try:
        return digest(Path(name).read_bytes())
    except OSError:
        return ""


def _hash(*parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()

"""What the process of a watched script is told: ``CONFIG.json``, written by ``npuport.observe.run``."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Configuration:
    """How one script is run and what is watched.

    Attributes:
        script: path of the script, or a module's name where `module`.
        result: where the measurement is written.
        started: ``time.time()`` when the process was started.
        max_steps: transitions after which the script is ended; likewise `max_updates`.
        counting: whether device events, dispatched operators and loss functions are watched, line by line.
        seed: for Python, NumPy and torch, and for the first reset of an environment that the script does not seed.
        gym_alias: whether ``import gym`` gives gymnasium.
        extra_hook: a module whose ``install(watch)`` is called before the script.
        losses: how many of the first losses are kept.
    """

    script: str
    arguments: list[str]
    module: bool
    result: str
    started: float
    device: str
    device_name: str = ""
    dtype_checks: str = ""
    max_steps: int | None = None
    max_updates: int | None = None
    counting: bool = True
    seed: int | None = None
    gym_alias: bool = False
    extra_hook: str = ""
    losses: int = 50

    def write(self, path: Path) -> None:
        """As ``read_configuration`` reads it."""
        path.write_text(json.dumps(dataclasses.asdict(self)), encoding="utf-8")


def read_configuration(path: str) -> Configuration:
    """The configuration in a file of ``Configuration.write``."""
    return Configuration(**json.loads(Path(path).read_text(encoding="utf-8")))

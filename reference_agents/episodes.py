"""Counts transitions and episodes of vector environments; writes them as CSV and for TensorBoard; shows progress."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import sys
import time
from pathlib import Path
from typing import Any, TextIO

import numpy as np

_SHOW_EVERY = 1.0  # seconds


class Episodes:
    """What the environments gave so far.

    Attributes:
        transitions: over all environments, without the steps in which one only reset itself.
        finished: for each ended episode the transitions at its end, and its undiscounted return.
    """

    def __init__(self, environments: int, total_steps: int, folder: Path | None = None) -> None:
        """Writes ``episodes.csv``, and TensorBoard events where tensorboard is installed, if a folder is given."""
        self.transitions = 0
        self.finished: list[tuple[int, float]] = []
        self._running = np.zeros(environments)
        self._total_steps = total_steps
        self._started = self._shown = time.monotonic()
        self._transitions_at_start = 0
        self._file: TextIO | None = None
        self._events: Any = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = (folder / "episodes.csv").open("w", buffering=1, newline="", encoding="utf-8")
            self._csv = csv.writer(self._file)
            self._csv.writerow(("transitions", "episodic_return"))
            if importlib.util.find_spec("tensorboard") is not None:
                self._events = importlib.import_module("torch.utils.tensorboard").SummaryWriter(str(folder))

    def add(self, rewards: np.ndarray, ended: np.ndarray, live: np.ndarray) -> None:
        """One vector step: rewards, and 1 for each environment whose episode ended, and whose step was one."""
        self.transitions += int(live.sum())
        self._running += rewards
        if ended.any():
            for number in np.flatnonzero(ended):
                self._record(self.transitions, float(self._running[number]))
                self._running[number] = 0
        if time.monotonic() - self._shown > _SHOW_EVERY:
            self.show()

    def _record(self, transitions: int, episodic_return: float) -> None:
        self.finished.append((transitions, episodic_return))
        if self._file is not None:
            self._csv.writerow((transitions, episodic_return))
        if self._events is not None:
            self._events.add_scalar("charts/episodic_return", episodic_return, transitions)

    def last_mean(self, count: int = 20) -> float:
        """Mean return of the last episodes; NaN before the first has ended."""
        returns = [episodic_return for _, episodic_return in self.finished[-count:]]
        return sum(returns) / len(returns) if returns else float("nan")

    def show(self, end: str = "\r") -> None:
        """Progress in one line on stderr, overwritten by the next where that is a terminal."""
        self._shown = time.monotonic()
        rate = (self.transitions - self._transitions_at_start) / max(self._shown - self._started, 1e-9)
        remaining = max(self._total_steps - self.transitions, 0) / max(rate, 1e-9)
        line = (
            f"{self.transitions:,} of {self._total_steps:,} transitions, {rate:,.0f} a second, "
            f"{len(self.finished)} episodes, last 20: {self.last_mean():.1f}, {remaining:.0f} s left"
        )
        if sys.stderr.isatty() or end == "\n":
            print(line, end=end, file=sys.stderr, flush=True)

    def __enter__(self) -> Episodes:
        """Time counts from here."""
        self._started = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        """Writes the last line of progress, and closes the files."""
        self.show("\n")
        if self._file is not None:
            self._file.close()
        if self._events is not None:
            self._events.close()

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {"transitions": self.transitions, "finished": list(self.finished), "running": self._running.tolist()}

    def load(self, state: dict[str, Any]) -> None:
        """Goes on where a checkpoint was; earlier episodes are written again."""
        for transitions, episodic_return in state["finished"]:
            self._record(transitions, episodic_return)
        self.transitions = self._transitions_at_start = state["transitions"]
        self._running = np.array(state["running"])

"""Checkpoints: everything a run needs to go on as if it had never stopped, on the CPU."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch

from npuport.sources.errors import UsageError

ArgumentsType = TypeVar("ArgumentsType")
# Say where a run happens and how it is cut into pieces, and change nothing of what is learnt.
_PLACE = ("device", "output_folder", "checkpoint_every", "stop_after", "resume")


class Diverged(Exception):
    """The loss or a parameter is no longer finite: training cannot go on."""


class Part(Protocol):
    """What a checkpoint holds a state of."""

    def state(self) -> dict[str, Any]:
        """The state, as tensors on the CPU and plain data."""

    def load(self, state: dict[str, Any]) -> None:
        """Takes over a state, bit by bit."""


def identity(arguments: Any) -> dict[str, Any]:
    """The arguments that change what is learnt, as plain data: hyper-parameters, environment, seed and steps."""
    return {name: value for name, value in vars(arguments).items() if name not in _PLACE}


def resumed(arguments: Any) -> tuple[Any, dict[str, Any]]:
    """What to run with, and the states to start from: those of the checkpoint in ``arguments.resume``, if any.

    Raises `UsageError` where it is no checkpoint that can be read.
    """
    path: Path | None = arguments.resume
    if path is None:
        return arguments, {}
    try:
        states: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, ValueError, EOFError) as error:
        raise UsageError(f"{path}: not a checkpoint that can be read: {str(error).splitlines()[0]}") from error
    return dataclasses.replace(arguments, **states.pop("arguments")), states


def load_checkpoint(parts: Mapping[str, Part], states: Mapping[str, Any]) -> None:
    """Puts the parts of a run where a checkpoint has them; without one they stay as they are."""
    for name, state in states.items():
        parts[name].load(state)


def save_checkpoint(parts: Mapping[str, Part], arguments: Any) -> None:
    """Writes ``checkpoint.pt``, at once or not at all; nothing where there is no output folder.

    Raises `Diverged` where a parameter is not finite: the checkpoint before is the one to go on from.
    """
    if arguments.output_folder is None:
        return
    states = {name: part.state() for name, part in parts.items()}
    if not bool(states["agent"]["parameters"].isfinite().all()):
        raise Diverged("a parameter is no longer finite; the checkpoint before is kept")
    unfinished = arguments.output_folder / "checkpoint.pt.unfinished"
    torch.save({"arguments": identity(arguments), **states}, unfinished)
    unfinished.replace(arguments.output_folder / "checkpoint.pt")

"""The command line of an agent, made from the fields of its arguments."""

from __future__ import annotations

import argparse
import dataclasses
import random
import sys
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import torch
from npuport.reference_agents.checkpoints import Diverged

from npuport.sources.errors import UsageError

ArgumentsType = TypeVar("ArgumentsType")


def arguments_for(kind: type[ArgumentsType], settings: Mapping[str, Mapping[str, Any]], **given: Any) -> ArgumentsType:
    """Arguments with the settings of the environment that is given, and over them what else is given."""
    env_id: str = given.get("env_id", getattr(kind, "env_id", ""))  # a class attribute is the default of its field
    return kind(**{**settings.get(env_id, {}), **given})


def parse(
    kind: type[ArgumentsType], settings: Mapping[str, Mapping[str, Any]], words: list[str] | None = None
) -> ArgumentsType:
    """Reads a command line: every field of `kind` is an option."""
    parser = argparse.ArgumentParser(description=kind.__doc__, argument_default=argparse.SUPPRESS)
    types = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        option, type_ = "--" + field.name.replace("_", "-"), types[field.name]
        members = [each for each in typing.get_args(type_) if each not in (type(None), Ellipsis)]
        several = typing.get_origin(type_) is tuple
        parser.add_argument(option, type=members[0] if members else type_, nargs="+" if several else None)
    given = vars(parser.parse_args(words))
    return arguments_for(kind, settings, **{name: tuple(v) if isinstance(v, list) else v for name, v in given.items()})


def seed_everything(seed: int) -> None:
    """Seeds Python, NumPy and torch on every device, and makes sums on the CPU come out the same every time."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # one order of summation; networks this small are fastest on one thread, too


def open_device(name: str) -> torch.device:
    """The device, once a tensor could be put on it. ``npu`` needs torch_npu, which torch loads by itself."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(f"device {name!r} cannot be used: {str(error).splitlines()[0]}") from error
    return device


def run(train: Callable[[], object]) -> None:
    """Runs a training; ends with one line and a status where it cannot go on."""
    try:
        train()
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except Diverged as error:
        print(f"stopped: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("interrupted; --resume goes on from the last checkpoint, if there is one", file=sys.stderr)
        sys.exit(130)

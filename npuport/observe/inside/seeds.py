"""Seeds what the script does not seed itself, so that a run can be repeated; a script's own seeds come later."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from typing import Any

from npuport.observe.inside.watch import Watch

_LARGEST = 2**32  # NumPy takes no larger one


def install(watch: Watch) -> None:
    """Seed the generators of Python, NumPy and torch; of the last two when the script imports them."""
    seed = watch.configuration.seed
    if seed is None:
        return
    random.seed(seed)
    watch.when_imported("numpy", lambda numpy: numpy.random.seed(seed % _LARGEST))
    watch.when_imported("torch", lambda torch: torch.manual_seed(seed))


def with_seed(reset: Callable[..., Any], environment: Any, options: dict[str, Any], seed: int) -> dict[str, Any]:
    """What an environment's first ``reset`` is called with: the script's own seed, else this one.

    Its space of actions, from which scripts sample, is seeded along with it.
    """
    if options.get("seed") is not None:
        return options
    space = getattr(environment, "action_space", None)
    if space is not None:
        space.seed(seed % _LARGEST)
    return {**options, "seed": seed % _LARGEST} if _takes_seed(reset) else options


def _takes_seed(reset: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(reset).parameters
    except (TypeError, ValueError):
        return False
    return "seed" in parameters or any(entry.kind is entry.VAR_KEYWORD for entry in parameters.values())

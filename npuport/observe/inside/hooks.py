"""All hooks, each of which waits for the module that it is about."""

from __future__ import annotations

import importlib

from npuport.observe.inside import (
    backward,
    device_events,
    dispatch,
    environments,
    gym_alias,
    loss_functions,
    optimisers,
    seeds,
    stable_baselines,
)
from npuport.observe.inside.watch import Watch


def install(watch: Watch) -> None:
    """Install what the configuration asks for; nothing is imported for it that the script does not import."""
    if watch.configuration.gym_alias:
        gym_alias.install()
    seeds.install(watch)
    environments.install(watch)
    stable_baselines.install(watch)
    optimisers.install(watch)
    backward.install(watch)
    if watch.configuration.device == "emulated":
        device_events.install(watch)
    if watch.configuration.counting:
        loss_functions.install(watch)
        if watch.configuration.device != "cpu":
            dispatch.install(watch)
    if watch.configuration.extra_hook:
        importlib.import_module(watch.configuration.extra_hook).install(watch)

"""``python -m npuport.validate.inside.agent_function FILE ENV_ID SEED STEPS DEVICE``: calls a file's ``npuport_agent``.

For what cannot run as a script: a notebook's code in a function, an agent that another program starts. The function
trains, and returns

- a policy: a function from observations (rows, ...) to actions (rows, ...), without chance. It is evaluated here.
- or the mean return of an evaluation of its own,
- or nothing.
"""

from __future__ import annotations

import importlib.util
import numbers
import os
import sys
from types import ModuleType

from npuport.reference_agents.evaluation import mean_return
from npuport.validate.inside import probe

FUNCTION = "npuport_agent"
EPISODES = 100
# As for the stored runs of the reference agents: other environments than those of training.
_EVALUATION_SEEDS = 10_000


def main(path: str, env_id: str, seed: str, steps: str, device: str) -> None:
    """Run the file as a module of another name, so that what it keeps for ``__main__`` does not run, and call it."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.argv[:] = [path]
    returned = getattr(_loaded(path), FUNCTION)(env_id, int(seed), int(steps), device)
    probe.training_ended()
    if callable(returned):
        probe.keep_evaluation(mean_return(returned, env_id, EPISODES, _EVALUATION_SEEDS + int(seed)))
    elif isinstance(returned, numbers.Real) and not isinstance(returned, bool):
        probe.keep_evaluation(float(returned))
    elif returned is not None:
        expected = "a policy, the mean return of its evaluation, or None"
        raise TypeError(f"{FUNCTION} returned {type(returned).__name__}: expected {expected}")


def _loaded(path: str) -> ModuleType:
    """The file as an imported module: it can be pickled from, and counts as a file that took part."""
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main(*sys.argv[1:])

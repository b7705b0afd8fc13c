"""``python -m npuport.validate.inside.agent_function FILE ENV_ID SEED STEPS DEVICE``: calls a file's ``npuport_agent``.

For what cannot run as a script: a notebook's code in a function, an agent that another program starts. The function
trains and returns nothing, or the mean return of a greedy evaluation after training.
"""

from __future__ import annotations

import numbers
import os
import runpy
import sys

from npuport.validate.inside.probe import keep_evaluation

FUNCTION = "npuport_agent"


def main(path: str, env_id: str, seed: str, steps: str, device: str) -> None:
    """Run the file as a module of another name, so that what it keeps for ``__main__`` does not run, and call it."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.argv[:] = [path]
    function = runpy.run_path(path, run_name=FUNCTION)[FUNCTION]
    returned = function(env_id, int(seed), int(steps), device)
    if isinstance(returned, numbers.Real) and not isinstance(returned, bool):
        keep_evaluation(float(returned))
    elif returned is not None:
        raise TypeError(f"{FUNCTION} returned {type(returned).__name__}: expected None or the mean greedy return")


if __name__ == "__main__":
    main(*sys.argv[1:])

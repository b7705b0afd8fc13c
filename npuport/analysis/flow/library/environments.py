"""Gymnasium: what makes an environment, and what environments and spaces answer.

One environment gives Python numbers, several at once give NumPy arrays, the rewards in float64
(``gymnasium/vector/sync_vector_env.py``). Observations may be anything.
"""

from __future__ import annotations

import ast
from typing import Final

from npuport.analysis.flow.dtypes import ANY_DTYPE, BOOL, FLOAT32, FLOAT64, INT32, INT64, dtypes_of_argument
from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.library.evaluation import Evaluation
from npuport.analysis.flow.library.numpy_random import GENERATOR
from npuport.analysis.flow.value import (
    A_BOOL,
    A_FLOAT,
    AN_INT,
    ENVIRONMENT,
    MAPPING,
    NOTHING,
    NUMPY,
    NUMPY_SCALAR,
    UNKNOWN,
    VECTOR,
    Atom,
    Value,
    array,
    sequence,
)

_INFO: Final = Value(Atom(MAPPING))
_ONE: Final = Value(Atom(ENVIRONMENT))
_SEVERAL: Final = Value(Atom(ENVIRONMENT, marks=frozenset({VECTOR})))
# How programs call several environments at once.
_VECTOR_ENDINGS: Final = ("envs", "venv", "vec_env", "vecenv", "vector_env")

# The dtype of a space's samples where no argument says another.
_SPACES: Final = {"Box": FLOAT32, "Discrete": INT64, "MultiDiscrete": INT64, "MultiBinary": INT32}
_SPACE_NAMES: Final = frozenset({
    "action_space", "observation_space", "single_action_space", "single_observation_space",
})  # fmt: skip
_ANY_SPACE: Final = Value(Atom(NUMPY, ANY_DTYPE, refs=frozenset({"Space"})))
_SPACE_REFS: Final = frozenset({"Space", *_SPACES})


def call(run: Evaluation, dotted: str, site: CallSite) -> Value:
    """What a call of ``gymnasium.`` something gives; reported as a ``call``."""
    result = _made(dotted, site)
    if run.recording:
        run.event("call", site.node, result, dotted, tuple(site.args), site.keywords)
    return result


def _made(dotted: str, site: CallSite) -> Value:
    last = dotted.rpartition(".")[2]
    if last == "make":
        return _SEVERAL if ".vector." in dotted else _ONE
    if last in ("make_vec", "SyncVectorEnv", "AsyncVectorEnv", "VectorEnv"):
        return _SEVERAL
    if last in _SPACES:
        dtypes = dtypes_of_argument(site.keywords.get("dtype")) or _SPACES[last]
        return Value(Atom(NUMPY, dtypes, refs=frozenset({last})))
    if ".wrappers." in dotted or last.endswith("Wrapper"):
        return _wrapped(dotted, site)
    return UNKNOWN


def _wrapped(dotted: str, site: CallSite) -> Value:
    if ".vector." in dotted:
        return _SEVERAL
    inner = (site.argument(0, "env") or UNKNOWN).get(ENVIRONMENT)
    return Value(inner) if inner is not None else _ONE


def is_vector_name(name: str) -> bool:
    """Whether a receiver is called like several environments."""
    return name.lower().endswith(_VECTOR_ENDINGS)


def step_result(run: Evaluation, atom: Atom | None, site: CallSite, receiver_name: str) -> Value:
    """What ``step`` gives: observation, reward, end (in one or two parts), info; unknown of an unknown environment."""
    if (atom is not None and VECTOR in atom.marks) or is_vector_name(receiver_name):
        # Gymnasium's vector environments give float64; others, known by their name only, may not.
        dtypes = FLOAT64 if atom is not None and VECTOR in atom.marks else FLOAT64 | ANY_DTYPE
        reward, end = array(dtypes, run.origin(site.node)), array(BOOL, run.origin(site.node))
    elif atom is not None:
        reward, end = A_FLOAT, A_BOOL
    else:
        return UNKNOWN
    ends = (end,) if run.unpacked == 4 else (end, end)
    return sequence(items=(UNKNOWN, reward, *ends, _INFO))


def reset_result(run: Evaluation) -> Value:
    """What ``reset`` gives: the observation, with information where it is unpacked into two."""
    return sequence(items=(UNKNOWN, _INFO)) if run.unpacked == 2 else UNKNOWN


def method(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value | None:
    """A method of an environment; ``step`` is reported."""
    if name in ("step", "step_wait", "recv"):
        if run.recording:
            run.event("step", site.node, receiver, name, tuple(site.args))
        return step_result(run, atom, site, "")
    if name == "reset":
        return reset_result(run)
    return NOTHING if name in ("close", "seed") else UNKNOWN


def attribute(run: Evaluation, atom: Atom, name: str, node: ast.AST) -> Value | None:
    """An attribute of an environment."""
    if name in _SPACE_NAMES:
        return _ANY_SPACE
    if name in ("unwrapped", "env"):
        return Value(atom)
    if name == "num_envs":
        return AN_INT
    if name == "np_random":
        return GENERATOR
    return sequence(_ONE) if name == "envs" else None


def is_space(atom: Atom) -> bool:
    """Whether something of NumPy is a space."""
    return not atom.refs.isdisjoint(_SPACE_REFS)


def space_method(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value | None:
    """A method of a space."""
    if name == "contains":
        return A_BOOL
    if name != "sample":
        return UNKNOWN
    if "Space" in atom.refs:
        return Value(Atom(NUMPY))
    if atom.refs == {"Discrete"}:
        return Value(Atom(NUMPY_SCALAR, atom.dtypes, origin=run.origin(site.node)))
    return array(atom.dtypes, run.origin(site.node))


def space_attribute(run: Evaluation, atom: Atom, name: str, node: ast.AST) -> Value | None:
    """An attribute of a space."""
    if name == "shape":
        return sequence(AN_INT)
    if name in ("high", "low"):
        return array(atom.dtypes, run.origin(node))
    if name == "n":
        return AN_INT
    return None

"""How a script ends, and what the shell would be told."""

from __future__ import annotations

import os
import re
import sys
import types
from dataclasses import dataclass

from npuport.observe.inside import gym_alias
from npuport.observe.inside.lines import NOWHERE, Place, UserFiles
from npuport.observe.measurement import Ending

_OURS = os.path.dirname(os.path.realpath(__file__))
INTERRUPTED = 130
# CANN numbers what it tells, as in "EZ1001: Tensor target not implemented for DT_BOOL".
_OF_CANN = re.compile(r"E[A-Z]\w{4}: |emulated device: ")


class LimitReached(BaseException):
    """Ends the script after ``--max-steps``; no ``Exception``, so that scripts which catch those do not catch it."""


@dataclass(frozen=True)
class End:
    """See ``npuport.observe.measurement.Outcome``."""

    ending: Ending
    status: int = 0
    error: str = ""
    place: Place = NOWHERE


def end_of(error: BaseException | None, files: UserFiles, *, limit_reached: bool) -> End:
    """How the script ended, from what it raised; what Python would print has been printed."""
    if limit_reached and (error is None or _because_of_limit(error)):
        return End("steps")
    if error is None:
        return End("finished")
    if isinstance(error, SystemExit):
        return _exited(error)
    without_our_frames(error)
    sys.excepthook(type(error), error, error.__traceback__)
    if gym_alias.is_missing_gym(error):
        print(gym_alias.HINT, file=sys.stderr)
    place = _origin(error, files)
    if isinstance(error, KeyboardInterrupt):
        return End("interrupted", INTERRUPTED, "", place)
    return End("crashed", 1, _one_line(error), place)


def without_our_frames(error: BaseException) -> None:
    """Take our frames and those of ``runpy`` out of the traceback, so that it reads as Python's own."""
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        current = todo.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        current.__traceback__ = _filtered(current.__traceback__)
        todo += [current.__cause__, current.__context__]


def _filtered(traceback: types.TracebackType | None) -> types.TracebackType | None:
    kept: list[types.TracebackType] = []
    while traceback is not None:
        if not _is_ours(traceback.tb_frame.f_code.co_filename):
            kept.append(traceback)
        traceback = traceback.tb_next
    chain: types.TracebackType | None = None
    for entry in reversed(kept):
        chain = types.TracebackType(chain, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return chain


def _is_ours(filename: str) -> bool:
    return filename == "<frozen runpy>" or os.path.realpath(filename).startswith(os.path.join(_OURS, ""))


def _because_of_limit(error: BaseException) -> bool:
    """Whether it is the limit itself, or what a script raised while it unwound from it."""
    current: BaseException | None = error
    while current is not None:
        if isinstance(current, LimitReached):
            return True
        current = current.__cause__ or current.__context__
    return False


def _exited(error: SystemExit) -> End:
    if error.code is None:
        return End("exited", 0)
    if isinstance(error.code, int):
        return End("exited", error.code & 0xFF)
    print(error.code, file=sys.stderr)
    return End("exited", 1, str(error.code).splitlines()[0] if str(error.code) else "")


def _origin(error: BaseException, files: UserFiles) -> Place:
    """The innermost line of the user's in the traceback."""
    place = NOWHERE
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        name = files.name(code.co_filename)
        if name:
            place = Place(name, traceback.tb_lineno or 0, code.co_name)
        traceback = traceback.tb_next
    if place is NOWHERE and isinstance(error, SyntaxError) and error.filename:
        return Place(files.name(error.filename), error.lineno or 0, "")
    return place


def _one_line(error: BaseException) -> str:
    """Type and first line; of an error of CANN also the line that says what was wrong, further down."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines[1:] if _OF_CANN.match(line)]
    text = "; ".join([*lines[:1], *telling[:1]])
    return f"{type(error).__name__}: {text}" if text else type(error).__name__

"""Which line of the user's own files is at work."""

from __future__ import annotations

import os
import sysconfig
from types import FrameType
from typing import NamedTuple

# npuport/: the package that this file is in.
_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
_INSTALLED = {"site-packages", "dist-packages"}


class Place(NamedTuple):
    """A line; `filename` is empty where none of the user's is on the stack."""

    filename: str
    line: int
    function: str


NOWHERE = Place("", 0, "")


class UserFiles:
    """Tells the user's own files from those of Python, of installed packages and of npuport.

    A script that is itself installed makes its folder the user's. Of two folders that hold a file, the inner one tells:
    a virtual environment, or a checkout of npuport, may lie below the script's folder.
    """

    def __init__(self, script_folder: str) -> None:
        self._folder = os.path.join(os.path.realpath(script_folder), "")
        paths = sysconfig.get_paths()
        self._foreign = tuple(
            os.path.join(os.path.realpath(folder), "") for folder in (paths["stdlib"], paths["platstdlib"], _OURS)
        )
        self._foreign_inside = tuple(folder for folder in self._foreign if folder.startswith(self._folder))
        # From the name that code has to its absolute name, empty where it is not the user's.
        self._known: dict[str, str] = {}

    def name(self, filename: str) -> str:
        """The absolute name of a file of the user's; empty for every other."""
        known = self._known.get(filename)
        if known is None:
            known = self._known[filename] = self._find(filename)
        return known

    def nearest(self, frame: FrameType | None) -> Place:
        """The innermost line of the user's on a stack."""
        known = self._known
        while frame is not None:
            code = frame.f_code
            name = known.get(code.co_filename)
            if name is None:
                name = self.name(code.co_filename)
            if name:
                return Place(name, frame.f_lineno or 0, code.co_name)
            frame = frame.f_back
        return NOWHERE

    def _find(self, filename: str) -> str:
        if not filename or filename.startswith("<"):
            return ""
        # Most files are told by their name alone, without a look at the disk.
        if self._foreign_inside and filename.startswith(self._foreign_inside):
            return ""
        if not filename.startswith(self._folder) and (
            filename.startswith(self._foreign) or self._below_installed(filename)
        ):
            return ""
        absolute = os.path.realpath(filename)
        if self._foreign_inside and absolute.startswith(self._foreign_inside):
            return ""
        if absolute.startswith(self._folder) and not self._below_installed(absolute[len(self._folder) :]):
            return os.path.abspath(filename)
        if absolute.startswith(self._foreign) or self._below_installed(absolute):
            return ""
        return os.path.abspath(filename) if os.path.exists(absolute) else ""

    def _below_installed(self, path: str) -> bool:
        return not _INSTALLED.isdisjoint(path.split(os.sep))

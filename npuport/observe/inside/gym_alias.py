"""Gives gymnasium to scripts that import gym: from 0.26 on the two have the same interface."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

_OLD, _NEW = "gym", "gymnasium"
HINT = "npuport: gym is not installed; with --gym-alias `import gym` gives gymnasium, which suits scripts of gym 0.26"


def install() -> None:
    """From now on ``gym`` and its modules are those of gymnasium, not copies of them."""
    sys.meta_path.insert(0, _Finder())


def is_missing_gym(error: BaseException) -> bool:
    """Whether a script stopped because it imports gym."""
    return isinstance(error, ModuleNotFoundError) and error.name == _OLD


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _OLD and not fullname.startswith(f"{_OLD}."):
            return None
        return ModuleSpec(fullname, self) if importlib.util.find_spec(_of_new(fullname)) is not None else None

    def exec_module(self, module: ModuleType) -> None:
        """The import system takes what is in ``sys.modules`` after this."""
        sys.modules[module.__name__] = importlib.import_module(_of_new(module.__name__))


def _of_new(name: str) -> str:
    return _NEW + name[len(_OLD) :]

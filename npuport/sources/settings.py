"""The table ``[tool.npuport]`` of the nearest ``pyproject.toml``, joined with the command line."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from npuport.sources.errors import UsageError

STYLES = ("npu", "portable")
FAIL_LEVELS = ("error", "warning", "note", "never")
DTYPE_CHECKS = ("strict", "losses", "off")

# Folders that hold nobody's own source; the list follows what ruff leaves out by default.
DEFAULT_EXCLUDE = (
    ".bzr", ".direnv", ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".npuport_cache",
    ".pants.d", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "__pycache__",
    "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules", "site-packages", "venv",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What to check and how to write. Field names are the keys of ``[tool.npuport]`` with underscores.

    Attributes:
        select: rule codes, code prefixes, names or topics to run; empty means all.
        extend_select: added to ``select``.
        ignore: taken away again.
        per_file_ignores: pattern in git-ignore syntax to the rules that are ignored in matching files.
        exclude: replaces the default list of folders that are left out.
        extend_exclude: added to ``exclude``.
        style: ``npu`` or ``portable``, what ``fix`` writes.
        target_torch_npu: release of torch_npu whose facts count, e.g. ``2.13.0``.
        fail_level: lowest severity that makes the exit status 1.
        dtype_checks: which dtypes the emulated device refuses: all that CANN's kernels refuse, those of losses, none.
        root: folder that patterns and the cache are relative to.
        file: the pyproject that was read, if any.
    """

    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    style: str = "npu"
    target_torch_npu: str = "2.13.0"
    fail_level: str = "warning"
    dtype_checks: str = "strict"
    root: Path = Path()
    file: Path | None = None


_PLACES = ("root", "file")
_CHOICES = {"style": STYLES, "fail-level": FAIL_LEVELS, "dtype-checks": DTYPE_CHECKS}
_KEYS = tuple(f.name.replace("_", "-") for f in fields(Settings) if f.name not in _PLACES)


def find_pyproject(start: Path) -> Path | None:
    """The nearest ``pyproject.toml`` at or above ``start`` that has a table ``[tool.npuport]``.

    Raises:
        UsageError: a pyproject on the way is not valid TOML.
    """
    folder = start if start.is_dir() else start.parent
    for place in (folder.absolute(), *folder.absolute().parents):
        candidate = place / "pyproject.toml"
        if candidate.is_file() and "npuport" in _tools(candidate):
            return candidate
    return None


def load_settings(start: Path, config: Path | None = None) -> Settings:
    """Settings from ``config`` or from the nearest pyproject, else the defaults.

    Raises:
        UsageError: the file is missing or broken, or has an unknown key or a value of the wrong type.
    """
    file = config or find_pyproject(start)
    if file is None:
        return Settings(root=Path.cwd())
    table = _tools(file).get("npuport", {})
    if not isinstance(table, dict):
        raise UsageError(f"{file}: [tool.npuport] must be a table")
    values = {key.replace("-", "_"): _value(file, key, value) for key, value in table.items()}
    return replace(Settings(root=file.absolute().parent, file=file), **values)


def with_options(settings: Settings, **options: Any) -> Settings:
    """Settings with the command line's options on top; ``None`` and empty tuples leave the file's value."""
    return replace(settings, **{key: value for key, value in options.items() if value not in (None, ())})


def _tools(file: Path) -> dict[str, Any]:
    """The table ``[tool]``; empty where it is no table."""
    tools = _read(file).get("tool", {})
    return tools if isinstance(tools, dict) else {}


def _read(file: Path) -> dict[str, Any]:
    # Imported here: many runs meet no pyproject, and the parser takes as long to import as a file to check.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table: dict[str, Any] = tomllib.loads(file.read_bytes().decode("utf-8"))
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: not valid TOML: {error}") from None
    return table


def _value(file: Path, key: str, value: Any) -> Any:
    """One checked value of the table, lists as tuples."""
    where = f"{file}: [tool.npuport] {key}"
    if key not in _KEYS:
        near = difflib.get_close_matches(key, _KEYS, 1)
        raise UsageError(
            f"{where} is no setting" + (f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(_KEYS)}")
        )
    if key == "per-file-ignores":
        if not isinstance(value, dict):
            raise UsageError(f"{where} must be a table of pattern = [codes]")
        return {pattern: _strings(f"{where}.{pattern!r}", codes) for pattern, codes in value.items()}
    if key in (*_CHOICES, "target-torch-npu"):
        choices = _CHOICES.get(key)
        if not isinstance(value, str) or (choices and value not in choices):
            raise UsageError(f"{where} must be " + (f"one of {', '.join(choices)}" if choices else "a string"))
        return value
    return _strings(where, value)


def _strings(where: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{where} must be a list of strings")
    return tuple(value)

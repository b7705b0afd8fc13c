"""Options that ``check`` and ``fix`` share, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from npuport.engine.checking import Checker
from npuport.engine.per_file_ignores import PerFileIgnores
from npuport.engine.registry import rules_for, selected_codes
from npuport.facts.releases import is_release
from npuport.sources.discovery import discover
from npuport.sources.errors import UsageError
from npuport.sources.settings import FAIL_LEVELS, STYLES, Settings, load_settings, with_options

Command = TypeVar("Command", bound=Callable[..., Any])


def _words(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """``--select NPU1,dtype --select NPU301`` as one tuple."""
    return tuple(word.strip() for item in value for word in item.split(",") if word.strip())


def _words_option(name: str, metavar: str, text: str) -> Callable[[Command], Command]:
    return click.option(name, multiple=True, callback=_words, metavar=metavar, help=text)


_PATH = click.Path(path_type=Path)
_FILE = click.Path(path_type=Path, dir_okay=False)
_SHARED = (
    click.argument("paths", nargs=-1, type=_PATH),
    _words_option("--select", "WORDS", "Rules to run: codes, prefixes (NPU1), names, topics, ALL."),
    _words_option("--extend-select", "WORDS", "Rules to run as well."),
    _words_option("--ignore", "WORDS", "Rules not to run."),
    _words_option("--exclude", "PATTERNS", "Replace the default list of folders that are left out."),
    _words_option("--extend-exclude", "PATTERNS", "Leave out these as well (git-ignore syntax)."),
    click.option("--force-exclude", is_flag=True, help="Leave out excluded files also when they are named."),
    click.option(
        "--style", type=click.Choice(STYLES), help="What fixes write: npu, or code that also runs on CUDA and CPU."
    ),
    click.option("--target", "target_torch_npu", metavar="VERSION", help="The torch_npu release to port to."),
    click.option("--config", type=_FILE, help="A pyproject.toml to read instead of the nearest."),
    click.option(
        "--fail-level", type=click.Choice(FAIL_LEVELS), help="Lowest severity that gives exit status 1 [warning]."
    ),
    click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever was found."),
    click.option("--no-cache", is_flag=True, help="Neither read nor write .npuport_cache/ (fix never does)."),
    click.option("--no-gate", is_flag=True, help="Look into every file, also where no rule can apply."),
    click.option("--stdin-filename", type=_PATH, help="The name that standard input ('-') goes by."),
    click.option("-q", "--quiet", is_flag=True, help="Only findings: no summary, no progress, no hints."),
    click.option("--show-settings", is_flag=True, help="Print the settings that hold here, and exit."),
)


def shared_options(command: Command) -> Command:
    """The options of ``check`` and ``fix``."""
    for option in reversed(_SHARED):
        command = option(command)
    return command


@dataclass(frozen=True)
class Job:
    """What a command was asked to do.

    Attributes:
        settings: file and command line joined.
        paths: what was named; the current folder where nothing was.
        from_stdin: the one path is ``-``.
    """

    settings: Settings
    paths: tuple[Path, ...]
    from_stdin: bool
    stdin_filename: Path
    force_exclude: bool
    gate: bool

    def files(self) -> list[Path]:
        """The files to read."""
        settings = self.settings
        return discover(
            self.paths, settings.exclude + settings.extend_exclude, settings.root, force_exclude=self.force_exclude
        )

    def ignored(self, path: Path) -> frozenset[str]:
        """Codes that ``per-file-ignores`` takes away in a file, which need not exist."""
        return PerFileIgnores(self.settings).codes(path)

    def checker(self, *, with_edits: bool, improving: bool = False) -> Checker:
        """The rules and options of this job; `improving` takes those in that find no fault."""
        settings = self.settings
        codes = selected_codes(settings, improving=improving)
        return Checker(
            rules=rules_for(settings.target_torch_npu),
            reported=codes,
            style=settings.style,
            target=settings.target_torch_npu,
            gate=self.gate,
            with_edits=with_edits,
        )


def job_from(options: dict[str, Any]) -> Job:
    """Check the shared options and read the settings.

    Raises:
        UsageError: options that do not go together, a malformed release, a broken settings file.
    """
    paths: tuple[Path, ...] = options["paths"]
    from_stdin = Path("-") in paths
    if from_stdin and len(paths) > 1:
        raise UsageError("'-' (standard input) goes with no other path")
    if options["stdin_filename"] and not from_stdin:
        raise UsageError("--stdin-filename goes with the path '-'")
    name = options["stdin_filename"] or Path("<stdin>")
    start = name if from_stdin else next((path for path in paths if path.exists()), Path())
    given = {field.name: options[field.name] for field in fields(Settings) if field.name in options}
    settings = with_options(load_settings(start, options["config"]), **given)
    if options["exit_zero"]:
        settings = replace(settings, fail_level="never")
    if not is_release(settings.target_torch_npu):
        raise UsageError(f"{settings.target_torch_npu!r} is no torch_npu release; expected e.g. 2.13.0 or 2.7.1.post2")
    return Job(
        settings=settings,
        paths=paths or (Path(),),
        from_stdin=from_stdin,
        stdin_filename=name,
        force_exclude=options["force_exclude"],
        gate=not options["no_gate"],
    )


def show(settings: Settings) -> str:
    """The settings as they would stand in pyproject.toml."""
    import json

    lines = [f"# from {settings.file or 'the defaults'}", "[tool.npuport]"]
    keys = [field.name for field in fields(settings) if field.name not in ("per_file_ignores", "root", "file")]
    for key in keys:
        value = getattr(settings, key)
        lines.append(f"{key.replace('_', '-')} = {json.dumps(list(value) if isinstance(value, tuple) else value)}")
    if settings.per_file_ignores:
        lines.append("[tool.npuport.per-file-ignores]")
        lines += (
            f"{json.dumps(pattern)} = {json.dumps(list(codes))}" for pattern, codes in settings.per_file_ignores.items()
        )
    return "\n".join(lines)


def warn_of_nothing(files: list[Path], job: Job, *, quiet: bool) -> None:
    """Say on stderr that the paths hold nothing to read."""
    if not files and not quiet:
        click.echo(f"npuport: warning: no Python files or notebooks under {', '.join(map(str, job.paths))}", err=True)

"""``npuport``: the group of commands and what they have in common."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import Any

import click

from npuport import __version__
from npuport.sources.errors import UsageError

# Command to the module that has it; a module is imported when its command runs.
COMMANDS = {
    "check": "npuport.cli.check",
    "fix": "npuport.cli.fix",
    "run": "npuport.cli.run",
    "doctor": "npuport.cli.doctor",
    "validate": "npuport.cli.validate",
    "rules": "npuport.cli.rules",
    "explain": "npuport.cli.explain",
    "completion": "npuport.cli.completion",
}

EXIT_CLEAN, EXIT_FAILED, EXIT_INTERRUPTED = 0, 2, 130


class _Commands(click.Group):
    """Imports a command's module when it is asked for, and words errors in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            raise UsageError(
                f"no command {args[0]!r}"
                + (f"; did you mean {near[0]!r}?" if near else "; `npuport --help` lists them")
            )
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="npuport")
def cli() -> None:
    """Move GPU reinforcement-learning code (PyTorch) to Ascend NPU.

    \b
    npuport check src/          what will break or be wrong, line by line
    npuport fix --write src/    rewrite what can be rewritten
    npuport run train.py        run a script on an NPU, or an emulated one, and count what it does
    npuport doctor              which device that would be here
    npuport explain NPU101      one rule, with its reason and an example
    """


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its status: 0 clean, 1 findings, 2 could not do the job."""
    # A check makes many small long-lived objects and no cycles worth collecting: a third of its time otherwise.
    gc.disable()
    status = run(arguments)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        status = status or EXIT_FAILED
    # Taking a program of syntax trees apart costs a tenth of a check; the system frees it at once.
    os._exit(status)


def run(arguments: list[str] | None = None) -> int:
    """Run a command; every error is one line on stderr."""
    try:
        status: Any = cli.main(args=arguments, prog_name="npuport", standalone_mode=False)
        return status if isinstance(status, int) else EXIT_CLEAN
    except UsageError as error:
        return _fail(str(error))
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "", err=True)
        return EXIT_FAILED
    except click.ClickException as error:
        return _fail(error.format_message())
    except (KeyboardInterrupt, click.Abort):
        click.echo("npuport: interrupted", err=True)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return EXIT_CLEAN
    except OSError as error:
        return _fail(f"{error.filename or 'output'}: {error.strerror or error}")


def _fail(message: str) -> int:
    click.echo(f"npuport: error: {' '.join(message.split())}", err=True)
    return EXIT_FAILED

"""``npuport completion``: the script that completes commands and options in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion", short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the completion script of SHELL; put it where your shell looks, e.g.

    npuport completion bash > ~/.local/share/bash-completion/completions/npuport
    """
    from npuport.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "npuport", "_NPUPORT_COMPLETE").source())
    return 0

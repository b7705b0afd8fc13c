"""``npuport explain``: the documentation page of a rule."""

from __future__ import annotations

import click

from npuport.engine.registry import rule_named
from npuport.reports.catalogue import page


@click.command("explain", short_help="Explain a rule: what, why, example, fix safety.")
@click.argument("rule")
def command(rule: str) -> int:
    """Print the documentation page of RULE, a code (NPU101) or a name (cuda-device-string)."""
    click.echo(page(rule_named(rule)))
    return 0

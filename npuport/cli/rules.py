"""``npuport rules``: the list of rules, made from the rules."""

from __future__ import annotations

import click

from npuport.engine.registry import all_rules, rules_matching
from npuport.reports.catalogue import rows, table


@click.command("rules", short_help="List the rules.")
@click.argument("words", nargs=-1)
@click.option(
    "--output-format",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="How the list is printed.",
)
def command(words: tuple[str, ...], output_format: str) -> int:
    """List the rules, all of them or those that WORDS (codes, prefixes, names, topics) mean."""
    codes = frozenset(code for word in words for code in rules_matching(word))
    rules = [rule for rule in all_rules() if not words or rule.code in codes]
    if output_format == "json":
        import json

        click.echo(json.dumps(list(rows(rules)), indent=2))
    else:
        click.echo(table(rules, markdown=output_format == "markdown"))
    return 0

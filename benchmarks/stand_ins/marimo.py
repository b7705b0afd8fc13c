"""Stands for marimo, whose applications are run as scripts: what they show goes nowhere."""

from __future__ import annotations


class _Output:
    def replace(self, shown: object) -> None:
        """Show something in place of the cell's output."""


output = _Output()


def as_html(shown: object) -> object:
    """A picture as HTML."""
    return shown


def md(text: str) -> str:
    """A text in Markdown."""
    return text

"""Pieces of a self-contained HTML page: nothing is loaded from anywhere, and it follows the reader's light or dark."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

_STYLE = """
:root { color-scheme: light dark; --text: #1c2127; --dim: #5b6672; --back: #ffffff; --panel: #f3f5f7; --line: #d5dbe1;
  --good: #1a7f4b; --fair: #8a5a00; --bad: #b3261e; --up: #2f6fb5; --down: #8a5cb8; --wait: #b26a12; }
@media (prefers-color-scheme: dark) { :root { --text: #e3e7eb; --dim: #9aa5b1; --back: #14181c; --panel: #1d2329;
  --line: #37414b; --good: #5cc98f; --fair: #e0ac52; --bad: #ff8a80; --up: #6aa9ea;
  --down: #b794e0; --wait: #e5a555; } }
body { margin: 2rem auto; max-width: 76rem; padding: 0 1rem; background: var(--back); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.35rem; margin: 0 0 .3rem; } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
code { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; }
.panel { background: var(--panel); border-left: .35rem solid var(--line); padding: .8rem 1.1rem; border-radius: .3rem; }
.panel p { margin: .2rem 0; } .panel.good { border-color: var(--good); } .panel.fair { border-color: var(--fair); }
.panel.bad { border-color: var(--bad); }
.good > .first, .first.good { color: var(--good); } .fair > .first, .first.fair { color: var(--fair); }
.bad > .first, .first.bad, .mark { color: var(--bad); } .bad > .first.good { color: var(--good); }
.bad > .first.fair { color: var(--fair); } .first { font-size: 1.2rem; font-weight: 600; }
.dim { color: var(--dim); } .wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; } th { text-align: left; font-weight: 600; color: var(--dim); }
th, td { padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bars { min-width: 9rem; padding-top: .55rem; } .bar { height: .42rem; min-width: 1px; border-radius: .1rem; }
.bar.up { background: var(--up); } .bar.down { background: var(--down); } .bar.wait { background: var(--wait); }
.key { display: inline-block; width: .8rem; height: .55rem; margin: 0 .3rem 0 .8rem; border-radius: .1rem; }
td:first-child code { white-space: nowrap; }
svg { width: 100%; max-width: 48rem; height: auto; } svg polyline { fill: none; stroke: var(--up); stroke-width: 1.5; }
svg text { fill: var(--dim); font-size: 12px; } svg .axis { stroke: var(--line); }
summary { cursor: pointer; color: var(--dim); }
"""
_POINTS = 1000


def page(title: str, body: str) -> str:
    """A whole page.

    Args:
        title: plain text.
        body: HTML.
    """
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table.

    Args:
        heads: plain texts.
        rows: cells as HTML.
        numbers: columns from 0 that are set as numbers.
    """

    def cells(tag: str, texts: Sequence[str]) -> str:
        kinds = [' class="number"' if index in numbers else "" for index in range(len(texts))]
        return "".join(f"<{tag}{kind}>{text}</{tag}>" for kind, text in zip(kinds, texts, strict=True))

    lines = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = cells("th", [escape(text) for text in heads])
    return f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}\n</tbody></table></div>'


def bar(kind: str, value: float, largest: float) -> str:
    """A bar as long as its share of the largest; nothing for zero."""
    share = 100 * value / largest if largest else 0.0
    return f'<div class="bar {kind}" style="width:{share:.1f}%"></div>' if value else ""


def code(text: str) -> str:
    """Plain text as code."""
    return f"<code>{escape(text)}</code>"


def curve(points: Sequence[tuple[float, float]], across: str, label: str) -> str:
    """A line through points, with its range written at the edges; points that are not finite are left out.

    Of very many points, some are drawn: a screen has no room for more.

    Args:
        points: (x, y), by rising x.
        across: what x is.
        label: what is drawn, for those who do not see it.
    """
    drawn = [(x, y) for x, y in points if math.isfinite(y)]
    if len(drawn) < 3:
        return ""
    drawn = [*drawn[:-1][:: len(drawn) // _POINTS + 1], drawn[-1]]
    width, height, left, below, above = 760, 180, 60, 22, 8
    lowest, highest = min(y for _, y in drawn), max(y for _, y in drawn)
    first, last = drawn[0][0], drawn[-1][0]
    rise, run = (highest - lowest) or 1.0, (last - first) or 1.0

    def at(x: float, y: float) -> str:
        right = left + (width - left) * (x - first) / run
        return f"{right:.1f},{above + (height - below - above) * (highest - y) / rise:.1f}"

    bottom = height - below
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">'
        f'<line class="axis" x1="{left}" y1="{bottom}" x2="{width}" y2="{bottom}"/>'
        f'<polyline points="{" ".join(at(x, y) for x, y in drawn)}"/>'
        f'<text x="0" y="{above + 6}">{highest:.4g}</text><text x="0" y="{bottom}">{lowest:.4g}</text>'
        f'<text x="{left}" y="{height - 4}">{first:,.0f}</text>'
        f'<text x="{width}" y="{height - 4}" text-anchor="end">{last:,.0f} {escape(across)}</text></svg>'
    )

"""Learning curves of two arms as one SVG: a line for the mean, a band for its interval, an axis on either side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from npuport.validate.curves import CurvePoint

# Variables of the page's style, which follow the reader's light or dark.
COLOURS = ("var(--up)", "var(--wait)")
_WIDTH, _HEIGHT = 760, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 16, 44
_TICKS = 5


def learning_curves(
    arms: Sequence[tuple[str, Sequence[CurvePoint]]], threshold: float | None, low: float, high: float
) -> str:
    """The SVG of some arms.

    Args:
        arms: title and curve of each, at most as many as there are ``COLOURS``.
        threshold: drawn as a dashed line where there is one.
        low, high: range of the returns that is shown, widened to what the curves need; NaN where it is unknown.
    """
    points = [point for _, curve in arms for point in curve]
    if not points:
        return "<p>No curve: too few episodes ended.</p>"
    scale = _Scale(points, low, high)
    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Learning curves">', *_axes(scale)]
    if threshold is not None:
        at = scale.y(threshold)
        parts.append(_across(at, 'stroke-dasharray="6 4"'))
    for (title, curve), colour in zip(arms, COLOURS, strict=False):
        parts += _curve(scale, title, colour, curve)
    return "\n".join([*parts, "</svg>"])


class _Scale:
    """From transitions and returns to places in the picture."""

    def __init__(self, points: Sequence[CurvePoint], low: float, high: float) -> None:
        known = [value for value in (low, high) if not math.isnan(value)]
        self.low = min([*known, *(point.mean for point in points)])
        self.high = max([*known, *(point.mean for point in points)])
        if self.high <= self.low:
            self.high = self.low + 1.0
        self.end = max(point.transition for point in points)

    def x(self, transition: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * transition / self.end

    def y(self, value: float) -> float:
        """Kept inside the picture: an interval may reach beyond the returns that there are."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share


def _axes(scale: _Scale) -> list[str]:
    parts = []
    for number in range(_TICKS + 1):
        value = scale.low + (scale.high - scale.low) * number / _TICKS
        at = scale.y(value)
        parts.append(_across(at, 'stroke-opacity="0.5"'))
        parts.append(f'<text text-anchor="end" x="{_LEFT - 8}" y="{at + 4:.1f}">{value:,.0f}</text>')
        step = scale.end * number / _TICKS
        below = f'x="{scale.x(step):.1f}" y="{_HEIGHT - _BOTTOM + 18}"'
        parts.append(f'<text text-anchor="middle" {below}>{step:,.0f}</text>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text text-anchor="middle" x="{middle:.0f}" y="{_HEIGHT - 6}">transitions</text>')
    return parts


def _across(at: float, style: str) -> str:
    return f'<line class="axis" {style} x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'


def _curve(scale: _Scale, title: str, colour: str, curve: Sequence[CurvePoint]) -> list[str]:
    if not curve:
        return []
    upper = [f"{scale.x(point.transition):.1f},{scale.y(point.upper):.1f}" for point in curve]
    lower = [f"{scale.x(point.transition):.1f},{scale.y(point.lower):.1f}" for point in reversed(curve)]
    means = " ".join(f"{scale.x(point.transition):.1f},{scale.y(point.mean):.1f}" for point in curve)
    name = escape(title)
    return [
        f'<polygon style="fill:{colour};opacity:.2" points="{" ".join(upper + lower)}">',
        f"<title>{name}: 90 % interval of the mean</title></polygon>",
        f'<polyline style="stroke:{colour};stroke-width:2" points="{means}">',
        f"<title>{name}: mean over seeds</title></polyline>",
    ]

"""Draws loss curves as SVG, from what a test run recorded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from patchkit.regress.results import Run

WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 36, 44
# Blue, orange, green, purple: told apart by most colour-blind readers; the dashes tell them apart in print.
STROKES = (("#0072b2", ""), ("#d55e00", "7 3"), ("#009e73", "2 3"), ("#cc79a7", "9 3 2 3"))


@dataclass(frozen=True)
class Curve:
    """A named series of losses, one for each step from 0."""

    name: str
    values: tuple[float, ...]


def loss_curves(runs: Iterable[Run]) -> tuple[Curve, ...]:
    """Return the curves that the tests of the runs recorded as ``losses``, named with the simulated fault
    if any."""
    curves = []
    for run in runs:
        for outcome in run.outcomes:
            for case in outcome.cases:
                for name, values in dict(case.facts.get("losses", {})).items():
                    fault = f", fault: {run.subject.simulate}" if run.subject.simulate else ""
                    curves.append(Curve(f"{name}{fault}", tuple(float(value) for value in values)))
    return tuple(curves)


def draw(curves: Sequence[Curve], title: str) -> str:
    """Return an SVG picture of the curves over training steps, with a logarithmic loss axis.

    Raises:
        ValueError: there is no positive finite loss to draw.
    """
    found = [value for curve in curves for value in curve.values if math.isfinite(value) and value > 0]
    if not found:
        raise ValueError("there is no positive loss to draw")
    low, high = math.log10(min(found)), math.log10(max(found))
    margin = max((high - low) * 0.05, 0.01)
    low, high = low - margin, high + margin
    steps = max(len(curve.values) for curve in curves)
    inner_width, inner_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(step: float) -> float:
        return LEFT + inner_width * step / max(steps - 1, 1)

    def y(value: float) -> float:
        return TOP + inner_height * (high - math.log10(value)) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f"aria-label={quoteattr(title)} font-family='system-ui, sans-serif' font-size='12'>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-size="14" fill="#222">{escape(title)}</text>',
    ]
    for value in _ticks(low, high):
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>'
            f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end" fill="#444">{value:.3g}</text>'
        )
    for step in range(0, steps, max(1, round(steps / 6 / 10) * 10)):
        parts.append(
            f'<text x="{x(step):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle" fill="#444">{step}</text>'
        )
    parts.append(f'<text x="{LEFT + inner_width / 2}" y="{HEIGHT - 8}" text-anchor="middle" fill="#444">step</text>')
    for index, curve in enumerate(curves):
        colour, dashes = STROKES[index % len(STROKES)]
        points = " ".join(
            f"{x(step):.1f},{y(value):.1f}"
            for step, value in enumerate(curve.values)
            if math.isfinite(value) and value > 0
        )
        stroke = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}" fill="none"'
        row = TOP + 14 + 17 * index
        parts.append(f'<polyline points="{points}" {stroke}/>')
        parts.append(f'<line x1="{WIDTH - 300}" x2="{WIDTH - 270}" y1="{row}" y2="{row}" {stroke}/>')
        parts.append(f'<text x="{WIDTH - 264}" y="{row + 4}" fill="#222">{escape(curve.name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _ticks(low: float, high: float) -> list[float]:
    """Return round values between ten to ``low`` and ten to ``high``: 1, 2 and 5 times powers of ten."""
    powers = range(math.floor(low) - 1, math.ceil(high) + 1)
    values = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    shown = [value for value in values if low <= math.log10(value) <= high]
    return shown if len(shown) >= 2 else [10 ** (low + (high - low) * part / 4) for part in (1, 2, 3)]

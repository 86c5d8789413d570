"""Draws what beginning is worth over the cap, from what `arena-bot analyze duel MAP --curve A-B --json` prints: a map a
line on standard input, the picture on standard output.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 400, 64, 130, 24, 46
"""The size of the picture and the margins around the curves, in pixels."""
COLOURS = ("#b4503c", "#b8862b", "#4a76a8", "#4f8250", "#7d5ca3")
STEP = 0.1
"""The difference of value between two grid lines."""


def picture(curves: Sequence[Any]) -> str:
    """Return the curves as SVG: the value by cap, with the name of the map at the end of its curve."""
    points: dict[str, list[tuple[int, float]]] = {}
    for curve in curves:
        points[curve["map"]] = [(one["max_troops"], one["value"]) for one in curve["curve"]]
    caps = [cap for places in points.values() for cap, _ in places]
    values = [value for places in points.values() for _, value in places]
    first, last = min(caps), max(caps)
    low, high = int(min(values) / STEP - 1), int(max(values) / STEP + 1)

    def x(cap: float) -> float:
        return round(LEFT + (cap - first) / max(last - first, 1) * (WIDTH - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (value / STEP - low) / (high - low) * (HEIGHT - TOP - BOTTOM), 1)

    def axes() -> Iterator[str]:
        for step in range(low, high + 1):
            at, width = y(step * STEP), 1.5 if step == 0 else 0.5
            yield f'<path d="M{LEFT} {at}H{WIDTH - RIGHT}" stroke="#8f8b82" stroke-width="{width}"/>'
            yield f'<text x="{LEFT - 8}" y="{at + 4}" text-anchor="end">{step * STEP:+z.1f}</text>'
        for cap in range(first, last + 1):
            yield f'<text x="{x(cap)}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{cap}</text>'
        middle = (LEFT + WIDTH - RIGHT) / 2
        yield f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">max_troops</text>'

    def lines() -> Iterator[str]:
        for colour, (name, curve) in zip(COLOURS, points.items(), strict=False):
            places = [(x(cap), y(value)) for cap, value in curve]
            path = "L".join(f"{across} {down}" for across, down in places)
            yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
            yield from (f'<circle cx="{across}" cy="{down}" r="3.5" fill="{colour}"/>' for across, down in places)
            across, down = places[-1]
            yield f'<text x="{across + 9}" y="{down + 4}" fill="{colour}" font-weight="bold">{escape(name)}</text>'

    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        ' font-family="DejaVu Sans, Verdana, sans-serif" font-size="12">',
        "<title>What beginning is worth, by the most troops on a territory</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#faf8f3"/>',
        *axes(),
        *lines(),
        "</svg>",
    ]
    return "\n".join(svg) + "\n"


if __name__ == "__main__":
    sys.stdout.write(picture([json.loads(line) for line in sys.stdin]))

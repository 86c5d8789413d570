"""Draws a picture of each built-in map from the map's file. Run it again after a change of a map."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import sqrt
from pathlib import Path

from games.risk.rules.board import MAX_COORDINATE, Board
from games.risk.rules.maps import MAP_NAMES, load_map
from games.risk.rules.text import wraps_around

COLOURS = ("#b8862b", "#b4503c", "#4a76a8", "#86653c", "#4f8250", "#7d5ca3")
SIDE, TOP, BOTTOM = 90, 40, 80
"""The margins around the territories in pixels: at each side, at the top and at the bottom. They have room for names
and for the legend.
"""
RADIUS = 15


def picture(board: Board) -> str:
    """Return the map as SVG: borders, territories with index and name in their continent's colour, and the bonuses."""
    width, height = size(board)
    places = [
        (
            SIDE + round(place.x / MAX_COORDINATE * (width - 2 * SIDE)),
            TOP + round(place.y / MAX_COORDINATE * (height - TOP - BOTTOM)),
        )
        for place in board.territories
    ]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' font-family="DejaVu Sans, Verdana, sans-serif" text-anchor="middle">',
        f"<title>{escape(board.name)}</title>",
        f'<rect width="{width}" height="{height}" fill="#faf8f3"/>',
        '<g stroke="#8f8b82" stroke-width="1.5" font-size="10">',
        *borders(board, places, width),
        "</g>",
        '<g font-size="12">',
        *territories(board, places),
        *legend(board, width, height),
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def size(board: Board) -> tuple[int, int]:
    """Return the width and height in pixels, which are larger for more territories and for longer names."""
    if max(len(place.name) for place in board.territories) <= 4:
        side = round(64 * sqrt(len(board)))
        return side + 2 * SIDE, side + TOP + BOTTOM
    width = 200 + round(170 * sqrt(len(board)))
    return width, round(0.62 * width)


def borders(board: Board, places: list[tuple[int, int]], width: int) -> Iterator[str]:
    for border in board.borders:
        ends = sorted((*places[end], end) for end in border)
        if wraps_around(board, border):
            (left, left_y, west), (right, right_y, east) = ends
            yield f'<path d="M{left} {left_y}H0M{right} {right_y}H{width}" stroke-dasharray="5 4"/>'
            for x, y, other in ((24, left_y, east), (width - 24, right_y, west)):
                yield f'<text x="{x}" y="{y - 6}" fill="#6b675f" stroke="none">to {other}</text>'
        else:
            (x, y, _), (to_x, to_y, _) = ends
            yield f'<path d="M{x} {y}L{to_x} {to_y}"/>'


def territories(board: Board, places: list[tuple[int, int]]) -> Iterator[str]:
    for index, (place, (x, y)) in enumerate(zip(board.territories, places, strict=True)):
        yield f'<circle cx="{x}" cy="{y}" r="{RADIUS}" fill="{colour(board, place.continent)}"/>'
        yield f'<text x="{x}" y="{y + 4}" fill="#fff" font-weight="bold">{index}</text>'
        halo = 'paint-order="stroke" stroke="#faf8f3" stroke-width="4"'
        yield f'<text x="{x}" y="{y + RADIUS + 13}" fill="#222" {halo}>{escape(place.name)}</text>'


def legend(board: Board, width: int, height: int) -> Iterator[str]:
    column = width / len(board.continents)
    for index, continent in enumerate(board.continents):
        x = round((index + 0.5) * column)
        text = f"{escape(continent.name)} +{continent.bonus}"
        yield f'<text x="{x}" y="{height - 12}" fill="{colour(board, index)}" font-weight="bold">{text}</text>'


def colour(board: Board, continent: int) -> str:
    """Return the colour of a continent. It is the same on the continent's own map and on that of the world."""
    known = [other.name for other in load_map("world").continents]
    name = board.continents[continent].name
    return COLOURS[(known.index(name) if name in known else continent) % len(COLOURS)]


if __name__ == "__main__":
    for name in MAP_NAMES:
        Path(__file__).with_name(f"{name}.svg").write_text(picture(load_map(name)), "utf-8")

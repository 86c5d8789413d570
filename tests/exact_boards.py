"""Small maps and positions on them, for the tests of exact tables."""

from __future__ import annotations

import random

from games.risk.rules.board import Board
from games.risk.rules.duel import NO_OWNER, Position
from games.risk.rules.maps import find_map

PAIR = [(0, 1)]
PATH = [(0, 1), (1, 2)]
TRIANGLE = [(0, 1), (0, 2), (1, 2)]
STAR = [(2, 0), (2, 1), (2, 3)]


def board(borders: list[tuple[int, int]]) -> Board:
    count = 1 + max(max(border) for border in borders)
    territories = [{"name": f"t{i}", "continent": 0, "x": i, "y": i} for i in range(count)]
    return find_map(
        {
            "name": "custom",
            "territories": territories,
            "continents": [{"name": "c", "bonus": 0}],
            "borders": [list(border) for border in borders],
        }
    )


def some(count: int, territories: int, max_troops: int, seed: int) -> list[Position]:
    """Positions drawn at random, with one free territory in every third."""
    chance = random.Random(seed)
    drawn = []
    for i in range(count):
        owner = [chance.randrange(2) for _ in range(territories)]
        troops = [chance.randint(1, max_troops) for _ in range(territories)]
        if i % 3 == 0:
            free = chance.randrange(territories)
            owner[free], troops[free] = NO_OWNER, 0
        drawn.append(Position(tuple(owner), tuple(troops), chance.randrange(2), i % 100))
    return drawn

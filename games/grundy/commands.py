"""The command `arena-bot analyze grundy`, which prints facts about a position of Grundy's game."""

from __future__ import annotations

from bots.commands.output import Json
from games.theory.commands import MAX_HEAPS, HeapsArgument, Strategies, read_numbers, show_heaps
from games.theory.heaps import GRUNDY_RULE

MAX_GRUNDY_HEAP = 10_000
"""The largest heap of Grundy's game to analyse."""


def analyze_grundy(heaps: HeapsArgument, strategies: Strategies = False, json_: Json = False) -> None:
    """Analyse Grundy's game: value, Grundy value, best moves, difficulty."""
    sizes = read_numbers("heap", heaps, 1, MAX_GRUNDY_HEAP, MAX_HEAPS)
    show_heaps(sizes, GRUNDY_RULE, misere=False, strategies=strategies, as_json=json_)

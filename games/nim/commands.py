"""The command `arena-bot analyze nim`, which prints facts about a position."""

from __future__ import annotations

from typing import Annotated

import typer

from bots.commands.output import Json
from games.theory.commands import MAX_HEAPS, HeapsArgument, Strategies, read_numbers, show_heaps
from games.theory.heaps import nim_rule

MAX_NIM_HEAP = 1_000_000
"""The largest heap of nim to analyse."""


def analyze_nim(
    heaps: HeapsArgument,
    take: Annotated[str | None, typer.Option(help="The numbers that may be taken, like 1,3,5 [any].")] = None,
    misere: Annotated[bool, typer.Option("--misere", help="The player who cannot move wins.")] = False,
    strategies: Strategies = False,
    json_: Json = False,
) -> None:
    """Analyse nim: value, Grundy value, best moves, difficulty."""
    sizes = read_numbers("heap", heaps, 0, MAX_NIM_HEAP, MAX_HEAPS)
    removals = None
    if take is not None:
        removals = tuple(sorted(set(read_numbers("--take", take, 1, MAX_NIM_HEAP, 16))))
    show_heaps(sizes, nim_rule(removals), misere=misere, strategies=strategies, as_json=json_)

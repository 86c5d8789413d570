"""Limits of tournaments: formats, bots, rounds and matches, in total and at a time."""

from __future__ import annotations

from typing import Any

from arena.ratings.tournament_pairing import count
from protocol.errors import UsageFault
from protocol.games.base import Game

FORMATS = ("round-robin", "gauntlet", "swiss")
FOR_TWO = {"swiss": "a swiss tournament"}
"""Formats for games of two seats only."""
MOST_ROUNDS = 100_000
MOST_MATCHES = 1_000_000
"""Maximum number of matches; a schedule is held in memory."""
MOST_BESIDE = 20_000
"""Maximum number of matches of a tournament inside a server, where the schedule takes the server's memory."""
MOST_AT_ONCE = 16


def at_once(bots: int) -> int:
    """Return the default number of matches at a time between connected bots."""
    return max(1, min(MOST_AT_ONCE, bots // 2))


def check_size(
    rules: Game[Any, Any], form: str, entered: int, rounds: int, *, paired: bool, most: int = MOST_MATCHES
) -> None:
    """Raise `UsageFault` unless there are enough bots for a match and at most `most` matches."""
    game, seats = rules.name, rules.seats
    if seats != 2 and form in FOR_TWO:
        raise UsageFault(f"{FOR_TWO[form]} is for two seats: {game} has {seats} under this config")
    if entered < seats:
        raise UsageFault(f"a match of {game} has {seats} seats under this config: {entered} bots are given")
    matches = count(form, entered, rounds, seats=seats, paired=paired)
    if matches > most:
        raise UsageFault(f"that makes {matches:,} matches: at most {most:,}, so fewer bots or --rounds")

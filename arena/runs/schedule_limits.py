"""Limits of tournaments: which formats there are, and how many bots, rounds and matches are allowed."""

from __future__ import annotations

from typing import Any

from arena.ratings.tournament_pairing import count_matches
from protocol.errors import UsageFault
from protocol.games.base import Game

TOURNAMENT_FORMATS = ("round-robin", "gauntlet", "swiss")
"""The formats of tournaments that users can choose."""
MAX_ROUNDS = 100_000
"""Maximum number of rounds of a tournament."""
MAX_MATCHES = 1_000_000
"""Maximum number of matches of a tournament, whose schedule is held in memory."""
MAX_SERVER_MATCHES = 20_000
"""Maximum number of matches of a tournament that a server plays. The schedule takes the server's memory."""
MAX_CONCURRENT_MATCHES = 16
"""The maximum of the default number of matches that connected bots play at the same time. The option `--jobs` may
exceed it.
"""


def default_concurrency(bots: int) -> int:
    """Return the number of matches that this number of connected bots play at the same time, if the user gives none."""
    return max(1, min(MAX_CONCURRENT_MATCHES, bots // 2))


def check_size(
    rules: Game[Any, Any], format_: str, bot_count: int, rounds: int, *, paired: bool, max_matches: int = MAX_MATCHES
) -> None:
    """Raise `UsageFault` if there are too few bots for a match, more than `max_matches` matches, or a wrong format."""
    game, seats = rules.name, rules.seats
    if seats != 2 and format_ == "swiss":
        raise UsageFault(f"a swiss tournament is for two seats: {game} has {seats} under this config")
    if bot_count < seats:
        raise UsageFault(f"a match of {game} has {seats} seats under this config: {bot_count} bots are given")
    matches = count_matches(format_, bot_count, rounds, seats=seats, paired=paired)
    if matches > max_matches:
        raise UsageFault(f"that makes {matches:,} matches: at most {max_matches:,}, so fewer bots or --rounds")

"""Describes the strength of bots in a word, by their ratings, for people who look for an opponent."""

from __future__ import annotations

from bisect import bisect

from arena.ratings.rating_system import MU
from arena.store.leaderboards import RatedBot, strongest_bots
from arena.store.store import Reader
from protocol.pools import is_of_people

STEP = 5.0
"""The rating difference at which the better bot scores 80 %, by the rating model."""
WORDS = ("beginner", "easy", "medium", "strong", "expert")
"""Words from weak to strong; a bot starts with a rating in the middle one."""
NEW, PERFECT = "new", "perfect"
EARLY = 3
"""Rated matches below which a bot counts as new; low, so that even a new arena shows strengths within minutes."""
EXACT = ("perfect", "oracle")
"""The built-in bots that play perfectly."""
MOST = 100
"""Maximum bots listed per pool, the best ones."""
_BOUNDS = [MU + STEP * (at - (len(WORDS) - 2) / 2) for at in range(len(WORDS) - 1)]


def strength_of(rated: RatedBot) -> str:
    """Return a bot's strength as a word."""
    if rated.bot in EXACT:
        return PERFECT
    return NEW if rated.played < EARLY else WORDS[bisect(_BOUNDS, rated.mu)]


def strengths(reader: Reader) -> dict[str, list[tuple[str, str]]]:
    """Return by pool the rated bots, weakest first, each with its strength."""
    found: dict[str, list[tuple[str, str]]] = {}
    for rated in reader.read(strongest_bots, MOST):
        if is_of_people(rated.pool):
            continue
        found.setdefault(rated.pool, []).append((rated.bot, strength_of(rated)))
    return {pool: sorted(bots, key=lambda bot: bot[1] == PERFECT) for pool, bots in found.items()}

"""How strong bots are, in a word for who looks for an opponent: from the ratings in the store."""

from __future__ import annotations

from bisect import bisect

from arena.ratings.rating_system import MU
from arena.store.leaderboards import RatedBot, strongest_bots
from arena.store.store import Reader
from protocol.pools import is_of_people

STEP = 5.0
"""Of two bots whose ratings are so far apart the better one makes 80 % of the points, by the model of the ratings."""
WORDS = ("beginner", "easy", "medium", "strong", "expert")
"""From the weakest on; the middle one is around the rating with which a bot begins."""
NEW, PERFECT = "new", "perfect"
EARLY = 3
"""Below so many rated matches nothing is known: a first opponent is wanted in the first minute of an arena, too."""
EXACT = ("perfect", "oracle")
"""The reference bots that know what every position is worth, by their names."""
MOST = 100
"""So many bots of a pool are told, the best."""
_BOUNDS = [MU + STEP * (at - (len(WORDS) - 2) / 2) for at in range(len(WORDS) - 1)]


def strength_of(rated: RatedBot) -> str:
    """A bot's strength in a word."""
    if rated.bot in EXACT:
        return PERFECT
    return NEW if rated.played < EARLY else WORDS[bisect(_BOUNDS, rated.mu)]


def strengths(reader: Reader) -> dict[str, list[tuple[str, str]]]:
    """By pool the bots that are rated there, each with its strength, the weakest first."""
    found: dict[str, list[tuple[str, str]]] = {}
    for rated in reader.read(strongest_bots, MOST):
        if is_of_people(rated.pool):
            continue
        found.setdefault(rated.pool, []).append((rated.bot, strength_of(rated)))
    return {pool: sorted(bots, key=lambda bot: bot[1] == PERFECT) for pool, bots in found.items()}

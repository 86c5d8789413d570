"""Describes the strength of bots in a word, by their ratings, for people who look for an opponent."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import floor
from typing import NamedTuple

from arena.ratings.rating_system import MU
from arena.store.leaderboards import RatedBot, strongest_bots
from arena.store.store import Reader
from protocol.pools import is_people_pool

RATING_STEP = 5.0
"""The rating difference at which the better bot scores 80 %, by the rating model."""
MIN_STEP = 1.0
"""The minimum difference between two words: ratings after some dozens of matches differ by as much by chance."""
STRENGTH_WORDS = ("beginner", "easy", "medium", "strong", "expert")
"""Words for strengths, weakest first. If no bot of a pool moves at random, the middle one stands for the rating with
which a bot begins.
"""
UNSURE_WORD, PERFECT_WORD = "little known", "perfect"
MIN_RATED_MATCHES = 3
"""Rated matches below which a bot is little known; low, so that even a new arena shows strengths within minutes."""
PERFECT_BOTS = ("perfect", "oracle")
"""The built-in bots that play perfectly."""
RANDOM_BOTS = ("random", "level-1")
"""The bots that move at random. No bot that tries to win is weaker."""
MAX_STRENGTH_BOTS = 100
"""Maximum bots of a pool that get a word, best first."""


class StrengthScale(NamedTuple):
    """The rating in the middle of the weakest word, and how far the words are apart."""

    weakest: float
    step: float


BY_RATING = StrengthScale(MU - RATING_STEP * (len(STRENGTH_WORDS) // 2), RATING_STEP)
"""The scale of a pool in which no bot is known to move at random."""


def scale_of(bots: Sequence[RatedBot]) -> StrengthScale:
    """Return the scale of a pool. Bots that move at random are the weakest, whatever their rating.

    Where luck decides much, all ratings are near each other, and words by rating alone would call everybody medium. So
    words are as far apart as there is room up to the strongest, within `MIN_STEP` and `RATING_STEP`.
    """
    known = [bot for bot in bots if bot.played >= MIN_RATED_MATCHES]
    random_mus = [bot.mu for bot in known if bot.bot in RANDOM_BOTS]
    if not random_mus:
        return BY_RATING
    weakest = min(random_mus)
    best = max(bot.mu for bot in known)
    return StrengthScale(weakest, min(RATING_STEP, max(MIN_STEP, (best - weakest) / (len(STRENGTH_WORDS) - 1))))


def strength_of(rated: RatedBot, scale: StrengthScale = BY_RATING) -> str:
    """Return a bot's strength in a word."""
    if rated.bot in PERFECT_BOTS:
        return PERFECT_WORD
    if rated.played < MIN_RATED_MATCHES:
        return UNSURE_WORD
    place = floor((rated.mu - scale.weakest) / scale.step + 0.5)
    return STRENGTH_WORDS[max(0, min(place, len(STRENGTH_WORDS) - 1))]


def strengths(reader: Reader) -> dict[str, list[tuple[str, str]]]:
    """Return by pool the bots that are rated there, each with its strength, the weakest first.

    The page calls bots new that are in no pool of a game.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for pool, rated in groupby(reader.read(strongest_bots, MAX_STRENGTH_BOTS), key=lambda bot: bot.pool):
        if not is_people_pool(pool):
            bots = list(rated)
            scale = scale_of(bots)
            words = [(bot.bot, strength_of(bot, scale)) for bot in bots]
            found[pool] = sorted(words, key=lambda bot: bot[1] == PERFECT_WORD)
    return found

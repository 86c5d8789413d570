"""Describes the strength of bots in one word, for people who look for an opponent. The word depends on the rating."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import floor
from typing import NamedTuple

from arena.ratings.rating_system import MU, game_of, has_rules_of
from arena.store.leaderboards import RatedBot, strongest_bots
from arena.store.store import Reader
from protocol.pools import is_people_pool, preset_of

RATING_STEP = 5.0
"""The maximum difference between the ratings that two neighbouring words for strengths stand for. At this difference,
the better bot scores 80 % by the rating model.
"""
MIN_STEP = 1.0
"""The minimum difference between the ratings that two neighbouring words for strengths stand for. After some dozens of
matches, chance alone makes ratings differ by this much.
"""
STRENGTH_WORDS = ("beginner", "easy", "medium", "strong", "expert")
"""The words for strengths, weakest first. In a pool without a bot that moves at random, the middle word stands for the
rating with which a bot begins.
"""
UNSURE_WORD, PERFECT_WORD = "little known", "perfect"
"""`UNSURE_WORD` is the word for a bot with too few matches, `PERFECT_WORD` for a bot that plays perfectly."""
MIN_RATED_MATCHES = 3
"""The number of rated matches from which a bot gets a word for its strength. It is low, so that a new arena shows
strengths within minutes.
"""
PERFECT_BOTS = ("perfect", "oracle")
"""The built-in bots that play perfectly."""
RANDOM_BOTS = ("random", "level-1")
"""The built-in bots that move at random. Every bot that tries to win is stronger."""
MAX_STRENGTH_BOTS = 100
"""Maximum number of bots per pool that get a word for their strength. The best bots get one."""


class StrengthScale(NamedTuple):
    """A scale from ratings to words: the rating at the middle of the weakest word, and the step to the next word."""

    weakest: float
    step: float


DEFAULT_SCALE = StrengthScale(MU - RATING_STEP * (len(STRENGTH_WORDS) // 2), RATING_STEP)
"""The scale of words for strengths in a pool in which no bot with enough matches is known to move at random."""


def scale_of(bots: Sequence[RatedBot]) -> StrengthScale:
    """Return the scale of a pool. A bot that moves at random gets the weakest word, whatever its rating.

    If luck decides much, all ratings are near each other, and a fixed step would call every bot medium. So the words
    are spread evenly from the bot that moves at random to the strongest bot, with a step between `MIN_STEP` and
    `RATING_STEP`.
    """
    known = [bot for bot in bots if bot.played >= MIN_RATED_MATCHES]
    random_mus = [bot.mu for bot in known if bot.bot in RANDOM_BOTS]
    if not random_mus:
        return DEFAULT_SCALE
    weakest = min(random_mus)
    best = max(bot.mu for bot in known)
    return StrengthScale(weakest, min(RATING_STEP, max(MIN_STEP, (best - weakest) / (len(STRENGTH_WORDS) - 1))))


def strength_of(rated: RatedBot, scale: StrengthScale = DEFAULT_SCALE) -> str:
    if rated.bot in PERFECT_BOTS:
        return PERFECT_WORD
    if rated.played < MIN_RATED_MATCHES:
        return UNSURE_WORD
    place = floor((rated.mu - scale.weakest) / scale.step + 0.5)
    return STRENGTH_WORDS[max(0, min(place, len(STRENGTH_WORDS) - 1))]


def strengths(reader: Reader) -> dict[str, list[tuple[str, str]]]:
    """Return, by game and preset, the bots with ratings of the current rules, each with its strength. The weakest come
    first.

    For bots that are in no pool of a game, the page shows the word "new".
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for pool, rated in groupby(reader.read(strongest_bots, MAX_STRENGTH_BOTS), key=lambda bot: bot.pool):
        if not is_people_pool(pool) and has_rules_of(pool):
            bots = list(rated)
            scale = scale_of(bots)
            words = [(bot.bot, strength_of(bot, scale)) for bot in bots]
            found[f"{game_of(pool)}/{preset_of(pool)}"] = sorted(words, key=lambda bot: bot[1] == PERFECT_WORD)
    return found

"""What a pilot says of a test that is to come: by which value its pairs spread least, and what the test will take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import stdev

from msgspec import Struct

from measuring.elo import Comparison, compare_scores
from measuring.pair_scores import SideScore, side_score
from measuring.resampling import Forecast, forecast
from measuring.scores import estimate_scores
from measuring.sequential import Hypotheses, Pentanomial, RealValued
from protocol.reasons import VOID
from referee.result import Result

RAW = "raw"
"""In the place of a value: results as they came out."""


class Prospect(Struct, frozen=True, kw_only=True):
    """A test by this `value`: what the first bot scored in the pilot, the standard deviation of its pairs, and what to
    expect.
    """

    value: str
    score: Comparison
    spread: float
    expected: Forecast


Luck = Mapping[str, float]
"""What chance gave seat 0, by match."""


def pair_means(results: Sequence[Result], bot: str, luck: Luck | None = None) -> list[float]:
    """The mean scores of a bot in pairs, in the order of the schedule, less luck where that is given; pairs with a void
    match, or one of which luck is not known, are left out.
    """
    by_place = {result.place: result for result in results if result.place is not None}
    scores = []
    for place in sorted(by_place):
        pair = [by_place[place], by_place.get(place + 1)]
        if place % 2 or any(_unknown(one, luck) for one in pair):
            continue
        seen = [side_score(one, bot, None if luck is None else luck[one.match]) for one in pair if one is not None]
        scores.append(sum(one.points - (one.luck or 0.0) for one in seen) / 2)
    return scores


def _unknown(result: Result | None, luck: Luck | None) -> bool:
    return result is None or result.reason == VOID or (luck is not None and result.match not in luck)


def prospects(pairs: Mapping[str, Sequence[float]], hypotheses: Hypotheses, most: int, seed: str) -> list[Prospect]:
    """A test by each value, by the pilot's pairs less luck (or `RAW`), those that spread least first."""
    found = [
        Prospect(
            value=value,
            score=_score(scores, raw=value == RAW),
            spread=stdev(scores),
            expected=forecast(Pentanomial if value == RAW else RealValued, hypotheses, scores, most, seed),
        )
        for value, scores in pairs.items()
    ]
    return sorted(found, key=lambda prospect: prospect.spread)


def _score(pairs: Sequence[float], *, raw: bool) -> Comparison:
    """That of two pairs or more, with the interval of results or of adjusted ones."""
    found = estimate_scores(SideScore(points=mean, luck=0.0) for mean in pairs)
    estimate = found.score if raw else found.adjusted
    assert estimate is not None
    return compare_scores(estimate)

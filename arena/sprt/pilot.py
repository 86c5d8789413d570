"""Forecasts of a test from a pilot: the value function with the least spread, and the number of pairs to expect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import stdev

from msgspec import Struct

from measuring.adjusted_scores import estimate_scores
from measuring.elo import Comparison, compare_scores
from measuring.pair_scores import SideScore, side_score
from measuring.resampling import Forecast, forecast
from measuring.sequential import Hypotheses, Pentanomial, RealValued
from protocol.reasons import VOID
from referee.result import Result

RAW_NAME = "raw"
"""The name that is given instead of a value function's name for raw results, from which no luck is subtracted."""


class TestForecast(Struct, frozen=True, kw_only=True):
    """The forecast of a test. `value` is the name of the value function that measures the luck to subtract, or
    `RAW_NAME`. `score` is the first bot's score in the pilot, and `spread` the standard deviation of the pilot's pair
    scores.
    """

    value: str
    score: Comparison
    spread: float
    expected: Forecast


Luck = Mapping[str, float]
"""The luck of seat 0 in points, by match id."""


def pair_means(results: Sequence[Result], bot: str, luck: Luck | None = None) -> list[float]:
    """Return the mean score of a bot in each pair, in schedule order. With `luck`, scores are luck-adjusted.

    Pairs with a void match are left out, and so are pairs with a match that is missing in `luck`.
    """
    by_place = {result.place: result for result in results if result.place is not None}
    scores = []
    for place in sorted(by_place):
        pair = [by_place[place], by_place.get(place + 1)]
        if place % 2 or any(_is_incomplete(one, luck) for one in pair):
            continue
        seen = [side_score(one, bot, None if luck is None else luck[one.match]) for one in pair if one is not None]
        scores.append(sum(one.points - (one.luck or 0.0) for one in seen) / 2)
    return scores


def _is_incomplete(result: Result | None, luck: Luck | None) -> bool:
    return result is None or result.reason == VOID or (luck is not None and result.match not in luck)


def forecast_by_value(
    pairs: Mapping[str, Sequence[float]], hypotheses: Hypotheses, max_pairs: int, seed: str
) -> list[TestForecast]:
    """Return a forecast for each value function, by increasing spread. `pairs` has the pilot's scores of pairs,
    adjusted by each value function or unadjusted (`RAW_NAME`).
    """
    found = [
        TestForecast(
            value=value,
            score=_score(scores, raw=value == RAW_NAME),
            spread=stdev(scores),
            expected=forecast(Pentanomial if value == RAW_NAME else RealValued, hypotheses, scores, max_pairs, seed),
        )
        for value, scores in pairs.items()
    ]
    return sorted(found, key=lambda prospect: prospect.spread)


def _score(pairs: Sequence[float], *, raw: bool) -> Comparison:
    """Return the mean score of two or more pairs, with its interval. `raw` is false if the scores are luck-adjusted."""
    found = estimate_scores(SideScore(points=mean, luck=0.0) for mean in pairs)
    estimate = found.score if raw else found.adjusted
    assert estimate is not None
    return compare_scores(estimate)

"""Tournament tables for games whose result is a payoff. Bots are ranked by their mean payoff over opponents."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import structs

from arena.ratings.rank_ranges import RankDifference, RankRange, ranges_of_differences
from arena.ratings.standings import MatchSample, PlayedMatch, TableRow, rounded, with_ranks
from measuring.payoffs import (
    MeanPayoff,
    PairPayoffs,
    TotalPayoff,
    WeightedPair,
    mean_of_rounds,
    mean_payoff,
    p_value,
    pair_payoffs,
    weighted_pairs,
)
from referee.result import Result

PairMeans = dict[str, dict[str, MeanPayoff | None]]
"""The mean payoff of each bot (first key) against each other bot; None if they have no match that counts."""


class _Meetings(NamedTuple):
    """The payoffs of two bots against each other. `units` has a dict for each unit (the matches from one start
    position): a value from `mean_of_rounds` for each bot whose payoff counts in the unit. `rounds` has the total rounds
    of each bot.
    """

    units: list[dict[str, float]]
    rounds: dict[str, int]


class MatchPayoffs(NamedTuple):
    """The bots of a match, each with its payoff, or None if the payoff does not count. Matches with equal `start` began
    from the same start position. `start` is None for a match with a start position of its own.
    """

    payoffs: tuple[tuple[str, TotalPayoff | None], ...]
    start: Hashable = None


def match_payoffs(match: Result | PlayedMatch, start: Hashable = None) -> MatchPayoffs:
    return MatchPayoffs(tuple((seat.bot, _paid(seat.payoff, seat.rounds)) for seat in match.seats), start)


def _paid(payoff: float | None, rounds: int | None) -> TotalPayoff | None:
    return TotalPayoff(payoff * rounds, rounds) if payoff is not None and rounds else None


def match_payoffs_of_samples(met: Iterable[MatchSample]) -> list[MatchPayoffs]:
    return [match_payoffs(one.result, one.start) for one in met]


class PayoffSummary:
    """The mean payoffs of bots: over all opponents (`means`) and against each opponent (`pairs`)."""

    def __init__(self, names: Sequence[str], matches: Iterable[MatchPayoffs]) -> None:
        self._met = _group_units(matches)
        self.means: dict[str, MeanPayoff | None] = {bot: mean_payoff(self._pairs_of(bot).values()) for bot in names}
        self.pairs: PairMeans = {}
        if any(self.means.values()):
            for bot in names:
                known = self._pairs_of(bot)
                self.pairs[bot] = {
                    other: mean_payoff([known[other]]) if other in known else None for other in names if other != bot
                }

    def _pairs_of(self, bot: str) -> dict[str, PairPayoffs]:
        found = {}
        for other, (units, rounds) in self._met.get(bot, {}).items():
            if counted := [unit[bot] for unit in units if bot in unit]:
                found[other] = pair_payoffs(counted, rounds[bot])
        return found

    def rank_rows(self, rows: Sequence[TableRow]) -> list[TableRow]:
        """Sort the rows of a table by mean payoff, best first; rows without a payoff come last. If no row has a payoff,
        return the rows unchanged.

        The ranges of ranks say which bots were certainly paid more. If no two bots met twice, each range has all ranks.
        """
        if not any(self.means.values()):
            return list(rows)
        paid_rows = [structs.replace(row, payoff=self.means[row.bot]) for row in rows]
        values = {row.bot: _value(row.payoff) for row in paid_rows}
        listed = sorted(paid_rows, key=lambda row: (not row.played, -values[row.bot]))
        return with_ranks(listed, values, self._rank_ranges([row.bot for row in listed if row.played]))

    def _rank_ranges(self, order: Sequence[str]) -> dict[str, RankRange]:
        """Return the range of ranks that each bot may have. `order` has the bots by payoff, best first."""
        if not any(mean is not None and mean.low is not None for mean in self.means.values()):
            return ranges_of_differences(order, [])
        pairs = itertools.combinations(order, 2)
        return ranges_of_differences(order, [RankDifference(self._p_value(*pair), *pair) for pair in pairs])

    def _p_value(self, one: str, other: str) -> float:
        """Return the p-value of the difference between the mean payoffs of two bots. A unit of matches between the two
        counts as one observation: the weighted difference of their payoffs.
        """
        mine, theirs = self._pairs_of(one), self._pairs_of(other)
        if not mine or not theirs:
            return 1.0
        my_parts, their_parts = (_parts(known) for known in (mine, theirs))
        strata = [part for against, part in my_parts.items() if against != other]
        strata += [WeightedPair(pair, -factor) for against, (pair, factor) in their_parts.items() if against != one]
        units, rounds = self._met[one].get(other, _Meetings([], {}))
        together = [unit for unit in units if one in unit and other in unit]
        if together:
            my_factor, their_factor = my_parts[other].factor, their_parts[one].factor
            both = my_factor + their_factor
            values = [(my_factor * unit[one] - their_factor * unit[other]) / both for unit in together]
            strata.append(WeightedPair(pair_payoffs(values, min(rounds[one], rounds[other])), both))
        return p_value(strata)


def _parts(known: Mapping[str, PairPayoffs]) -> dict[str, WeightedPair]:
    return dict(zip(known, weighted_pairs(known.values()), strict=True))


def _group_units(matches: Iterable[MatchPayoffs]) -> Mapping[str, Mapping[str, _Meetings]]:
    """Return the payoffs of each two bots against each other, by unit: the matches from one start position."""
    starts: defaultdict[tuple[str, str], defaultdict[Hashable, defaultdict[str, list[TotalPayoff]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for number, (payoffs, start) in enumerate(matches):
        unit = (True, number) if start is None else (False, start)
        for one, other in itertools.combinations(payoffs, 2):
            first, second = sorted((one[0], other[0]))
            for bot, counted in (one, other):
                if counted is not None:
                    starts[first, second][unit][bot].append(counted)
    met: defaultdict[str, dict[str, _Meetings]] = defaultdict(dict)
    for (first, second), units in starts.items():
        found = _Meetings([{} for _ in units], {})
        for bot in (first, second):
            summed = [(at, _sum(unit[bot])) for at, unit in enumerate(units.values()) if bot in unit]
            values = mean_of_rounds([each for _, each in summed]) if summed else []
            found.rounds[bot] = sum(each.rounds for _, each in summed)
            for (at, _), value in zip(summed, values, strict=True):
                found.units[at][bot] = value
        met[first][second] = met[second][first] = found
    return met


def _sum(matches: Sequence[TotalPayoff]) -> TotalPayoff:
    return TotalPayoff(sum(match.total for match in matches), sum(match.rounds for match in matches))


def _value(mean: MeanPayoff | None) -> float:
    return float("-inf") if mean is None else rounded(mean.mean)

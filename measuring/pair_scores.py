"""What a side made of its matches, in the units and strata that intervals are computed over. Pure.

The unit is a start: the matches of one start, whichever seats the side had in them, count by their mean. Opponents and
seats come from a schedule and not by chance, so units are compared with others of the same opponent and seats.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from referee.result import Result, points

MIN_UNITS = 32
"""Units whose spread is sure enough to go by, to about a quarter: that of fewer may be next to nothing by chance."""


class SideScore(NamedTuple):
    """One match of a side. `points` are 0 to 1; `luck` is the points that chance gave it, None where that isn't known.

    Matches against the same with the same `start` are one unit; with None a match is a unit of its own. A side of
    several bots has `more_seats`, higher ones. Void matches are not among them.
    """

    points: float
    luck: float | None = None
    start: Hashable = None
    against: Hashable = None
    seat: int = 0
    more_seats: tuple[int, ...] = ()


def side_score(result: Result, bot: str, luck: float | None = None, start: Hashable = None) -> SideScore:
    """A match as one of a bot that sat in it; `luck` is the points that chance gave seat 0 of two."""
    names = [seat.bot for seat in result.seats]
    seat = names.index(bot)
    return SideScore(
        points=points(result)[seat],
        luck=luck if luck is None or seat == 0 else -luck,
        start=start,
        against=tuple(sorted(name for name in names if name != bot)),
        seat=seat,
    )


def group_score(
    result: Result, bots: Sequence[str], luck: Sequence[float] | None = None, start: Hashable = None
) -> SideScore:
    """A match as one of several bots together against the rest: of the pairs, one of these and one other, the share in
    which it was ahead, a tie being half. Of a single bot that is its points. `luck` is by seat.

    The points of k bots of n sum to k (n - k) / (n - 1) times that share, and to what they made among themselves, which
    is always the same. So luck in points is luck in the share times (n - 1) / k (n - k).
    """
    names = [seat.bot for seat in result.seats]
    own = sorted(names.index(bot) for bot in bots)
    among, against = len(own) * (len(own) - 1) / 2, len(own) * (len(names) - len(own))
    others, scored = len(names) - 1, points(result)
    return SideScore(
        points=(others * sum(scored[seat] for seat in own) - among) / against,
        luck=None if luck is None else others * sum(luck[seat] for seat in own) / against,
        start=start,
        against=tuple(sorted(set(names) - set(bots))),
        seat=own[0],
        more_seats=tuple(own[1:]),
    )


class ScoreUnit(NamedTuple):
    """The matches of one start: how many, mean points, mean adjusted points, and the sum of squares of the points."""

    games: int
    raw: float
    adjusted: float
    squares: float


class Stratum(NamedTuple):
    """Against whom, and from which seats, of each match; lone units of several strata, put together, have neither."""

    against: Hashable = None
    seats: tuple[tuple[int, ...], ...] = ()


Strata = Mapping[Stratum, Sequence[ScoreUnit]]


def stratify(matches: Iterable[SideScore]) -> tuple[Strata, bool]:
    """The units by opponent and seats, two at least in each stratum, if there are two; and whether all luck is known.

    Source for putting strata of one unit together: W. G. Cochran, Sampling Techniques (1977), 5A.12.
    """
    starts: defaultdict[Hashable, list[SideScore]] = defaultdict(list)
    known = True
    for number, match in enumerate(matches):
        known = known and match.luck is not None
        alone = match.start is None
        starts[match.against, alone, number if alone else match.start].append(match)
    strata: defaultdict[Stratum, list[ScoreUnit]] = defaultdict(list)
    for group in starts.values():
        seats = tuple(sorted((match.seat, *match.more_seats) for match in group))
        strata[Stratum(group[0].against, seats)].append(_unit(group))
    lone = [key for key, units in strata.items() if len(units) == 1]
    together = [strata.pop(key)[0] for key in lone]
    if len(together) == 1 and strata:
        min(strata.values(), key=len).extend(together)
    elif together:
        strata[Stratum()] = together
    return strata, known


def _unit(matches: Sequence[SideScore]) -> ScoreUnit:
    return ScoreUnit(
        games=len(matches),
        raw=fmean(match.points for match in matches),
        adjusted=fmean(match.points - (match.luck or 0.0) for match in matches),
        squares=sum(match.points**2 for match in matches),
    )

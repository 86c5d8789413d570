"""Match scores of one side, grouped into the units and strata from which intervals are computed.

A unit is all matches from one start position, whatever seats the side had in them. A unit counts by its mean score.
Opponents and seats come from a schedule, not from chance, so a unit is compared only with units of the same opponents
and seats.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from referee.result import Result, match_points

MIN_UNITS = 32
"""Minimum number of units from which the spread of their scores is estimated. A unit is all matches from one start
position. The spread of fewer units may be close to zero by chance.
"""


class SideScore(NamedTuple):
    """The score of a side in one match. `points` are 0 to 1. `luck` is the part of the points that came from chance;
    None if unknown.

    Matches against the same opponents with the same `start` form one unit. A match whose `start` is None is a unit of
    its own. If a side has several bots in the match, `seat` is the first of its seats, and `more_seats` are the others.
    A void match has no score.
    """

    points: float
    luck: float | None = None
    start: Hashable = None
    opponents: Hashable = None
    seat: int = 0
    more_seats: tuple[int, ...] = ()


def side_score(result: Result, bot: str, luck: float | None = None, start: Hashable = None) -> SideScore:
    """Return the score of one bot in a match. `luck` is given only with two seats: the luck of seat 0, in points."""
    names = [seat.bot for seat in result.seats]
    seat = names.index(bot)
    return SideScore(
        points=match_points(result)[seat],
        luck=luck if luck is None or seat == 0 else -luck,
        start=start,
        opponents=tuple(sorted(name for name in names if name != bot)),
        seat=seat,
    )


def group_score(
    result: Result, bots: Sequence[str], luck: Sequence[float] | None = None, start: Hashable = None
) -> SideScore:
    """Return the score of a group of bots in a match against all other bots. `luck` is the luck of each seat, in
    points.

    The score is a share of pairs, each of a bot of the group and another bot: the pairs in which the group's bot is
    ahead. A tie counts half. For a group of one bot, the score is the bot's points.

    For k bots in a match of n, the sum of their points is share * k (n - k) / (n - 1), plus a constant for the pairs
    within the group. So luck in points is multiplied by (n - 1) / (k (n - k)) to get luck in the share.
    """
    names = [seat.bot for seat in result.seats]
    own = sorted(names.index(bot) for bot in bots)
    among, against = len(own) * (len(own) - 1) / 2, len(own) * (len(names) - len(own))
    others, scored = len(names) - 1, match_points(result)
    return SideScore(
        points=(others * sum(scored[seat] for seat in own) - among) / against,
        luck=None if luck is None else others * sum(luck[seat] for seat in own) / against,
        start=start,
        opponents=tuple(sorted(set(names) - set(bots))),
        seat=own[0],
        more_seats=tuple(own[1:]),
    )


class ScoreUnit(NamedTuple):
    """The matches of one start position: their number, mean points, mean adjusted points, and sum of squared points."""

    games: int
    raw: float
    adjusted: float
    squares: float


class Stratum(NamedTuple):
    """The key of a stratum, which is a group of comparable units: the opponents of the side in these units, and the
    side's seats in each match of a unit. A stratum that was merged from single units has no opponents and no seats.
    """

    opponents: Hashable = None
    seats: tuple[tuple[int, ...], ...] = ()


Strata = Mapping[Stratum, Sequence[ScoreUnit]]


def stratify(matches: Iterable[SideScore]) -> tuple[Strata, bool]:
    """Return the units by stratum (opponents and seats), and whether the luck of all matches is known.

    Strata of one unit are merged, so that each stratum has at least two units if there are two units in all. Source: W.
    G. Cochran, Sampling Techniques (1977), 5A.12.
    """
    starts: defaultdict[Hashable, list[SideScore]] = defaultdict(list)
    known = True
    for number, match in enumerate(matches):
        known = known and match.luck is not None
        alone = match.start is None
        starts[match.opponents, alone, number if alone else match.start].append(match)
    strata: defaultdict[Stratum, list[ScoreUnit]] = defaultdict(list)
    for group in starts.values():
        seats = tuple(sorted((match.seat, *match.more_seats) for match in group))
        strata[Stratum(group[0].opponents, seats)].append(_unit(group))
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

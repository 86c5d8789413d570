"""Ranks of a tournament: how many bots scored better than one, beyond what chance gives among so many, by results as
they came out or less luck. Pure.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from measuring.student_t import satterthwaite, standard_error, student_cdf

_LEVEL = 0.05
"""How likely it may be that bots which are all equal are told apart at all."""

Seats = tuple[str, ...]


class ScoredMatch(NamedTuple):
    """A match that counts: who sat where, their points, 0 to 1, what start it shares, None for one of its own, and the
    points that chance gave seat 0 of two, None where that isn't known.
    """

    seats: Seats
    points: Sequence[float]
    start: Hashable = None
    luck: float | None = None

    @property
    def freed(self) -> ScoredMatch:
        """The same less luck, which is known; its points may be beyond 0 and 1."""
        assert self.luck is not None
        one, other = self.points
        return self._replace(points=(one - self.luck, other + self.luck))


class Difference(NamedTuple):
    """How likely two bots would be so far apart if they were equal, and which of them scored better."""

    chance: float
    better: str
    worse: str


class _Stratum:
    """Starts with the same bots at the same seats: what they scored above one half, summed up."""

    def __init__(self, games: int) -> None:
        self.games = games
        self.units = 0
        self.sums: defaultdict[str, float] = defaultdict(float)
        self.products: defaultdict[tuple[str, str], float] = defaultdict(float)

    def add(self, scores: Mapping[str, float]) -> None:
        self.units += 1
        for bot, score in scores.items():
            self.sums[bot] += score
            for other, theirs in scores.items():
                self.products[bot, other] += score * theirs


def ranks(order: Sequence[str], matches: Iterable[ScoredMatch], *, adjusted: bool = False) -> dict[str, int]:
    """The rank of each bot of `order`, best first: 1 and the number of bots that scored better than it for certain;
    where `adjusted`, less luck, which is known of every match then.

    A bot that had fewer matches does not stand before one that is listed above it. That any are wrongly told apart has
    a chance of 5 % for all pairs of bots together. Source: S. Holm, A simple sequentially rejective multiple test
    procedure (1979).
    """
    strata = _strata(match.freed if adjusted else match for match in matches)
    of: defaultdict[str, set[_Stratum]] = defaultdict(set)
    for stratum in strata:
        for bot in stratum.sums:
            of[bot].add(stratum)
    differences = []
    for one, other in itertools.combinations(order, 2):
        chance, apart = _difference(one, other, of, adjusted=adjusted)
        if apart:
            differences.append(Difference(chance, *((one, other) if apart > 0 else (other, one))))
    return ranks_of_differences(order, differences)


def ranks_of_differences(order: Sequence[str], differences: Iterable[Difference]) -> dict[str, int]:
    """Return the rank of each bot of `order` by the differences of each two; two that are equal may have none.

    A bot ranks behind every bot that is better for certain. So no two of a rank are told apart.
    """
    left = len(order) * (len(order) - 1) // 2
    better: defaultdict[str, set[str]] = defaultdict(set)
    for difference in sorted(differences):
        if difference.chance > _LEVEL / left:
            break
        better[difference.worse].add(difference.better)
        left -= 1
    found: dict[str, int] = {}
    rank = 1
    for bot in order:
        rank = max(rank, 1 + len(better[bot]), *(1 + found[above] for above in better[bot] if above in found))
        found[bot] = rank
    return found


def _strata(matches: Iterable[ScoredMatch]) -> list[_Stratum]:
    starts: defaultdict[Hashable, list[ScoredMatch]] = defaultdict(list)
    for number, match in enumerate(matches):
        alone = match.start is None
        starts[tuple(sorted(match.seats)), alone, number if alone else match.start].append(match)
    strata: dict[tuple[Seats, ...], _Stratum] = {}
    for group in starts.values():
        scores: defaultdict[str, float] = defaultdict(float)
        for match in group:
            for bot, points in zip(match.seats, match.points, strict=True):
                scores[bot] += (points - 0.5) / len(group)
        key = tuple(sorted(match.seats for match in group))
        strata.setdefault(key, _Stratum(len(group))).add(scores)
    return list(strata.values())


def _difference(one: str, other: str, of: Mapping[str, set[_Stratum]], *, adjusted: bool) -> tuple[float, float]:
    """How likely two bots that are equal are so far apart, and by how much the one is above the other.

    As for the interval of a score, two starts of each extreme are added; for that of an adjusted one Student's
    distribution is taken. Starts without their like are compared with each other.
    """
    if not of[one] or not of[other]:
        return 1.0, 0.0
    shares = {bot: 1 / sum(stratum.units * stratum.games for stratum in of[bot]) for bot in (one, other)}
    units, total, extreme = 0, 0.0, 0.0
    lone: list[float] = []
    parts: list[tuple[float, int]] = []
    for stratum in of[one] | of[other]:
        mine, theirs = (stratum.games * shares[bot] * (bot in stratum.sums) for bot in (one, other))
        summed = mine * stratum.sums.get(one, 0.0) - theirs * stratum.sums.get(other, 0.0)
        units += stratum.units
        total += summed
        extreme = max(extreme, (mine + theirs) / 2)
        if stratum.units == 1:
            lone.append(summed)
            continue
        squares = mine**2 * stratum.products.get((one, one), 0.0) + theirs**2 * stratum.products.get(
            (other, other), 0.0
        )
        squares -= 2 * mine * theirs * stratum.products.get((one, other), 0.0)
        apart = max(0.0, squares - summed**2 / stratum.units)
        parts.append((apart * stratum.units / (stratum.units - 1), stratum.units - 1))
    if len(lone) > 1:
        middle = sum(lone) / len(lone)
        parts.append((sum((each - middle) ** 2 for each in lone) * len(lone) / (len(lone) - 1), len(lone) - 1))
    within = sum(part for part, _ in parts)
    if adjusted:
        return _by_student(total, within, units * extreme, units, satterthwaite(parts)), total
    mean, middle = total / units, total / (units + 4)
    within *= (units - 1) / units
    added = units * (mean - middle) ** 2 + 2 * (extreme - middle) ** 2 + 2 * (extreme + middle) ** 2
    z = total / math.sqrt((within + added) * (units + 4) / (units + 3))
    return math.erfc(abs(z) / math.sqrt(2)), total


def _by_student(total: float, square: float, most: float, units: int, freedom: float) -> float:
    """How likely a sum of so many starts is so far from 0, by its squared standard error; one of equal starts has the
    error that the interval of an adjusted score has then, `most` being as far as the sum can be.
    """
    if freedom < 1:
        return 1.0
    error = standard_error(square, units, freedom, 2 * most)
    return 2 * (1 - student_cdf(abs(total) / error, freedom))

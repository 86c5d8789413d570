"""The range of ranks that each bot of a tournament may have, because results depend on chance."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from measuring.student_t import satterthwaite, standard_error, student_cdf

_ERROR_LEVEL = 0.05
"""The maximum probability that some bot is called certainly better than a bot that is in truth as good or better."""

Seats = tuple[str, ...]


class ScoredMatch(NamedTuple):
    """A match that counts: its bots by seat, and their points, 0 to 1. `start` is equal for matches from the same start
    position; None stands for a position of its own. `luck` is the points that luck gave seat 0 of two; None if unknown.
    """

    seats: Seats
    points: Sequence[float]
    start: Hashable = None
    luck: float | None = None

    @property
    def without_luck(self) -> ScoredMatch:
        """The match with its luck subtracted from the points, which may then be below 0 or above 1."""
        assert self.luck is not None
        one, other = self.points
        return self._replace(points=(one - self.luck, other + self.luck))


class RankDifference(NamedTuple):
    """A difference between two bots' scores. `chance` is its p-value: the probability that equals differ as much."""

    chance: float
    better: str
    worse: str


class RankRange(NamedTuple):
    """The range of ranks that a bot may have. `best` is 1 plus the number of bots that are certainly better. `worst` is
    the number of all bots less those that are certainly worse.
    """

    best: int
    worst: int


class _Stratum:
    """The scores at all start positions that the same bots played in the same seats. From every score, ½ is subtracted.
    `sums` has each bot's sum of scores. `products` has, for each two bots, the sum of the products of their scores at
    the same start position.
    """

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


def rank_ranges(bots: Sequence[str], matches: Iterable[ScoredMatch], *, adjusted: bool = False) -> dict[str, RankRange]:
    """Return the range of ranks that each of these bots may have after these matches.

    With `adjusted`, scores are luck-adjusted, and the luck of every match must be known. The probability that any bot's
    range misses its true rank is at most 5 %. Sources: S. Holm, A simple sequentially rejective multiple test procedure
    (1979); M. Mogstad, J. Romano, A. Shaikh and D. Wilhelm, Inference for ranks (2024).
    """
    strata = _strata(match.without_luck if adjusted else match for match in matches)
    of: defaultdict[str, set[_Stratum]] = defaultdict(set)
    for stratum in strata:
        for bot in stratum.sums:
            of[bot].add(stratum)
    differences = []
    for one, other in itertools.combinations(bots, 2):
        chance, apart = _difference(one, other, of, adjusted=adjusted)
        if apart:
            differences.append(RankDifference(chance, *((one, other) if apart > 0 else (other, one))))
    return ranges_of_differences(bots, differences)


def ranges_of_differences(bots: Sequence[str], differences: Iterable[RankDifference]) -> dict[str, RankRange]:
    """Return each bot's range of ranks, from the differences between each two bots and their p-values, by Holm's
    method. Differences of 0 may be left out, because they are never certain.
    """
    left = len(bots) * (len(bots) - 1) // 2
    above, below = Counter[str](), Counter[str]()
    for difference in sorted(differences):
        if difference.chance > _ERROR_LEVEL / left:
            break
        above[difference.worse] += 1
        below[difference.better] += 1
        left -= 1
    return {bot: RankRange(1 + above[bot], len(bots) - below[bot]) for bot in bots}


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
    """Return the p-value of the difference between two bots' scores, and the difference itself.

    For raw scores, four imaginary start positions are added, as for the interval of a score: two with the largest
    possible difference in favour of each bot. For luck-adjusted scores, Student's distribution is used. Start positions
    that are the only ones of their strata are put together in one stratum.
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
    """Return the p-value of `total`, a sum over start positions, by Student's distribution. `square` is the squared
    standard error of the sum, `most` the largest possible sum. If `square` is 0 because all values are equal,
    `standard_error` replaces it.
    """
    if freedom < 1:
        return 1.0
    error = standard_error(square, units, freedom, 2 * most)
    return 2 * (1 - student_cdf(abs(total) / error, freedom))

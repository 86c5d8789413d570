"""The factor by which luck adjustment reduces the number of games that are needed: the variance of raw results divided
by that of adjusted results.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from random import Random
from typing import NamedTuple

from measuring.pair_scores import MIN_UNITS, ScoreUnit, SideScore, Strata, Stratum, stratify

_BOOTSTRAP_DRAWS, _BOOTSTRAP_GROUPS = 1000, 500
"""`_BOOTSTRAP_DRAWS` is the number of bootstrap samples. `_BOOTSTRAP_GROUPS` is the approximate number of groups into
which `_group_units` divides the units (the matches of one start position). Samples are drawn from these groups.
"""


class VarianceReduction(NamedTuple):
    """The factor by which luck adjustment reduces the number of games that are needed, with its 95 % interval. If
    `high` is None, it is infinite.
    """

    factor: float
    low: float
    high: float | None


def estimate_reduction(matches: Iterable[SideScore], seed: str = "") -> VarianceReduction | None:
    """Return the variance of single raw games divided by that of adjusted games. For pairs, the divisor is twice the
    variance of their adjusted means.

    The interval is a percentile bootstrap over units (in groups if there are many), stratified by opponents and seats;
    equal seeds give equal intervals. The result is None if the luck of a match is unknown, with fewer than `MIN_UNITS`
    units, and if either variance is 0. Source: B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993),
    13.3.
    """
    strata, known = stratify(matches)
    if not known or _has_few_units(strata):
        return None
    chance = Random(seed)  # noqa: S311 -- repeatable on purpose, not secret
    groups = _group_units(strata, chance)
    found = _ratio({key: _add_up(each) for key, each in groups.items()})
    if not 0 < found < math.inf:
        return None
    ratios = sorted(
        _ratio({key: _add_up(chance.choices(each, k=len(each))) for key, each in groups.items()})
        for _ in range(_BOOTSTRAP_DRAWS)
    )
    low, high = ratios[_BOOTSTRAP_DRAWS // 40], ratios[-1 - _BOOTSTRAP_DRAWS // 40]
    return VarianceReduction(found, low, high if high < math.inf else None)


def equivalent_games(strata: Strata) -> float | None:
    """Return how many single raw games would give a mean as certain as the adjusted one. The luck of all matches must
    be known. Return None with fewer than `MIN_UNITS` units, and if either variance is 0.
    """
    if _has_few_units(strata):
        return None
    sums = {key: _add_up(map(_sums_of_unit, units)) for key, units in strata.items()}
    ratio = _ratio(sums)
    return ratio * sum(each.games for each in sums.values()) if 0 < ratio < math.inf else None


def _has_few_units(strata: Strata) -> bool:
    return sum(map(len, strata.values())) < MIN_UNITS


class _Sums(NamedTuple):
    """Sums over units, each of which is all matches from one start position, and sums over their matches. The raw and
    the adjusted variances are computed from these sums.
    """

    units: float
    adjusted: float
    adjusted_squares: float
    games: float
    points: float
    squares: float


def _sums_of_unit(unit: ScoreUnit) -> _Sums:
    about = unit.adjusted - 0.5  # centred: the squares of values far from 0 would lose a small variance to rounding
    return _Sums(1, about, about**2, unit.games, unit.raw * unit.games, unit.squares)


def _add_up(parts: Iterable[_Sums]) -> _Sums:
    return _Sums(*map(sum, zip(*parts, strict=True)))


def _group_units(strata: Strata, rng: Random) -> dict[Stratum, list[_Sums]]:
    """Divide the units of each stratum at random into groups, about `_BOOTSTRAP_GROUPS` in all, and return the sums of
    each group. The bootstrap draws groups instead of single units to save time; the draws vary like draws of units.
    """
    total = sum(map(len, strata.values()))
    grouped = {}
    for key, units in strata.items():
        count = min(len(units), max(2, _BOOTSTRAP_GROUPS * len(units) // total))
        shuffled = rng.sample(units, len(units))
        grouped[key] = [_add_up(map(_sums_of_unit, shuffled[at::count])) for at in range(count)]
    return grouped


def _ratio(strata: Mapping[Stratum, _Sums]) -> float:
    """Return the factor of `VarianceReduction`: v / (n · w). Here v is the variance of a single raw game against the
    same opponents, n is the number of games, and w is the variance of the adjusted mean of all n games.

    The factor is 0 if games do not vary. It is infinite if adjusted units do not vary or there is only one unit.
    """
    opponents: defaultdict[Hashable, list[_Sums]] = defaultdict(list)
    for key, each in strata.items():
        opponents[key.opponents].append(each)
    single = [_add_up(each) for each in opponents.values()]
    freedom = sum(each.games - 1 for each in single)
    spread = sum(each.squares - each.points**2 / each.games for each in single)
    if spread < 1e-12:
        return 0.0
    games = sum(each.games for each in single)
    square = 0.0
    for each in strata.values():
        if each.units > 1:
            within = max(0.0, each.adjusted_squares - each.adjusted**2 / each.units)
            square += (each.games / games) ** 2 * within / (each.units - 1) / each.units
    return spread / freedom / (square * games) if square >= 1e-18 else math.inf


def format_reduction(reduction: VarianceReduction) -> str:
    """Format the factor by which more games are needed without luck adjustment: `150 (117-200) times as many`."""
    high = "inf" if reduction.high is None else _format_factor(reduction.high)
    return f"{_format_factor(reduction.factor)} ({_format_factor(reduction.low)}-{high}) times as many"


def _format_factor(times: float) -> str:
    return f"{times:.3g}" if times < 999.5 else f"{round(times, 2 - math.floor(math.log10(times))):,.0f}"

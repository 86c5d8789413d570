"""The score of a side, raw and adjusted for luck, and the number of games that the adjustment saves."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from measuring.pair_scores import SideScore, Strata, stratify
from measuring.scores import Estimate, estimate_score, mean_of_units, squared_errors
from measuring.student_t import satterthwaite, standard_error, student_cdf, t_critical
from measuring.variance_reduction import equivalent_games


class ScoreEstimates(Struct, frozen=True, kw_only=True):
    """The raw and the adjusted score of a side over its matches. `units` is the number of start positions; each match
    without a shared start position counts as one.

    `score` is None if there is no match. `adjusted` is None with fewer than two units, or if the luck of any match is
    unknown. `worth` is the number of single games whose raw score would be as certain as `adjusted`. It is None with
    fewer than `MIN_UNITS` units, or if all scores are equal.
    """

    games: int
    units: int
    score: Estimate | None = None
    adjusted: Estimate | None = None
    worth: float | None = None


def estimate_scores(matches: Iterable[SideScore]) -> ScoreEstimates:
    """Return the score and the adjusted score of a side from all its matches."""
    strata, known = stratify(matches)
    units = sum(map(len, strata.values()))
    freed = known and units > 1
    return ScoreEstimates(
        games=sum(unit.games for stratum in strata.values() for unit in stratum),
        units=units,
        score=estimate_score(strata),
        adjusted=_adjusted_estimate(strata) if freed else None,
        worth=equivalent_games(strata) if freed else None,
    )


def _adjusted_estimate(strata: Strata) -> Estimate:
    """Return the mean adjusted points of two or more units, with Student's interval. A unit is all matches from one
    start position.

    A mean beyond 0 or 1 is clipped, which only brings it nearer to the true mean. If all units have equal points,
    `standard_error` allows for units that were missed and that differ by one point.
    """
    count = sum(map(len, strata.values()))
    mean, parts = mean_of_units(strata, "adjusted"), squared_errors(strata, "adjusted")
    square, freedom = sum(part for part, _ in parts), satterthwaite(parts)
    error, reach = standard_error(square, count, freedom, max_error=1.0), t_critical(freedom)
    return Estimate(
        mean=_clip(mean),
        low=_clip(_clip(mean) - reach * error),
        high=_clip(_clip(mean) + reach * error),
        error=error,
        superiority=student_cdf((mean - 0.5) / error, freedom),
    )


def _clip(share: float) -> float:
    return min(1.0, max(0.0, share))

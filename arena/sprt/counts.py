"""What counts of scores say, of whatever tester they are: the figures of a sequential test, with no match at hand."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from measuring.elo import Comparison, EloDifference, compare_scores, normalised_elo_of_counts
from measuring.scores import score_of_counts
from measuring.sequential import Hypotheses, Verdict, multinomial_llr
from protocol.display import shown
from protocol.errors import UsageFault

PENTANOMIAL, TRINOMIAL = 5, 3
MAX_COUNT = 10**15
"""More than anybody has played; sums of such counts are exact as numbers with a point."""


class CountFindings(Struct, frozen=True, kw_only=True):
    """Of `units` (pairs, or single games) with so many `games`: the score, the log likelihood ratio of h1 to h0 between
    its bounds, and the hypothesis that is accepted, None while neither is.
    """

    units: int
    games: int
    score: Comparison
    normalised: EloDifference | None
    llr: float
    lower: float
    upper: float
    verdict: Verdict | None


def check_counts(counts: Sequence[int]) -> None:
    """Raise `UsageFault` for what can't be counts of scores."""
    if len(counts) not in (PENTANOMIAL, TRINOMIAL):
        raise UsageFault(
            f"{len(counts)} counts: it takes five, of pairs with 0, 1/2, 1, 3/2 and 2 points, or three, of games lost, "
            "drawn and won"
        )
    if min(counts) < 0:
        raise UsageFault(f"a count is {min(counts)}: it must be 0 or more")
    if max(counts) > MAX_COUNT:
        raise UsageFault(f"a count is {shown(max(counts))}: it must be {MAX_COUNT:,} or less")
    if not any(counts):
        raise UsageFault("all counts are 0: what is to be said of no game?")


def findings_of_counts(counts: Sequence[int], hypotheses: Hypotheses) -> CountFindings:
    """Five counts are of pairs that scored 0, 1/4, 1/2, 3/4 and 1, three of games that were lost, drawn and won.

    Raises `UsageFault`.
    """
    check_counts(counts)
    units = sum(counts)
    llr = multinomial_llr(hypotheses, counts)
    return CountFindings(
        units=units,
        games=units * (len(counts) - 1) // 2,
        score=compare_scores(score_of_counts(counts)),
        normalised=normalised_elo_of_counts(counts),
        llr=llr,
        lower=hypotheses.lower,
        upper=hypotheses.upper,
        verdict="h1" if llr >= hypotheses.upper else "h0" if llr <= hypotheses.lower else None,
    )

"""Sequential tests computed from counts of scores alone. Any program may have played the games."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from measuring.elo import Comparison, EloDifference, compare_scores
from measuring.normalised_elo import normalised_elo_of_counts
from measuring.scores import score_of_counts
from measuring.sequential import Hypotheses, Verdict, multinomial_llr
from protocol.display import short_repr
from protocol.errors import UsageFault

PENTANOMIAL_SIZE, TRINOMIAL_SIZE = 5, 3
"""The numbers of different scores of a pair (`PENTANOMIAL_SIZE`) and of a single game (`TRINOMIAL_SIZE`)."""
MAX_COUNT = 10**15
"""The maximum number of games or pairs with the same score. It is more than anyone will play, and small enough that
sums of counts are exact as floats.
"""


class CountFindings(Struct, frozen=True, kw_only=True):
    """The result of a sequential test of `units`, which are pairs or single games.

    `llr` is the log likelihood ratio of h1 to h0, and `lower` and `upper` are its bounds. `verdict` is the accepted
    hypothesis; None while neither is accepted.
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
    """Raise `UsageFault` unless the list has five counts, of pairs by score, or three, of single games by score."""
    if len(counts) not in (PENTANOMIAL_SIZE, TRINOMIAL_SIZE):
        raise UsageFault(
            f"{len(counts)} counts: give five, of pairs with 0, 1/2, 1, 3/2 and 2 points, or three, of games lost, "
            "drawn and won"
        )
    if min(counts) < 0:
        raise UsageFault(f"a count is {min(counts)}: it must be 0 or more")
    if max(counts) > MAX_COUNT:
        raise UsageFault(f"a count is {short_repr(max(counts))}: it must be {MAX_COUNT:,} or less")
    if not any(counts):
        raise UsageFault("all counts are 0: give the counts of at least one game")


def findings_of_counts(counts: Sequence[int], hypotheses: Hypotheses) -> CountFindings:
    """Return the result of a sequential test from counts. Five counts are the numbers of pairs that scored 0, 1/4, 1/2,
    3/4 and 1. Three are the numbers of games lost, drawn and won. Raise `UsageFault` for other lists.
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

"""`arena llr`: computes the log-likelihood ratio of result counts, in the conventions of other engine testers."""

from __future__ import annotations

from collections.abc import Sequence

from arena.commands.output import print_document
from arena.sprt.counts import PENTANOMIAL_SIZE, CountFindings, check_counts, findings_of_counts
from arena.sprt.hypotheses import hypotheses_of
from arena.sprt.summary import format_llr
from machine.terminal import say
from measuring import score_format
from measuring.elo import EloDifference


def run(
    counts: Sequence[int],
    h0: float | None,
    h1: float | None,
    unit: str,
    alpha: float,
    beta: float,
    *,
    to_json: bool,
) -> None:
    """Print the score, Elo and LLR of the result counts. Raise `UsageFault` if the counts or hypotheses are invalid."""
    check_counts(counts)
    hypotheses = hypotheses_of(h0, h1, unit, alpha, beta)
    found = findings_of_counts(counts, hypotheses)
    if to_json:
        print_document({"counts": list(counts), "hypotheses": hypotheses, **_fields(found)})
        return
    pairs = f" in {_format_count(found.units, 'pair')}" if len(counts) == PENTANOMIAL_SIZE else ""
    say(f"{_format_count(found.games, 'game')}{pairs}")
    score = found.score
    say(
        f"score           {score.score:.5f} ({score.low:.5f}-{score.high:.5f})  better "
        f"{score_format.format_superiority(score)}"
    )
    say(f"Elo             {_format_elo(score.elo, score.score)}")
    if found.normalised is not None:
        say(f"normalised Elo  {_format_elo(found.normalised, score.score)}")
    say(format_llr(f"{found.llr:z.4f}", hypotheses, found.lower, found.upper))
    say("Neither is accepted." if found.verdict is None else f"{found.verdict} is accepted.")


def _fields(findings: CountFindings) -> dict[str, object]:
    return {name: getattr(findings, name) for name in findings.__struct_fields__}


def _format_count(number: int, word: str) -> str:
    return f"{number:,} {word if number == 1 else f'{word}s'}"


def _format_elo(difference: EloDifference, score: float) -> str:
    """Format an Elo difference and its interval with two decimals; infinite values are `-inf` and `+inf`."""
    all_or_nothing = "+inf" if score > 0.5 else "-inf"
    elo, low, high = (
        end if value is None else f"{value:+z.2f}"
        for value, end in ((difference.elo, all_or_nothing), (difference.low, "-inf"), (difference.high, "+inf"))
    )
    return f"{elo} ({low} to {high})"

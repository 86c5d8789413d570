"""The findings of a test in words: which bot is better, how certain that is, and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, log10
from typing import NamedTuple

from arena.sprt.evidence import MAX_FORFEIT_SHARE, MAX_SEAT_SHARE, MIN_PAIRS, Findings, Question
from measuring import score_format
from measuring.expected_length import expected_length, variance_of_equal_bots
from measuring.pair_scores import MIN_UNITS
from measuring.sequential import Hypotheses, Verdict
from protocol.reasons import RESIGNED


def format_conclusion(bots: tuple[str, str], question: Question, findings: Findings) -> str:
    """Return the conclusion of the test, in one or two sentences with its numbers."""
    best = findings.best
    if best is None:
        return f"nothing is known of {bots[0]} and {bots[1]}: no pair of matches was played to its end"
    less = " luck-adjusted" if findings.adjusted else ""
    scores = f"scores {score_format.format_score_with_interval(best)}{less}, after {findings.games:,} games"
    if question.hypotheses is None and findings.pairs < MIN_PAIRS:
        pairs = (
            f"{format_one_unit(findings)} is"
            if findings.pairs == 1
            else f"{format_units(findings, findings.pairs)} are"
        )
        return f"{pairs} too few to say which of {bots[0]} and {bots[1]} is better: {bots[0]} {scores}"
    if question.hypotheses is None:
        return score_format.describe_comparison(*bots, best, scores)
    if findings.verdict is None:
        asked = _claim(bots, question.hypotheses, "h1").said
        return (
            f"it is undecided whether {asked}. {bots[0]} {scores}{_format_appearance(findings)}; "
            "a higher --max-pairs continues the test."
        )
    claim = _claim(bots, question.hypotheses, findings.verdict)
    looks = "" if claim.decides else _format_appearance(findings)
    wrong = question.hypotheses.alpha if findings.verdict == "h1" else question.hypotheses.beta
    error = f"at most {_format_test_share(wrong)} would say so"
    if findings.outside:
        outside = f"{findings.outside:,} of {format_units(findings, findings.pairs)}"
        error += f", provided that all pairs score from 0 to 1, which {outside} do not"
    return f"{claim.said}. It {scores}{looks}; {claim.otherwise}, {error}."


def format_units(findings: Findings, number: int) -> str:
    """Return a number of pairs as text, like `12 pairs`. With more than two seats, the units of a test are start
    positions, and the text is like `12 starts`.
    """
    one, more = ("pair", "pairs") if findings.seats == 2 else ("start", "starts")
    return f"{number:,} {one if number == 1 else more}"


def format_one_unit(findings: Findings) -> str:
    """Return "a pair" or "a start": one unit of a test."""
    return "a pair" if findings.seats == 2 else "a start"


def format_expected_length(question: Question, seats: int, own_seats: int) -> str | None:
    """Return how long a test on raw results is expected to be, in words; None for any other test. The first bot has
    `own_seats` of the seats.
    """
    if question.value is not None or question.hypotheses is None:
        return None
    least = MIN_UNITS * seats if seats > 2 else 0
    decided, between = (
        max(least, each) for each in expected_length(question.hypotheses, variance_of_equal_bots(seats, own_seats))
    )
    return (
        f"luck stays in the results: the test takes about {score_format.format_games(decided)} games of equal "
        "bots, and "
        f"{score_format.format_games(between)} if the truth lies half way between h0 and h1"
    )


def format_joint_conclusion(bot: str, verdicts: Mapping[str, Verdict | None], h0: float, alpha: float) -> str:
    """Return the conclusion of several tests together: one bot against several opponents. The tests share `alpha`."""
    shown = [other for other, verdict in verdicts.items() if verdict == "h1"]
    if not shown:
        return f"h1 is accepted against none of {', '.join(verdicts)}"
    of = f"each of {', '.join(shown)}" if len(shown) == len(verdicts) else f"{len(shown)} of {len(verdicts)}"
    if len(shown) < len(verdicts):
        of += f": {', '.join(shown)}"
    said = f"{bot} is better than {of}" if h0 == 0 else f"h1 is accepted of {bot} against {of}"
    return (
        f"{said}. If it were no better than one of these, at most {_format_test_share(alpha, 'such tests')} "
        "would say so."
    )


def find_warnings(
    bots: tuple[str, str], findings: Findings, presets: Sequence[str], dealing: Sequence[str]
) -> Iterator[str]:
    """Yield the reasons to doubt the conclusion, one sentence at a time. `presets` are the game's other presets, and
    `dealing` those of them with random starts.
    """
    games = findings.seats * (findings.pairs + findings.left_out)
    if findings.reasons.get(RESIGNED, 0) + sum(findings.forfeits.values()) < games:
        yield from _seat_warnings(findings, presets, dealing)
    for bot in bots:
        lost = findings.forfeits[bot]
        if lost > MAX_FORFEIT_SHARE * games:
            yield (
                f"{bot} forfeited {lost:,} of {games:,} games, by time, illegal moves, a lost connection or a failed "
                "program: this decides more than its play, so mend it first"
            )
    if findings.outside:
        pairs = format_units(findings, findings.outside)
        yield (
            f"{pairs} of {findings.pairs:,} have a luck-adjusted score below 0 or above 1. The verdict and the "
            "interval that holds at any time assume scores from 0 to 1: without that, both were wrong in up to 0.3 of "
            "simulated runs instead of 0.05 (docs/measuring.md). Use --pairs N, which sets their number beforehand, or "
            "--no-luck-adjustment, which leaves luck in"
        )
    if findings.left_out:
        left = f"{format_units(findings, findings.left_out)} {'is' if findings.left_out == 1 else 'are'}"
        yield f"{left} left out: {'neither bot' if findings.seats == 2 else 'no bot'} came to a match, so it was void"


def format_amount(edge: float, unit: str) -> str:
    """Return in words, with its unit, by how much one bot is better than the other."""
    return {"score": f"{edge:g} points a game", "elo": f"{edge:g} Elo", "nelo": f"{edge:g} normalised Elo"}[unit]


def format_llr(llr: str, hypotheses: Hypotheses, lower: float, upper: float) -> str:
    """Return a sentence on two lines: the log likelihood ratio `llr`, and the bounds at which the test accepts h0 and
    h1.
    """
    h0, h1 = (format_amount(edge, hypotheses.unit) for edge in (hypotheses.h0, hypotheses.h1))
    return f"The LLR is {llr}: the test accepts h0 ({h0}) below {lower:.2f},\nand h1 ({h1}) above {upper:.2f}."


def _seat_warnings(findings: Findings, presets: Sequence[str], dealing: Sequence[str]) -> Iterator[str]:
    if findings.pairs < MIN_PAIRS or findings.seat_0 is None:
        return
    first = findings.seat_0
    other = f"another preset ({', '.join(presets)}) or config" if presets else "another config"
    if findings.alike:
        dealt = f"a preset whose starts are dealt ({', '.join(dealing)})" if dealing else "a config that deals starts"
        word = "pairs" if findings.seats == 2 else "starts"
        yield (
            f"all {format_units(findings, findings.pairs)} took the same course: bots that always play the "
            "same from the same "
            f"start show no more in many {word} than in one. Use {dealt}, or bots that play at random"
        )
    elif not 1 - MAX_SEAT_SHARE < first < MAX_SEAT_SHARE:
        yield (
            f"seat 0 scores {first:.3f}, whichever bot sits there: the seat decides almost everything, the bots almost "
            f"nothing. Use {other}"
        )
    elif findings.same_seat > MAX_SEAT_SHARE:
        word, games = ("pairs", "both") if findings.seats == 2 else ("starts", "all")
        yield (
            f"in {findings.same_seat:.0%} of the {word} one seat won {games} games: the start decides almost "
            f"everything, the bots almost nothing. Use {other}"
        )


class _Claim(NamedTuple):
    """A statement about the first bot (`said`), and a clause that supposes the contrary (`otherwise`). `decides` is
    true if the statement says which bot is better.
    """

    said: str
    otherwise: str
    decides: bool


def _claim(bots: tuple[str, str], hypotheses: Hypotheses, accepted: str) -> _Claim:
    """Return what an accepted hypothesis says about the first bot's lead over the second. If h1 is accepted, the lead
    is more than that of h0. If h0 is accepted, it is less than that of h1. So the claim names the lead of the rejected
    hypothesis.
    """
    one, other = bots
    edge = hypotheses.h0 if accepted == "h1" else hypotheses.h1
    by = format_amount(abs(edge), hypotheses.unit)
    if accepted == "h1":
        if edge == 0:
            return _Claim(f"{one} is better than {other}", "if it were no better", True)
        if edge > 0:
            return _Claim(f"{one} is better than {other} by more than {by}", "if it were not", True)
        return _Claim(f"{one} is not worse than {other} by {by}", "if it were worse by that much", False)
    if edge == 0:
        return _Claim(f"{one} is worse than {other}", "if it were as good", True)
    if edge > 0:
        return _Claim(f"{one} is not better than {other} by {by}", "if it were better by that much", False)
    return _Claim(f"{one} is worse than {other} by more than {by}", "if it were not", True)


def _format_appearance(findings: Findings) -> str:
    """Return which bot the score favours, for a test that does not decide which is better; empty text for neither."""
    best = findings.best
    if best is None or findings.pairs < MIN_PAIRS or best.low <= 0.5 <= best.high:
        return ""
    return ", and looks better" if best.low > 0.5 else ", and looks worse"


def _format_test_share(probability: float, tests: str = "tests") -> str:
    """Return a probability as a share of tests, like `5 of 100 tests` or `0.13 % of tests` (two digits, rounded up)."""
    percent = Fraction(f"{probability:.12g}") * 100  # 0.003 / 5 is more than 0.0006
    if percent.denominator == 1:
        return f"{percent} of 100 {tests}"
    digit = Fraction(10) ** (floor(log10(percent)) - 1)
    return f"{float(ceil(percent / digit) * digit):g} % of {tests}"

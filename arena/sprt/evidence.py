"""The question of a test of two bots, and the evidence from their matches, pair by pair in schedule order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from measuring.adjusted_scores import estimate_scores
from measuring.confidence_sequence import Interval, confidence_sequence
from measuring.elo import Comparison, EloDifference, compare_scores
from measuring.normalised_elo import normalised_elo
from measuring.pair_scores import SideScore, group_score
from measuring.sequential import Hypotheses, Pentanomial, RealValued, SequentialTest, Verdict
from protocol.reasons import FORFEITS, VOID
from referee.result import Result, match_points

MAX_SEAT_SHARE = 0.95
"""If one seat has more than this share of all points, or wins all matches of more than this share of the pairs, results
say almost nothing about the bots.
"""
MIN_PAIRS = 10
"""The number of pairs below which there are no warnings about seats and start positions, and a test without hypotheses
has no conclusion.
"""
SCORE_TOLERANCE = 1e-9
"""The rounding error by which the mean of a pair's scores may be below 0 or above 1."""
MAX_FORFEIT_SHARE = 0.05
"""If a bot forfeits more than this share of its matches, its forfeits decide more than its play."""


class Question(Struct, frozen=True, kw_only=True):
    """The question of a test: the hypotheses to decide between. Without `hypotheses`, the test asks how much better one
    bot is, after a number of pairs that is fixed beforehand.

    `value` names the value function that measures luck; with None, luck stays in the results.
    """

    hypotheses: Hypotheses | None
    value: str | None


class TestedMatch(NamedTuple):
    """A match of a test of two bots. `luck` is each seat's luck in points; None if results are not adjusted."""

    result: Result
    luck: tuple[float, ...] | None = None


class LikelihoodRatio(Struct, frozen=True, kw_only=True):
    """The log likelihood ratio of h1 to h0. At `lower`, h0 is accepted; at `upper`, h1."""

    llr: float
    lower: float
    upper: float


class Findings(Struct, frozen=True, kw_only=True):
    """The findings of a test so far, about its first bot.

    With more than two `seats`, a pair consists of all matches from one start position, one for each seat of the bot.
    - `left_out` counts the pairs that are ignored because one of their matches is void.
    - `adjusted` is the score less luck.
    - `worth` is the number of single games without luck adjustment that would give the same certainty.
    - `normalised` is the normalised Elo of the raw results.
    - `any_time` is the interval of the score (luck-adjusted if luck is measured) that is valid whenever you stop.
    - `seat_0` is the score of the side that moves first.
    - `same_seat` is the fraction of pairs in which one seat won every match.
    - `alike` is True if the matches of all pairs had equal ranks, reasons and numbers of plies.
    """

    verdict: Verdict | None
    seats: int
    pairs: int
    left_out: int
    games: int
    score: Comparison | None
    adjusted: Comparison | None
    worth: float | None
    normalised: EloDifference | None
    any_time: Interval | None
    ratio: LikelihoodRatio | None
    seat_0: float | None
    same_seat: float
    alike: bool
    reasons: dict[str, int]
    forfeits: dict[str, int]
    outside: int = 0
    """The number of pairs with an adjusted score below 0 or above 1. If there are any, the error limits of the verdict
    and of `any_time` are not proven.
    """

    @property
    def best(self) -> Comparison | None:
        """The luck-adjusted score if luck is measured, else the raw score; None before the first complete pair."""
        return self.adjusted or self.score


class Evidence:
    """The evidence about two `bots` from the matches of their test, which are added in schedule order. A pair, which is
    all matches from one start position, counts only when it is complete.

    With more than two seats, `sides` has the names under which each bot plays. Matches after the verdict are ignored,
    because the verdict belongs to the shortest sequence of matches that decides.
    """

    def __init__(
        self, bots: tuple[str, str], question: Question, sides: tuple[Sequence[str], Sequence[str]] | None = None
    ) -> None:
        self.bots = bots
        self.question = question
        self.sides = sides or ((bots[0],), (bots[1],))
        self.seats = sum(map(len, self.sides))
        self.matches: list[TestedMatch] = []
        self._test = _make_test(question, self.seats)
        self._played: list[SideScore] = []
        self._left_out = 0
        self._means: list[float] = []
        self._adjusted: list[float] = []
        self._first: list[float] = []
        self._same_seat = 0
        self._courses: set[tuple[tuple[Any, ...], ...]] = set()

    @property
    def verdict(self) -> Verdict | None:
        """The accepted hypothesis; None while neither is accepted."""
        return None if self._test is None else self._test.verdict

    def add_matches(self, samples: Iterable[TestedMatch]) -> None:
        """Add the next matches of the schedule to the evidence."""
        for sample in samples:
            if self.verdict is None:
                self.matches.append(sample)
                if len(self.matches) % self.seats == 0:
                    self._add_pair(self.matches[-self.seats :])

    def _add_pair(self, pair: Sequence[TestedMatch]) -> None:
        if any(one.result.reason == VOID for one in pair):
            self._left_out += 1
            return
        start = len(self._played) // self.seats
        seen = [group_score(one.result, self.sides[0], one.luck, start) for one in pair]
        self._played += seen
        scored = [match_points(one.result) for one in pair]
        self._means.append(sum(one.points for one in seen) / self.seats)
        self._first += [each[0] for each in scored]
        self._courses.add(tuple(sorted(_course(one.result) for one in pair)))
        self._same_seat += any(set(seat) == {1.0} for seat in zip(*scored, strict=True))
        self._adjusted.append(sum(one.points - (one.luck or 0.0) for one in seen) / self.seats)
        if self._test is not None:
            self._test.add(self._adjusted[-1])

    def findings(self) -> Findings:
        pairs = len(self._played) // self.seats
        found = estimate_scores(self._played)
        ratio = None
        if self._test is not None:
            asked = self._test.hypotheses
            ratio = LikelihoodRatio(llr=self._test.llr, lower=asked.lower, upper=asked.upper)
        return Findings(
            verdict=self.verdict,
            seats=self.seats,
            pairs=pairs,
            left_out=self._left_out,
            games=found.games,
            score=None if found.score is None else compare_scores(found.score),
            adjusted=None if found.adjusted is None else compare_scores(found.adjusted),
            worth=found.worth,
            normalised=normalised_elo(self._means) if self.seats == 2 else None,
            any_time=confidence_sequence(self._adjusted) if self._adjusted else None,
            ratio=ratio,
            seat_0=sum(self._first) / len(self._first) if self._first else None,
            same_seat=self._same_seat / pairs if pairs else 0.0,
            alike=len(self._courses) == 1,
            reasons=dict(Counter(one.result.reason for one in self.matches)),
            outside=sum(not -SCORE_TOLERANCE <= score <= 1 + SCORE_TOLERANCE for score in self._adjusted),
            forfeits=dict(zip(self.bots, map(self._count_forfeits, self.sides), strict=True)),
        )

    def _count_forfeits(self, side: Sequence[str]) -> int:
        seats = (seat for one in self.matches if one.result.reason != VOID for seat in one.result.seats)
        return sum(seat.bot in side and seat.reason in FORFEITS for seat in seats)


def _course(result: Result) -> tuple[Any, ...]:
    return (*((seat.bot, seat.rank, seat.reason) for seat in result.seats), result.plies)


def _make_test(question: Question, seats: int) -> SequentialTest | None:
    """Return the sequential test of a question; None without hypotheses.

    Raw pairs of two seats are tested by counts of their scores. All other pairs are tested by the values of their
    scores: with more seats there are too many different scores to count, and luck-adjusted scores are real numbers.
    """
    if question.hypotheses is None:
        return None
    counted = question.value is None and seats == 2
    return Pentanomial(question.hypotheses) if counted else RealValued(question.hypotheses)

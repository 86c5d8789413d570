"""What a test asks of two bots, and what their matches say to it, pair by pair in the order of the schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from measuring.confidence_sequence import Interval, confidence_sequence
from measuring.elo import Comparison, EloDifference, compare_scores, normalised_elo
from measuring.pair_scores import SideScore, group_score
from measuring.scores import estimate_scores
from measuring.sequential import Hypotheses, Pentanomial, RealValued, SequentialTest, Verdict
from protocol.reasons import FORFEITS, VOID
from referee.result import Result, points

ONE_SIDED = 0.95
"""A share of matches, or of pairs, above which they say next to nothing of the bots."""
ENOUGH = 10
"""Pairs before anything is said of the bots, or of what the pairs have in common, where no test says when."""
ROUNDING = 1e-9
"""What the mean of a pair's scores may be beyond 0 or 1 by rounding."""
MANY = 0.05
"""A share of a bot's matches above which its forfeits decide more than its play."""


class Question(Struct, frozen=True, kw_only=True):
    """What a test asks. `value` names what luck is measured by, None: results count as they are.

    Without `hypotheses` it asks how much better the one bot is, after a number of pairs that is settled beforehand.
    """

    hypotheses: Hypotheses | None
    value: str | None


class Sample(NamedTuple):
    """A match of the test, and the points that chance gave each seat, None where that is not asked."""

    result: Result
    luck: tuple[float, ...] | None = None


class Ratio(Struct, frozen=True, kw_only=True):
    """The log likelihood ratio of h1 to h0, and the bounds at which h0 and h1 are accepted."""

    llr: float
    lower: float
    upper: float


class Findings(Struct, frozen=True, kw_only=True):
    """What a test has found so far of its first bot. Pairs of which a match was void are `left_out` of all else. With
    more than two `seats`, a pair is the matches of a start: one from each seat.

    `seat_0` is the score of whoever moved first, `same_seat` the share of pairs of which one seat won both matches;
    `alike` are all pairs if they went as the first one did, to the same ply and the same end. `adjusted` is less luck,
    `worth` how many single games with luck left in would be as certain, `normalised` Elo that of results as they came.
    `any_time` is the interval of the score, less luck where that is measured, that is valid whenever one stops.
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
    ratio: Ratio | None
    seat_0: float | None
    same_seat: float
    alike: bool
    reasons: dict[str, int]
    forfeits: dict[str, int]
    outside: int = 0
    """Pairs that are less luck below 0 or above 1, for which neither the verdict nor `any_time` is proved."""

    @property
    def best(self) -> Comparison | None:
        """The score less luck where luck is measured, else as it came out; None while there is none."""
        return self.adjusted or self.score


class Evidence:
    """The matches of a test between `bots`, taken in the order of the schedule; only whole pairs count, which are the
    matches of a start. Where more than two sit in a match, `sides` are the names under which each of the bots does.

    After the verdict nothing more is taken: it is that of the shortest prefix that decides.
    """

    def __init__(
        self, bots: tuple[str, str], question: Question, sides: tuple[Sequence[str], Sequence[str]] | None = None
    ) -> None:
        self.bots = bots
        self.question = question
        self.sides = sides or ((bots[0],), (bots[1],))
        self.seats = sum(map(len, self.sides))
        self.matches: list[Sample] = []
        self._test = _test(question, self.seats)
        self._played: list[SideScore] = []
        self._left_out = 0
        self._means: list[float] = []
        self._adjusted: list[float] = []
        self._first: list[float] = []
        self._same_seat = 0
        self._courses: set[tuple[tuple[Any, ...], ...]] = set()

    @property
    def verdict(self) -> Verdict | None:
        """The hypothesis that is accepted; None while neither is."""
        return None if self._test is None else self._test.verdict

    def take(self, samples: Iterable[Sample]) -> None:
        """Take the matches that come next in the schedule."""
        for sample in samples:
            if self.verdict is None:
                self.matches.append(sample)
                if len(self.matches) % self.seats == 0:
                    self._take_pair(self.matches[-self.seats :])

    def _take_pair(self, pair: Sequence[Sample]) -> None:
        if any(one.result.reason == VOID for one in pair):
            self._left_out += 1
            return
        start = len(self._played) // self.seats
        seen = [group_score(one.result, self.sides[0], one.luck, start) for one in pair]
        self._played += seen
        scored = [points(one.result) for one in pair]
        self._means.append(sum(one.points for one in seen) / self.seats)
        self._first += [each[0] for each in scored]
        self._courses.add(tuple(sorted(_course(one.result) for one in pair)))
        self._same_seat += any(set(seat) == {1.0} for seat in zip(*scored, strict=True))
        self._adjusted.append(sum(one.points - (one.luck or 0.0) for one in seen) / self.seats)
        if self._test is not None:
            self._test.add(self._adjusted[-1])

    def findings(self) -> Findings:
        """What is found so far."""
        pairs = len(self._played) // self.seats
        found = estimate_scores(self._played)
        ratio = None
        if self._test is not None:
            asked = self._test.hypotheses
            ratio = Ratio(llr=self._test.llr, lower=asked.lower, upper=asked.upper)
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
            outside=sum(not -ROUNDING <= score <= 1 + ROUNDING for score in self._adjusted),
            forfeits=dict(zip(self.bots, map(self._forfeits, self.sides), strict=True)),
        )

    def _forfeits(self, side: Sequence[str]) -> int:
        seats = (seat for one in self.matches if one.result.reason != VOID for seat in one.result.seats)
        return sum(seat.bot in side and seat.reason in FORFEITS for seat in seats)


def _course(result: Result) -> tuple[Any, ...]:
    """How a match went, as far as its result shows it."""
    return (*((seat.bot, seat.rank, seat.reason) for seat in result.seats), result.plies)


def _test(question: Question, seats: int) -> SequentialTest | None:
    """Of counts for pairs of results; those of more seats have too many scores to be counted."""
    if question.hypotheses is None:
        return None
    counted = question.value is None and seats == 2
    return Pentanomial(question.hypotheses) if counted else RealValued(question.hypotheses)

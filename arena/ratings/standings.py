"""Tournament tables with ranks, intervals over starts and head-to-head scores, with and without luck adjustment."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct, structs

from arena.ratings.significant_ranks import ScoredMatch, ranks
from measuring.elo import Comparison, compare_scores
from measuring.pair_scores import SideScore, side_score
from measuring.payoffs import MeanPayoff
from measuring.scores import Z95, Estimate, estimate_scores
from protocol.reasons import FORFEITS, RESIGNED, VOID
from referee.result import Result, SeatResult, points, points_of


class Share(Struct, frozen=True, kw_only=True):
    """A share of points or matches with its 95 % interval."""

    score: float
    low: float
    high: float


class TableRow(Struct, frozen=True, kw_only=True):
    """One bot's line. `score` is the share of points won, `low` and `high` its 95 % interval: Wilson's, until it is
    known which matches shared a start.
    """

    rank: int
    bot: str
    played: int
    won: int
    drawn: int
    lost: int
    score: float
    low: float
    high: float
    forfeits: int
    """Matches lost by time, strikes, disconnection or not showing up."""
    payoff: MeanPayoff | None = None
    """The mean payoff, if payoffs are the result and a match counts. The table is then sorted by it."""
    adjusted: Share | None = None
    """The luck-adjusted score, if known. If it is known for all bots, the table is sorted by it."""


class PlayedSeat(NamedTuple):
    """The result of a seat; the lower `rank` is better."""

    bot: str
    rank: int
    reason: str
    payoff: float | None = None
    rounds: int | None = None


class PlayedMatch(NamedTuple):
    """A match as a table needs it, instead of a `Result`: its place in the schedule and its seats."""

    place: int
    reason: str
    seats: tuple[PlayedSeat, ...]
    luck: float | None = None
    """The points that luck gave seat 0 of two; None if unknown."""


class MatchSample(NamedTuple):
    """A match, the points that luck gave seat 0 of two (None: unknown), and the start that it shares, if any."""

    result: Result
    luck: float | None = None
    start: int | None = None


class Place(Struct, frozen=True, kw_only=True):
    """A mean place with its 95 % interval. 1 is best; tied bots share the mean of their places."""

    place: float
    low: float
    high: float


class Row(TableRow, frozen=True, kw_only=True):
    """A bot's row of a table with intervals over starts. `worth` is the number of single matches without luck
    adjustment that would be as precise as `adjusted`. With more than two seats, `place` is the mean place and `first`
    the share of matches won, a tie divided; with two seats they are None.
    """

    worth: float | None
    place: Place | None = None
    first: Share | None = None


class HeadToHead(Struct, frozen=True, kw_only=True):
    """A bot's result in its two-seat matches against one other. `adjusted` and `worth` are as in `Row`."""

    matches: int
    score: Comparison
    adjusted: Comparison | None
    worth: float | None


R = TypeVar("R", bound=TableRow)
HeadToHeadShares = dict[str, dict[str, float | None]]
"""The share of points of each bot (first key) in its matches against each other one; None if they never met."""


def interval(score: float, played: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share of points. A draw counts as half a win, which makes it a little wide.
    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference (1927).
    """
    if not played:
        return 0.0, 1.0
    z2 = Z95 * Z95 / played
    middle = (score + z2 / 2) / (1 + z2)
    reach = Z95 * math.sqrt(score * (1 - score) / played + z2 / (4 * played)) / (1 + z2)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def table(names: Sequence[str], results: Iterable[Result | PlayedMatch]) -> list[TableRow]:
    """Rank the bots by their share of points, best first; equal shares have equal ranks. Void matches do not count."""
    score: Counter[str] = Counter()
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    for result in results:
        if result.reason == VOID:
            continue
        seats: Sequence[SeatResult | PlayedSeat] = result.seats
        best = min(seat.rank for seat in seats)
        shared = sum(seat.rank == best for seat in seats) > 1
        for seat, won in zip(seats, points_of([seat.rank for seat in seats]), strict=True):
            score[seat.bot] += won  # type: ignore[assignment]  # Counter adds floats as well
            outcome = "lost" if seat.rank != best else "drawn" if shared else "won"
            counts[seat.bot].update(["played", outcome, *(["forfeits"] if seat.reason in FORFEITS else [])])
    shares = {name: score[name] / count["played"] if count["played"] else 0.0 for name, count in counts.items()}
    rows: list[TableRow] = []
    for place, (name, share) in enumerate(sorted(shares.items(), key=lambda item: -_rounded(item[1])), 1):
        count = counts[name]
        low, high = interval(share, count["played"])
        rows.append(
            TableRow(
                rank=rows[-1].rank if rows and _rounded(rows[-1].score) == _rounded(share) else place,
                bot=name,
                played=count["played"],
                won=count["won"],
                drawn=count["drawn"],
                lost=count["lost"],
                score=share,
                low=low,
                high=high,
                forfeits=count["forfeits"],
            )
        )
    return rows


def _rounded(score: float) -> float:
    """Round a score for comparison: thirds of points add up to different floats in different orders."""
    return round(score, 9)


def uncontested_losses(names: Sequence[str], results: Iterable[Result]) -> dict[str, Counter[str]]:
    """Count each bot's losses by forfeit and by resignation, by reason."""
    lost: dict[str, Counter[str]] = {name: Counter() for name in names}
    for result in results:
        for seat in result.seats:
            if seat.reason in FORFEITS or seat.reason == RESIGNED:
                lost[seat.bot][seat.reason] += 1
    return lost


def head_to_head(names: Sequence[str], results: Iterable[Result | PlayedMatch]) -> HeadToHeadShares:
    """Return the share of points of each bot against each other one. Void matches do not count."""
    won: Counter[tuple[str, str]] = Counter()
    met: Counter[tuple[str, str]] = Counter()
    for result in results:
        if result.reason == VOID:
            continue
        for seat in result.seats:
            for other in result.seats:
                if seat is not other:
                    met[seat.bot, other.bot] += 1
                    half = (seat.rank < other.rank) + (seat.rank <= other.rank)
                    won[seat.bot, other.bot] += half
    return {a: {b: won[a, b] / 2 / met[a, b] if met[a, b] else None for b in names if b != a} for a in names}


def score_table(names: Sequence[str], met: Sequence[MatchSample], *, raw: bool = False) -> list[Row]:
    """Rank the bots by luck-adjusted score if it is known for all, else (or if `raw`) by share of points, best first.
    Bots whose scores do not differ significantly share a rank. Void matches do not count.
    """
    lines = []
    for row in table(names, [one.result for one in met]):
        found = estimate_scores(_played(row.bot, met))
        line = {**structs.asdict(row), "adjusted": None, "worth": found.worth}
        if found.score is not None:
            line |= {"low": found.score.low, "high": found.score.high, **_places(row.bot, met, found.score)}
        if found.adjusted is not None:
            line["adjusted"] = _share(found.adjusted)
        lines.append(Row(**line))
    return _ranked(lines, list(_scored(met)), raw=raw)


def goes_by_adjusted(rows: Iterable[TableRow]) -> bool:
    """Return whether a table can be sorted by luck-adjusted score: it is known for all bots that have played."""
    played = [row for row in rows if row.played]
    return bool(played) and all(row.adjusted is not None for row in played)


def places_of(table: Sequence[TableRow]) -> dict[str, int | None]:
    """Return the place of each bot: 1 plus the number of bots with a higher value; None without a match. The value is
    the payoff if that is the result, else the luck-adjusted score if known, else the score.
    """
    by_payoff, by_adjusted = any(row.payoff is not None for row in table), goes_by_adjusted(table)
    values = {}
    for row in table:
        if row.payoff is not None:
            values[row.bot] = _rounded(row.payoff.mean)
        elif row.played and not by_payoff:
            found = row.adjusted if by_adjusted else None
            values[row.bot] = _rounded(row.score if found is None else found.score)
    first: dict[float, int] = {}
    for place, value in enumerate(sorted(values.values(), reverse=True), 1):
        first.setdefault(value, place)
    return {row.bot: first[values[row.bot]] if row.bot in values else None for row in table}


def _ranked(listed: Sequence[R], matches: Sequence[ScoredMatch], *, raw: bool = False) -> list[R]:
    """Rank rows that are sorted by score; first sort them by luck-adjusted score if it is known, unless `raw`."""
    adjusted = not raw and goes_by_adjusted(listed)
    if adjusted:
        listed = sorted(listed, key=lambda row: math.inf if row.adjusted is None else -_rounded(row.adjusted.score))
    rank = ranks([row.bot for row in listed], matches, adjusted=adjusted)
    return [structs.replace(row, rank=rank[row.bot]) for row in listed]


def standing(listed: Sequence[TableRow], matches: Sequence[ScoredMatch]) -> list[TableRow]:
    """Return the rows of a table with ranks and intervals over starts, sorted by luck-adjusted score if known."""
    played: defaultdict[str, list[SideScore]] = defaultdict(list)
    for match in matches:
        for seat, bot in enumerate(match.seats):
            against = tuple(sorted(match.seats[:seat] + match.seats[seat + 1 :]))
            luck = match.luck if match.luck is None or seat == 0 else -match.luck
            played[bot].append(SideScore(match.points[seat], luck, match.start, against, seat))
    lines = []
    for row in listed:
        found = estimate_scores(played[row.bot])
        more: dict[str, Any] = {} if found.score is None else {"low": found.score.low, "high": found.score.high}
        if found.adjusted is not None:
            more["adjusted"] = _share(found.adjusted)
        lines.append(structs.replace(row, **more))
    return _ranked(lines, matches)


def head_to_heads(names: Sequence[str], met: Iterable[MatchSample]) -> dict[str, dict[str, HeadToHead]]:
    """Return the result of each bot (first key) in two-seat matches against each other one that it met."""
    together: dict[frozenset[str], list[MatchSample]] = {}
    for one in met:
        together.setdefault(frozenset(seat.bot for seat in one.result.seats), []).append(one)
    duels: dict[str, dict[str, HeadToHead]] = {bot: {} for bot in names}
    for bot, other in itertools.product(names, repeat=2):
        found = estimate_scores(_played(bot, together.get(frozenset((bot, other)), ())))
        if found.score is not None:
            duels[bot][other] = HeadToHead(
                matches=found.games,
                score=compare_scores(found.score),
                adjusted=None if found.adjusted is None else compare_scores(found.adjusted),
                worth=found.worth,
            )
    return duels


def _places(bot: str, met: Sequence[MatchSample], score: Estimate) -> dict[str, Place | Share]:
    """Return `place` and `first` for a row; nothing with two seats, where they add nothing to the score."""
    others = len(met[0].result.seats) - 1
    first = estimate_scores(_firsts(bot, met)).score
    if others == 1 or first is None:
        return {}
    place, low, high = (1 + others * (1 - share) for share in (score.mean, score.high, score.low))
    return {"place": Place(place=place, low=low, high=high), "first": _share(first)}


def _share(found: Estimate) -> Share:
    return Share(score=found.mean, low=found.low, high=found.high)


def _firsts(bot: str, met: Iterable[MatchSample]) -> Iterator[SideScore]:
    """Yield a bot's scores if only the winner got points."""
    for score, (result, _, _) in zip(_played(bot, met), _counted(bot, met), strict=True):
        ranks = [seat.rank for seat in result.seats]
        yield score._replace(points=1 / ranks.count(1) if ranks[score.seat] == 1 else 0.0)


def _played(bot: str, met: Iterable[MatchSample]) -> Iterator[SideScore]:
    for result, luck, start in _counted(bot, met):
        yield side_score(result, bot, luck, start)


def _scored(met: Iterable[MatchSample]) -> Iterator[ScoredMatch]:
    for result, luck, start in met:
        if result.reason != VOID:
            yield ScoredMatch(tuple(seat.bot for seat in result.seats), points(result), start, luck)


def _counted(bot: str, met: Iterable[MatchSample]) -> Iterator[MatchSample]:
    return (one for one in met if one.result.reason != VOID and any(seat.bot == bot for seat in one.result.seats))

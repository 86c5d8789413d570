"""Tournament tables with ranks, intervals of scores and head-to-head scores, with and without luck adjustment."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, structs

from arena.ratings.rank_ranges import RankRange, ScoredMatch, rank_ranges
from measuring.adjusted_scores import estimate_scores
from measuring.elo import Comparison, compare_scores
from measuring.pair_scores import SideScore
from measuring.payoffs import MeanPayoff
from measuring.scores import Estimate
from measuring.share_intervals import share_interval
from protocol.names import fold_name
from protocol.reasons import FORFEITS, RESIGNED, VOID
from referee.result import Result, SeatResult, points_from_ranks


class Share(Struct, frozen=True, kw_only=True):
    """The share of points or of matches that a bot won, with its 95 % interval."""

    score: float
    low: float
    high: float


class Place(Struct, frozen=True, kw_only=True):
    """A bot's mean place over matches, with its 95 % interval. 1 is best; tied bots share the mean of their places."""

    place: float
    low: float
    high: float


class TableRow(Struct, frozen=True, kw_only=True):
    """A bot's row in a table. `score` is the share of points won, and `low` and `high` are its 95 % interval: Wilson's,
    until it is known which matches share a start position.
    """

    rank: int | None
    """The bot's rank: 1 plus the number of bots with a higher value of the measure that sorts the table. None if no
    match of the bot counts.
    """
    best_rank: int | None = None
    """1 plus the number of bots that are certainly better. The certainty is 95 % for all bots together."""
    worst_rank: int | None = None
    """The number of bots that have played, less those that are certainly worse. Bots of equal rank share it."""
    bot: str
    played: int
    won: int
    drawn: int
    lost: int
    score: float
    low: float
    high: float
    forfeits: int
    """The number of matches that the bot lost by time, strikes, disconnection or not showing up."""
    payoff: MeanPayoff | None = None
    """The bot's mean payoff. None if the game's result is not a payoff, or if none of the bot's matches counts. If any
    bot has a mean payoff, the table is sorted by it.
    """
    adjusted: Share | None = None
    """The bot's luck-adjusted score, if known. If it is known for all bots, the table is sorted by it."""
    worth: float | None = None
    """The number of raw results that would give a score as precise as `adjusted` is."""
    place: Place | None = None
    """The bot's mean place, if its matches have more than two seats."""
    first: Share | None = None
    """The share of its matches of more than two seats that the bot won. A shared first place counts as a fraction."""


class PlayedSeat(NamedTuple):
    """The result of a seat in a match. `rank` 1 is best."""

    bot: str
    rank: int
    reason: str
    payoff: float | None = None
    rounds: int | None = None


class PlayedMatch(NamedTuple):
    """The facts about a match that a table needs, for callers that have no `Result` of the match."""

    reason: str
    seats: tuple[PlayedSeat, ...]


class MatchSample(NamedTuple):
    """A match of a tournament. `luck` is the points that luck gave seat 0 of two (None: unknown). `start` is the number
    of its start position; None if no other match has that.
    """

    result: Result | PlayedMatch
    luck: float | None = None
    start: int | None = None


class HeadToHead(Struct, frozen=True, kw_only=True):
    """The result of a bot in its two-seat matches against one opponent. `adjusted` is its luck-adjusted score, None if
    unknown. `worth` is the number of raw results that would give a score as precise as `adjusted` is.
    """

    matches: int
    score: Comparison
    adjusted: Comparison | None
    worth: float | None


HeadToHeadShares = dict[str, dict[str, float | None]]
"""The share of points of each bot (first key) in its matches against each other bot; None if they never met."""


def score_rows(names: Sequence[str], results: Iterable[Result | PlayedMatch]) -> list[TableRow]:
    """Return the rows of a table of bots by their share of points, best first. Bots with equal shares have equal ranks
    and are sorted by name. Void matches do not count. Bots without a match that counts are last.
    """
    score: Counter[str] = Counter()
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    for result in results:
        if result.reason == VOID:
            continue
        seats: Sequence[SeatResult | PlayedSeat] = result.seats
        best = min(seat.rank for seat in seats)
        shared = sum(seat.rank == best for seat in seats) > 1
        for seat, won in zip(seats, points_from_ranks([seat.rank for seat in seats]), strict=True):
            score[seat.bot] += won  # type: ignore[assignment]  # Counter adds floats as well
            outcome = "lost" if seat.rank != best else "drawn" if shared else "won"
            counts[seat.bot].update(["played", outcome, *(["forfeits"] if seat.reason in FORFEITS else [])])
    shares = {name: score[name] / count["played"] if count["played"] else 0.0 for name, count in counts.items()}
    rows: list[TableRow] = []
    for name in sorted(names, key=lambda name: (not counts[name]["played"], -rounded(shares[name]), fold_name(name))):
        count, share = counts[name], shares[name]
        found = share_interval(share, count["played"])
        rows.append(
            TableRow(
                rank=None,
                bot=name,
                played=count["played"],
                won=count["won"],
                drawn=count["drawn"],
                lost=count["lost"],
                score=share,
                low=found.low,
                high=found.high,
                forfeits=count["forfeits"],
            )
        )
    return with_ranks(rows, {name: rounded(share) for name, share in shares.items()}, {})


def with_ranks(
    rows: Sequence[TableRow], values: Mapping[str, float], ranges: Mapping[str, RankRange]
) -> list[TableRow]:
    """Return the rows with ranks and ranges of ranks. Rows are sorted best first, by `values`.

    Ranges are widened to agree with the order of the table. Bots with equal values share one range. A bot's best rank
    is never worse than that of a lower bot with at least as many matches. Its worst rank is never better than that of a
    higher bot with at least as many matches. A bot that has not played has neither a rank nor a range.
    """
    ranks: dict[float, int] = {}
    fewest: dict[float, int] = {}
    for place, row in enumerate(rows, 1):
        value = values[row.bot]
        ranks.setdefault(value, place)
        fewest[value] = min(row.played, fewest.get(value, row.played))
    lines = []
    for row in rows:
        value = values[row.bot]
        peers = [
            (values[other.bot], ranges[other.bot])
            for other in rows
            if other.bot in ranges and (other.played >= fewest[value] or values[other.bot] == value)
        ]
        has_range = bool(row.played) and row.bot in ranges
        line = structs.replace(
            row,
            rank=ranks[value] if row.played else None,
            best_rank=min(found.best for theirs, found in peers if theirs <= value) if has_range else None,
            worst_rank=max(found.worst for theirs, found in peers if theirs >= value) if has_range else None,
        )
        lines.append(line)
    return lines


def rounded(score: float) -> float:
    """Return a score rounded for comparisons. Else the order in which thirds of points are added would matter."""
    return round(score, 9)


def uncontested_losses(names: Sequence[str], results: Iterable[Result]) -> dict[str, Counter[str]]:
    """Return how many matches each bot lost by forfeit or by resigning, by bot and reason."""
    lost: dict[str, Counter[str]] = {name: Counter() for name in names}
    for result in results:
        for seat in result.seats:
            if seat.reason in FORFEITS or seat.reason == RESIGNED:
                lost[seat.bot][seat.reason] += 1
    return lost


def head_to_head_shares(names: Sequence[str], results: Iterable[Result | PlayedMatch]) -> HeadToHeadShares:
    """Return the share of points of each bot against each other bot. Void matches do not count."""
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


def score_table(names: Sequence[str], samples: Sequence[MatchSample], *, raw: bool = False) -> list[TableRow]:
    """Return the table of a tournament, best bot first. Void matches do not count.

    It is sorted by luck-adjusted score if that is known for all bots and `raw` is false, else by share of points.
    """
    matches = list(_scored_matches(samples))
    played, firsts = _scores_by_bot(matches), _firsts_by_bot(matches)
    lines = []
    for row in score_rows(names, [one.result for one in samples]):
        found = estimate_scores(played.get(row.bot, ()))
        line: dict[str, Any] = {"worth": found.worth}
        if found.score is not None:
            line |= {"low": found.score.low, "high": found.score.high}
            if row.bot in firsts:
                others = len(matches[0].seats) - 1
                line |= _place_fields(others, found.score, estimate_scores(firsts[row.bot]).score)
        if found.adjusted is not None:
            line["adjusted"] = _share(found.adjusted)
        lines.append(structs.replace(row, **line))
    return _rank_rows(lines, matches, raw=raw)


def is_luck_adjusted(rows: Iterable[TableRow]) -> bool:
    """Return whether a table can be sorted by luck-adjusted score: all bots that have played have one."""
    played = [row for row in rows if row.played]
    return bool(played) and all(row.adjusted is not None for row in played)


def _rank_rows(listed: Sequence[TableRow], matches: Sequence[ScoredMatch], *, raw: bool = False) -> list[TableRow]:
    """Sort rows by luck-adjusted score if it is known for all bots and `raw` is false, else by share of points. Add
    ranks and ranges of ranks.
    """
    adjusted = not raw and is_luck_adjusted(listed)
    values = {row.bot: rounded((row.adjusted or row).score if adjusted else row.score) for row in listed}
    listed = sorted(listed, key=lambda row: (not row.played, -values[row.bot]))
    played = [row.bot for row in listed if row.played]
    return with_ranks(listed, values, rank_ranges(played, matches, adjusted=adjusted))


def head_to_heads(names: Sequence[str], met: Iterable[MatchSample]) -> dict[str, dict[str, HeadToHead]]:
    """Return the result of each bot (first key) in two-seat matches against each bot that it met."""
    together: defaultdict[frozenset[str], list[ScoredMatch]] = defaultdict(list)
    for match in _scored_matches(met):
        together[frozenset(match.seats)].append(match)
    duels: dict[str, dict[str, HeadToHead]] = {bot: {} for bot in names}
    for pair, matches in together.items():
        for bot, scores in _scores_by_bot(matches).items():
            found = estimate_scores(scores)
            (other,) = pair - {bot}
            if bot in duels and found.score is not None:
                duels[bot][other] = HeadToHead(
                    matches=found.games,
                    score=compare_scores(found.score),
                    adjusted=None if found.adjusted is None else compare_scores(found.adjusted),
                    worth=found.worth,
                )
    return {bot: {other: theirs[other] for other in names if other in theirs} for bot, theirs in duels.items()}


def _place_fields(others: int, estimate: Estimate, first: Estimate | None) -> dict[str, Place | Share]:
    place, low, high = (1 + others * (1 - share) for share in (estimate.mean, estimate.high, estimate.low))
    return {"place": Place(place=place, low=low, high=high)} | ({} if first is None else {"first": _share(first)})


def _share(estimate: Estimate) -> Share:
    return Share(score=estimate.mean, low=estimate.low, high=estimate.high)


def _scored_matches(met: Iterable[MatchSample]) -> Iterator[ScoredMatch]:
    for result, luck, start in met:
        if result.reason != VOID:
            points = points_from_ranks([seat.rank for seat in result.seats])
            yield ScoredMatch(tuple(seat.bot for seat in result.seats), points, start, luck)


def _scores_by_bot(matches: Iterable[ScoredMatch]) -> dict[str, list[SideScore]]:
    played: defaultdict[str, list[SideScore]] = defaultdict(list)
    for match in matches:
        for seat, (bot, points) in enumerate(zip(match.seats, match.points, strict=True)):
            against = tuple(sorted(match.seats[:seat] + match.seats[seat + 1 :]))
            luck = match.luck if match.luck is None or seat == 0 else -match.luck
            played[bot].append(SideScore(points, luck, match.start, against, seat))
    return played


def _firsts_by_bot(matches: Iterable[ScoredMatch]) -> dict[str, list[SideScore]]:
    """Return, for each bot, its scores in matches of more than two seats if only first places count: 1, or a fraction
    for a shared first place.
    """
    firsts = []
    for match in matches:
        if len(match.seats) > 2:
            best = max(match.points)
            shares = [(points == best) / match.points.count(best) for points in match.points]
            firsts.append(match._replace(points=shares))
    return _scores_by_bot(firsts)

"""How the bots of a tournament fared, with intervals over starts: overall and against each other, also less luck."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct, structs

from arena.ratings.significant_ranks import ScoredMatch, ranks
from arena.ratings.standings import TableRow, table
from measuring.elo import Comparison, compare_scores
from measuring.pair_scores import SideScore, side_score
from measuring.scores import Estimate, ScoreEstimates, estimate_scores
from protocol.reasons import VOID
from referee.result import Result, points


class MatchSample(NamedTuple):
    """A match, the points that chance gave seat 0 of two, None where that isn't known, and what start it shares."""

    result: Result
    luck: float | None = None
    start: int | None = None


class Share(Struct, frozen=True, kw_only=True):
    """A share of points or matches with its 95 % interval."""

    score: float
    low: float
    high: float


class Place(Struct, frozen=True, kw_only=True):
    """A mean place with its 95 % interval: 1 is best, tied bots share theirs."""

    place: float
    low: float
    high: float


class Row(TableRow, frozen=True, kw_only=True):
    """One bot's line. `low` and `high` are over starts; `adjusted` is the score less luck, None where that isn't known,
    `worth` how many single matches, luck left in, would be as certain.

    Of matches with more than two seats, `place` is its mean place and `first` the share of matches that it won, a tie
    shared; else they are None.
    """

    adjusted: Share | None
    worth: float | None
    place: Place | None = None
    first: Share | None = None


class HeadToHead(Struct, frozen=True, kw_only=True):
    """What a bot made of its matches against one other, two seats each. `adjusted` and `worth` are as in `Row`."""

    matches: int
    score: Comparison
    adjusted: Comparison | None
    worth: float | None


def score_table(names: Sequence[str], met: Sequence[MatchSample]) -> list[Row]:
    """The bots by their share of points, best first; those that these do not tell apart share a rank. Void matches do
    not count.
    """
    lines = []
    listed = table(names, [one.result for one in met])
    rank = ranks([row.bot for row in listed], _scored(met))
    for row in listed:
        found = estimate_scores(_played(row.bot, met))
        line = {**structs.asdict(row), "rank": rank[row.bot], "adjusted": None, "worth": found.worth}
        if found.score is not None:
            line |= {"low": found.score.low, "high": found.score.high, **_places(row.bot, met, found.score)}
        if found.adjusted is not None:
            line["adjusted"] = _share(found.adjusted)
        lines.append(Row(**line))
    return lines


def standing(listed: Sequence[TableRow], matches: Sequence[ScoredMatch]) -> list[TableRow]:
    """The lines of a table with the ranks and the intervals over starts that the matches give them."""
    rank = ranks([row.bot for row in listed], matches)
    played: defaultdict[str, list[SideScore]] = defaultdict(list)
    for match in matches:
        for seat, bot in enumerate(match.seats):
            against = tuple(sorted(match.seats[:seat] + match.seats[seat + 1 :]))
            played[bot].append(SideScore(match.points[seat], None, match.start, against, seat))
    return [_over_starts(row, rank[row.bot], estimate_scores(played[row.bot]).score) for row in listed]


def _over_starts(row: TableRow, rank: int, score: Estimate | None) -> TableRow:
    if score is None:
        return structs.replace(row, rank=rank)
    return structs.replace(row, rank=rank, low=score.low, high=score.high)


def head_to_heads(names: Sequence[str], met: Iterable[MatchSample]) -> dict[str, dict[str, HeadToHead]]:
    """What each bot (first key) made of its matches of two against each other one that it met."""
    together: dict[frozenset[str], list[MatchSample]] = {}
    for one in met:
        together.setdefault(frozenset(seat.bot for seat in one.result.seats), []).append(one)
    found: dict[str, dict[str, HeadToHead]] = {}
    for bot in names:
        theirs = {other: estimate_scores(_played(bot, together.get(frozenset((bot, other)), ()))) for other in names}
        found[bot] = {other: duel for other, what in theirs.items() if (duel := _duel(what)) is not None}
    return found


def _duel(found: ScoreEstimates) -> HeadToHead | None:
    if found.score is None:
        return None
    return HeadToHead(
        matches=found.games,
        score=compare_scores(found.score),
        adjusted=None if found.adjusted is None else compare_scores(found.adjusted),
        worth=found.worth,
    )


def _places(bot: str, met: Sequence[MatchSample], score: Estimate) -> dict[str, Place | Share]:
    """Nothing of matches of two, where places say no more than the score."""
    others = len(met[0].result.seats) - 1
    first = estimate_scores(_firsts(bot, met)).score
    if others == 1 or first is None:
        return {}
    place, low, high = (1 + others * (1 - share) for share in (score.mean, score.high, score.low))
    return {"place": Place(place=place, low=low, high=high), "first": _share(first)}


def _share(found: Estimate) -> Share:
    return Share(score=found.mean, low=found.low, high=found.high)


def _firsts(bot: str, met: Iterable[MatchSample]) -> Iterator[SideScore]:
    """As `_played`, but of the points that go to the first alone."""
    for score, (result, _, _) in zip(_played(bot, met), _counted(bot, met), strict=True):
        ranks = [seat.rank for seat in result.seats]
        yield score._replace(points=1 / ranks.count(1) if ranks[score.seat] == 1 else 0.0)


def _played(bot: str, met: Iterable[MatchSample]) -> Iterator[SideScore]:
    for result, luck, start in _counted(bot, met):
        yield side_score(result, bot, luck, start)


def _scored(met: Iterable[MatchSample]) -> Iterator[ScoredMatch]:
    for result, _, start in met:
        if result.reason != VOID:
            yield ScoredMatch(tuple(seat.bot for seat in result.seats), points(result), start)


def _counted(bot: str, met: Iterable[MatchSample]) -> Iterator[MatchSample]:
    """The bot's matches among these, but for void ones."""
    return (one for one in met if one.result.reason != VOID and any(seat.bot == bot for seat in one.result.seats))

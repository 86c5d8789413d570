"""How the bots of a tournament fared, with intervals over starts: overall and against each other, also less luck."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct, structs

from arena.ratings.standings import TableRow, table
from measuring.elo import Comparison, compared
from measuring.scores import Measured, measured
from measuring.units import SideScore, side_score
from protocol.reasons import VOID
from referee.result import Result


class Met(NamedTuple):
    """A match, the points that chance gave seat 0 of two, None where that isn't known, and what start it shares."""

    result: Result
    luck: float | None = None
    start: int | None = None


class Share(Struct, frozen=True, kw_only=True):
    """A share of the points with its 95 % interval, which may leave 0 to 1."""

    score: float
    low: float
    high: float


class Row(TableRow, frozen=True, kw_only=True):
    """One bot's line. `low` and `high` are over starts; `adjusted` is the score less luck, None where that isn't known,
    `worth` how many single matches, luck left in, would be as certain.
    """

    adjusted: Share | None
    worth: float | None


class HeadToHead(Struct, frozen=True, kw_only=True):
    """What a bot made of its matches against one other, two seats each. `adjusted` and `worth` are as in `Row`."""

    matches: int
    score: Comparison
    adjusted: Comparison | None
    worth: float | None


def rows(names: Sequence[str], met: Sequence[Met]) -> list[Row]:
    """The bots by their share of points, best first. Void matches do not count."""
    lines = []
    for row in table(names, [one.result for one in met]):
        found = measured(_played(row.bot, met))
        line = {**structs.asdict(row), "adjusted": None, "worth": found.worth}
        if found.score is not None:
            line |= {"low": found.score.low, "high": found.score.high}
        if found.adjusted is not None:
            adjusted = found.adjusted
            line["adjusted"] = Share(score=adjusted.mean, low=adjusted.low, high=adjusted.high)
        lines.append(Row(**line))
    return lines


def duels(names: Sequence[str], met: Iterable[Met]) -> dict[str, dict[str, HeadToHead]]:
    """What each bot (first key) made of its matches of two against each other one that it met."""
    together: dict[frozenset[str], list[Met]] = {}
    for one in met:
        together.setdefault(frozenset(seat.bot for seat in one.result.seats), []).append(one)
    found: dict[str, dict[str, HeadToHead]] = {}
    for bot in names:
        theirs = {other: measured(_played(bot, together.get(frozenset((bot, other)), ()))) for other in names}
        found[bot] = {other: duel for other, what in theirs.items() if (duel := _duel(what)) is not None}
    return found


def _duel(found: Measured) -> HeadToHead | None:
    if found.score is None:
        return None
    return HeadToHead(
        matches=found.games,
        score=compared(found.score),
        adjusted=None if found.adjusted is None else compared(found.adjusted),
        worth=found.worth,
    )


def _played(bot: str, met: Iterable[Met]) -> Iterator[SideScore]:
    """The bot's matches among these, but for void ones."""
    for result, luck, start in met:
        if result.reason != VOID and any(seat.bot == bot for seat in result.seats):
            yield side_score(result, bot, luck, start)

"""The table of a tournament from its results alone: points, their share with an interval, head to head."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from measuring.scores import Z95
from protocol.reasons import FORFEITS, RESIGNED, VOID
from referee.result import Result, points


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


class Score(NamedTuple):
    """What a bot has won: matches, the share of the points, and how many it forfeited."""

    won: int
    drawn: int
    lost: int
    share: float
    forfeits: int


def interval(score: float, played: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of points; a draw counts as half a win, which makes it a little wide.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference (1927).
    """
    if not played:
        return 0.0, 1.0
    z2 = Z95 * Z95 / played
    middle = (score + z2 / 2) / (1 + z2)
    reach = Z95 * math.sqrt(score * (1 - score) / played + z2 / (4 * played)) / (1 + z2)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def table(names: Sequence[str], results: Iterable[Result]) -> list[TableRow]:
    """The bots by their share of points, best first; equal shares have equal ranks. Void matches do not count."""
    score: Counter[str] = Counter()
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    for result in results:
        if result.reason == VOID:
            continue
        best = min(seat.rank for seat in result.seats)
        shared = sum(seat.rank == best for seat in result.seats) > 1
        for seat, won in zip(result.seats, points(result), strict=True):
            score[seat.bot] += won  # type: ignore[assignment]  # Counter adds floats as well
            outcome = "lost" if seat.rank != best else "drawn" if shared else "won"
            counts[seat.bot].update(["played", outcome, *(["forfeits"] if seat.reason in FORFEITS else [])])
    return rows_of(
        {
            name: Score(
                won=count["won"],
                drawn=count["drawn"],
                lost=count["lost"],
                share=score[name] / count["played"] if count["played"] else 0.0,
                forfeits=count["forfeits"],
            )
            for name, count in counts.items()
        }
    )


def rows_of(scores: Mapping[str, Score]) -> list[TableRow]:
    """The table of what each bot has won, best first; equal shares have equal ranks."""
    rows: list[TableRow] = []
    for place, (name, score) in enumerate(sorted(scores.items(), key=lambda item: -item[1].share), 1):
        played = score.won + score.drawn + score.lost
        low, high = interval(score.share, played)
        rows.append(
            TableRow(
                rank=rows[-1].rank if rows and rows[-1].score == score.share else place,
                bot=name,
                played=played,
                won=score.won,
                drawn=score.drawn,
                lost=score.lost,
                score=score.share,
                low=low,
                high=high,
                forfeits=score.forfeits,
            )
        )
    return rows


def uncontested_losses(names: Sequence[str], results: Iterable[Result]) -> dict[str, Counter[str]]:
    """Why each bot lost matches that nobody won against it: forfeits and resignations, counted by their reasons."""
    lost: dict[str, Counter[str]] = {name: Counter() for name in names}
    for result in results:
        for seat in result.seats:
            if seat.reason in FORFEITS or seat.reason == RESIGNED:
                lost[seat.bot][seat.reason] += 1
    return lost


def head_to_head(names: Sequence[str], results: Iterable[Result]) -> dict[str, dict[str, float | None]]:
    """The share of points of each bot (first key) in its matches against each other one; None where they never met."""
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

"""The table of a tournament from its results alone: points, their share with an interval, head to head."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from measuring.scores import Z95
from protocol.reasons import FORFEITS, RESIGNED, VOID
from referee.result import Result, points_of


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


class PlayedSeat(Protocol):
    """How a seat fared: of two bots the one with the lower rank was better."""

    @property
    def bot(self) -> str: ...
    @property
    def rank(self) -> int: ...
    @property
    def reason(self) -> str: ...


class PlayedMatch(Protocol):
    """What a table is made of: results are such."""

    @property
    def reason(self) -> str: ...
    @property
    def seats(self) -> Sequence[PlayedSeat]: ...


HeadToHead = dict[str, dict[str, float | None]]
"""The share of points of each bot (first key) in its matches against each other one; None where they never met."""


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


def table(names: Sequence[str], results: Iterable[PlayedMatch]) -> list[TableRow]:
    """The bots by their share of points, best first; equal shares have equal ranks. Void matches do not count."""
    score: Counter[str] = Counter()
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    for result in results:
        if result.reason == VOID:
            continue
        best = min(seat.rank for seat in result.seats)
        shared = sum(seat.rank == best for seat in result.seats) > 1
        for seat, won in zip(result.seats, points_of([seat.rank for seat in result.seats]), strict=True):
            score[seat.bot] += won  # type: ignore[assignment]  # Counter adds floats as well
            outcome = "lost" if seat.rank != best else "drawn" if shared else "won"
            counts[seat.bot].update(["played", outcome, *(["forfeits"] if seat.reason in FORFEITS else [])])
    shares = {name: score[name] / count["played"] if count["played"] else 0.0 for name, count in counts.items()}
    rows: list[TableRow] = []
    for place, (name, share) in enumerate(sorted(shares.items(), key=lambda item: -item[1]), 1):
        count = counts[name]
        low, high = interval(share, count["played"])
        rows.append(
            TableRow(
                rank=rows[-1].rank if rows and rows[-1].score == share else place,
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


def uncontested_losses(names: Sequence[str], results: Iterable[Result]) -> dict[str, Counter[str]]:
    """Why each bot lost matches that nobody won against it: forfeits and resignations, counted by their reasons."""
    lost: dict[str, Counter[str]] = {name: Counter() for name in names}
    for result in results:
        for seat in result.seats:
            if seat.reason in FORFEITS or seat.reason == RESIGNED:
                lost[seat.bot][seat.reason] += 1
    return lost


def head_to_head(names: Sequence[str], results: Iterable[PlayedMatch]) -> HeadToHead:
    """Who beat whom. Void matches do not count."""
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

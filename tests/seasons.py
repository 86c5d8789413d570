"""Results made up for the store: of any bots, ranks, pools and times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from arena.ratings import rating_system
from arena.store.finish import finish_matches
from arena.store.store import Store
from referee.result import Result, SeatResult
from stored_matches import storable

ROUND_ROBIN: dict[str, Any] = {
    "clock": "10+0.1",
    "config": {"heaps": [3, 5, 7], "misere": False, "start": "given", "take": None},
    "format": "round-robin",
    "game": "nim",
    "paired": False,
    "rounds": 1,
    "settings": {},
}
"""The stored arguments of a tournament of Nim, but for its bots."""


def result(
    match: str,
    bots: Sequence[str] = ("ann", "bob"),
    ranks: Sequence[int] = (1, 2),
    *,
    pool: str = "nim/classic",
    rated: bool = True,
    version: str = "1",
    reason: str = "win",
    reasons: Sequence[str] | None = None,
    finished: str = "2026-01-01T00:00:09.000Z",
    tournament: str | None = None,
    place: int | None = None,
) -> Result:
    return Result(
        match=match,
        game=rating_system.game_of(pool),
        config={"heaps": [3, 5, 7]},
        rated=rated,
        pool=pool if rated else None,
        seats=tuple(
            SeatResult(bot=bot, version=version, rank=rank, reason=why)
            for bot, rank, why in zip(bots, ranks, reasons or [reason] * len(bots), strict=True)
        ),
        reason=reason,
        plies=7,
        digest="ab" * 32,
        started="2026-01-01T00:00:00.000Z",
        finished=finished,
        tournament=tournament,
        place=place,
    )


def paid(match: str, bots: Sequence[str], payoffs: Sequence[float | None], *, rounds: int = 200, **more: Any) -> Result:
    """A match that paid so a round; who was paid more is first."""
    one, two = (-math.inf if payoff is None else payoff for payoff in payoffs)
    done = result(match, bots, (1 + (one < two), 1 + (two < one)), pool="dilemma/axelrod", **more)
    seats = [replace(seat, payoff=payoff, rounds=rounds) for seat, payoff in zip(done.seats, payoffs, strict=True)]
    return replace(done, seats=tuple(seats))


def finish(store: Store, *results: Result) -> None:
    """Store and rate them, one after the other, in one transaction."""
    store.write(finish_matches, [storable(done, done.match.encode()) for done in results])


def season(store: Store, count: int = 30) -> None:
    """Store and rate `season_results`."""
    finish(store, *season_results(count))


def season_results(count: int = 30) -> list[Result]:
    """A few matches of four bots with changing fortunes and versions."""
    names = ["ann", "bob", "cid", "dan"]
    results = []
    for number in range(count):
        pair = (names[number % 4], names[(number * 3 + 1) % 4])
        bots = pair if pair[0] != pair[1] else ("ann", "cid")
        ranks = ((1, 2), (2, 1), (1, 1))[number % 3]
        pool = "tictactoe/classic" if number % 3 == 2 else "nim/classic"
        results.append(result(f"m{number}", bots, ranks, pool=pool, version=str(number // 10)))
    return results

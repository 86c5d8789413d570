"""An operator's request to have a match played among the bots of a running server, and the reply that hands it over."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from arena.operator.requests import Request
from protocol.messages import Clock
from protocol.reasons import NO_SHOW
from referee.footer import Closed
from referee.record import Footer
from referee.result import Result


def no_shows(result: Result) -> dict[int, str]:
    """The seats whose bots were not there, with that in words, as the reason why they failed."""
    return {at: "it was not there" for at, seat in enumerate(result.seats) if seat.reason == NO_SHOW}


class Play(Request, frozen=True, tag="play"):
    """Have a match of a tournament played between bots in seat order, under dice that follow from `seed` (hex).

    Who does not come within `wait_s` seconds has lost it. `pool` is where its tournament rates it.
    """

    match: str
    game: str
    config: dict[str, Any]
    bots: list[str]
    seed: str
    clock: Clock
    tournament: str
    place: int
    pool: str | None = None
    wait_s: float = 60.0


class PlayReply(Struct, frozen=True, kw_only=True):
    """A match that is over: what came of it, the lines of its record from the header on, the last one."""

    result: Result
    lines: list[str]
    footer: Footer
    failures: dict[int, str] = {}

    @classmethod
    def of(cls, closed: Closed) -> PlayReply:
        """As it is sent."""
        lines = [line.decode() for line in closed.lines]
        return cls(result=closed.result, lines=lines, footer=closed.footer, failures={**closed.failures})

    def closed(self) -> Closed:
        """As it was."""
        return Closed(self.result, tuple(line.encode() for line in self.lines), self.footer, self.failures)

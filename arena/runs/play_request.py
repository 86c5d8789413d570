"""An operator's request to play a match between bots of a running server, and the reply with the match's record."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from arena.operator.requests import Request
from protocol.messages import Clock
from protocol.reasons import NO_SHOW
from referee.footer import ClosedMatch
from referee.record import Footer
from referee.result import Result


def find_no_shows(result: Result) -> dict[int, str]:
    """Return the seats whose bots did not appear for the match, each with the reason in words."""
    return {at: "it was not there" for at, seat in enumerate(result.seats) if seat.reason == NO_SHOW}


class PlayRequest(Request, frozen=True, tag="play"):
    """A request to play a match of a tournament. `bots` are in the order of their seats. `seed` is the seed of the
    dice, in hex.

    A bot that does not connect within `wait_s` seconds loses. `pool` is the pool in which the tournament rates the
    match.
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
    """The reply to a `PlayRequest`: the match's result and its record. `lines` is the record without its footer."""

    result: Result
    lines: list[str]
    footer: Footer
    failures: dict[int, str] = {}

    @classmethod
    def from_closed(cls, closed: ClosedMatch) -> PlayReply:
        lines = [line.decode() for line in closed.lines]
        return cls(result=closed.result, lines=lines, footer=closed.footer, failures={**closed.failures})

    def to_closed(self) -> ClosedMatch:
        return ClosedMatch(self.result, tuple(line.encode() for line in self.lines), self.footer, self.failures)

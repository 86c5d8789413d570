"""An operator's request to play a match between bots of a running server, and the reply with the match's record."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from arena.operator.requests import Request
from arena.ratings.tournament_pairing import Pairing
from arena.runs.plan import Plan
from protocol.messages import Clock
from referee.footer import ClosedMatch
from referee.record import Footer
from referee.result import Result


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

    @classmethod
    def from_plan(cls, plan: Plan, pairing: Pairing, wait_s: float) -> PlayRequest:
        """Return the request for a match of a plan."""
        header, seed = plan.header_of(pairing, "", lambda bot: "")
        return cls(
            match=header.match,
            game=header.game,
            config=header.config,
            bots=list(pairing.seats),
            seed=seed.hex(),
            clock=header.clock,
            tournament=plan.id,
            place=pairing.place,
            pool=header.pool,
            wait_s=wait_s,
        )


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

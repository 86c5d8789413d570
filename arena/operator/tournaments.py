"""Tournaments that a server plays among the bots that are connected to it: how they are asked for, and what is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from arena.operator.requests import Request

WAIT = 60.0
"""Seconds that a match waits for a bot, unless it is said."""
MOST_WAIT = 3600.0


class StartTournament(Request, frozen=True, tag="start_tournament"):
    """Play a tournament, or go on with the one of these arguments and this seed.

    Without a seed: with the newest of these arguments that is not finished, or a new one. `clock` is as `60+0.5`; a bot
    that is not there within `wait_s` seconds forfeits the match.
    """

    bots: list[str]
    game: str
    config: dict[str, Any] = field(default_factory=dict)
    format: str = "round-robin"
    rounds: int = 1
    paired: bool = False
    clock: str = "10+0.1"
    seed: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    wait_s: Annotated[float, Meta(ge=1, le=MOST_WAIT)] = WAIT

    def concerns(self) -> Sequence[str]:
        return [self.game, *self.bots]


class TournamentStarted(Struct, frozen=True, kw_only=True):
    """Its id, and how many of its matches were played before."""

    tournament: str
    played: int


class StopTournament(Request, frozen=True, tag="stop_tournament"):
    """Begin no match of a tournament any more; what it has played stays."""

    tournament: str

    def concerns(self) -> Sequence[str]:
        return [self.tournament]


class ListTournaments(Request, frozen=True, tag="tournaments"):
    """Ask for the tournaments that this server plays, or has stopped playing since its start for some fault."""


class TournamentStatus(Struct, frozen=True, kw_only=True):
    """A tournament and how many of its matches are played or wait for bots now. `fault`: why it does not go on."""

    tournament: str
    under_way: int
    fault: str | None = None

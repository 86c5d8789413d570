"""Requests for tournaments that a server plays among its connected bots, and their answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from arena.operator.requests import Request

DEFAULT_WAIT_S = 60.0
"""Default number of seconds that a match waits for an absent bot."""
MAX_WAIT_S = 3600.0
"""Maximum number of seconds that a match waits for an absent bot."""


class StartTournament(Request, frozen=True, tag="start_tournament"):
    """Play a tournament, or continue the tournament with these arguments and this seed.

    Without a seed, continue the newest unfinished tournament with these arguments, or start a new one. `clock` is the
    bank and the increment in seconds, like `60+0.5`. A bot that is absent for `wait_s` seconds forfeits the match.
    """

    bots: list[str]
    game: str
    config: dict[str, Any] = field(default_factory=dict)
    format: str = "round-robin"
    rounds: int = 1
    paired: bool = False
    clock: str = "10+0.1"
    seed: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    wait_s: Annotated[float, Meta(ge=1, le=MAX_WAIT_S)] = DEFAULT_WAIT_S

    def changed_names(self) -> Sequence[str]:
        return [self.game, *self.bots]


class TournamentStarted(Struct, frozen=True, kw_only=True):
    """The reply to `StartTournament`: the tournament's id, and how many of its matches were played before."""

    tournament: str
    played: int


class StopTournament(Request, frozen=True, tag="stop_tournament"):
    """Start no more matches of a tournament. Its results stay."""

    tournament: str

    def changed_names(self) -> Sequence[str]:
        return [self.tournament]


class ListTournaments(Request, frozen=True, tag="tournaments"):
    """Ask for the tournaments that this server plays, and those that a fault has stopped since the server started."""


class TournamentStatus(Struct, frozen=True, kw_only=True):
    """A tournament, and the number of its matches that run or wait for bots. `fault` says why it has stopped."""

    tournament: str
    under_way: int
    fault: str | None = None

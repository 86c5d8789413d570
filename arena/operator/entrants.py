"""The requests about the hosted bots of a tournament that is played elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, field

from arena.operator.requests import Request
from arena.store.entrants import HostedEntrant


class FindEntrants(Request, frozen=True, tag="find_entrants"):
    """Return the hosted bots that play a game, with the versions that were active at a time, by default now.

    If `bots` are named, they alone enter. With `late`, a bot that had no version then enters with its first one since.
    """

    game: str
    as_of: str | None = None
    bots: list[str] = field(default_factory=list)
    late: bool = False


class KeepEntrants(Request, frozen=True, tag="keep_entrants"):
    """Keep the versions with which hosted bots enter a tournament, so that it can be repeated."""

    tournament: Annotated[str, Meta(min_length=1, max_length=40)]
    entrants: list[HostedEntrant]

    def changed_names(self) -> Sequence[str]:
        return [self.tournament]

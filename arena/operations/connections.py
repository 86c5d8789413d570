"""Who is connected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from arena.operator.requests import Handler, Request, Tell

if TYPE_CHECKING:
    from arena.server.arena import Arena


class Who(Request, frozen=True, tag="who"):
    """Ask for the bots that are connected."""


class Connected(Struct, frozen=True, kw_only=True):
    """A bot that is connected: since when, from which address, and in how many matches it plays."""

    bot: str
    version: str
    client: str
    since: str
    address: str
    playing: int


class Connections(Struct, frozen=True, kw_only=True):
    """The bots that are connected, by name."""

    bots: list[Connected]


def operations(arena: Arena) -> Iterator[Handler]:
    """What concerns connections."""

    async def who(request: Who, tell: Tell) -> Connections:
        return Connections(
            bots=[
                Connected(
                    bot=session.bot or "",
                    version=session.version,
                    client=session.client,
                    since=session.since,
                    address=session.address,
                    playing=len(arena.host.lobby.matches_of(session.key)),
                )
                for session in sorted(arena.host.lobby.sessions(), key=lambda session: session.key)
            ]
        )

    yield Handler(Who, who)

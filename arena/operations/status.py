"""What goes on at this moment, and what of late: who is here and waits for what, matches with clocks, what failed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from arena.host.event_log import Failure
from arena.operator.requests import Handler, Request, Tell
from machine.timestamps import utc

if TYPE_CHECKING:
    from arena.host.session import Session
    from arena.server.arena import Arena
    from arena.server.seek_index import ActiveSeek

MINUTE, HOUR = 60.0, 3600.0
ALL = 1_000_000
"""More of each than there are."""


class StatusRequest(Request, frozen=True, tag="status"):
    """Ask what goes on; of bots, matches and failures `most` of each."""

    most: Annotated[int, Meta(ge=0, le=ALL)] = 20


class SeekStatus(Struct, frozen=True, kw_only=True):
    """A seek and for how many seconds it has waited. `preset` is there where its config is one."""

    game: str
    preset: str | None
    rated: bool
    open: bool
    opponents: list[str]
    seconds: float


class BotStatus(Struct, frozen=True, kw_only=True):
    """A bot that is connected: since when, in how many matches it plays, what it seeks, how long its pace holds it."""

    bot: str
    version: str
    address: str
    since: str
    playing: int
    seeks: list[SeekStatus]
    pace_s: int = 0
    client: str = ""


class MatchStatus(Struct, frozen=True, kw_only=True):
    """A match; `clock_ms` is what each seat has left, `to_move` a seat, None where nobody's clock runs."""

    match: str
    game: str
    preset: str | None
    seats: list[str]
    ply: int
    started: str
    rated: bool
    clock_ms: list[int]
    to_move: int | None


class ServerStatus(Struct, frozen=True, kw_only=True):
    """The state of an arena: bots by name, matches and failures from the newest on, and how many there are of them.

    `held` says why no match begins, if that is so, `warnings` what to look after. Matches were finished
    in the last minute and hour.
    """

    at: str
    held: str | None
    connected: int
    bots: list[BotStatus]
    under_way: int
    matches: list[MatchStatus]
    last_minute: int
    last_hour: int
    failures: list[Failure]
    warnings: list[str] = []


def operations(arena: Arena) -> Iterator[Handler]:
    """What tells the state of the arena."""

    async def status(request: StatusRequest, tell: Tell) -> ServerStatus:
        sessions = sorted(arena.host.clients.sessions.values(), key=lambda session: session.key)
        runners = arena.host.clients.runners.values()
        encryption = arena.host.listener.encryption
        ending = None if encryption is None else encryption.ending(time.time())
        return ServerStatus(
            at=utc(),
            held=arena.host.health.reason,
            connected=len(sessions),
            bots=[_here(arena, session) for session in sessions[: request.most]],
            under_way=len(runners),
            matches=[
                MatchStatus(
                    match=listed.match,
                    game=listed.game,
                    preset=listed.preset,
                    seats=listed.seats,
                    ply=listed.ply,
                    started=listed.started,
                    rated=listed.rated,
                    clock_ms=clock_ms,
                    to_move=to_move,
                )
                for runner in islice(reversed(runners), request.most)
                for listed, (clock_ms, to_move) in [(runner.listed(), runner.clocks())]
            ],
            last_minute=arena.host.events.matches_within(MINUTE),
            last_hour=arena.host.events.matches_within(HOUR),
            failures=list(islice(reversed(arena.host.events.failures), request.most)),
            warnings=[*arena.warnings.all(), *([] if ending is None else [ending])],
        )

    yield Handler(StatusRequest, status)


def _here(arena: Arena, session: Session) -> BotStatus:
    return BotStatus(
        bot=session.bot or "",
        version=session.version,
        client=session.client,
        address=session.wire.address,
        since=session.since,
        playing=len(arena.host.clients.matches_of(session.key)),
        seeks=[_waited(sought) for sought in arena.ladder.seeks.of(session.key)],
        pace_s=ceil(arena.ladder.seeks.paced(session.key)),
    )


def _waited(sought: ActiveSeek) -> SeekStatus:
    kind = sought.kind
    return SeekStatus(
        game=kind.game,
        preset=kind.preset,
        rated=kind.rated,
        open=kind.open,
        opponents=sorted(sought.opponents),
        seconds=round(asyncio.get_running_loop().time() - sought.since, 1),
    )

"""The operator request for the current state: bots and their seeks, matches with clocks, and recent failures."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING

from arena.operator.requests import Handler, Tell
from arena.operator.status import BotStatus, MatchStatus, SeekStatus, ServerStatus, StatusRequest
from machine.timestamps import utc

if TYPE_CHECKING:
    from arena.host.session import Session
    from arena.server.arena import Arena
    from arena.server.seek_index import ActiveSeek

MINUTE, HOUR = 60.0, 3600.0


def operations(arena: Arena) -> Iterator[Handler]:
    """Yield the handler for the status."""

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
            nodes=arena.nodes.all(),
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
        private=sought.private,
        opponents=sorted(sought.opponents),
        seconds=round(asyncio.get_running_loop().time() - sought.since, 1),
    )

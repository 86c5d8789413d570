"""The operator request for the current state: bots and their seeks, matches with clocks, and recent failures."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from arena.operator.requests import OperationHandler, SendEvent
from arena.operator.status import BotStatus, MatchStatus, SeekStatus, ServerStatus, StatusRequest
from machine.timestamps import utc_now
from protocol.messages import ListedMatch
from protocol.names import fold_name

if TYPE_CHECKING:
    from arena.host.session import ClientSession
    from arena.lobby.seeks import ActiveSeek
    from arena.server.arena import Arena
    from arena.server.hosting import Hosting

MINUTE_S, HOUR_S = 60.0, 3600.0
"""`MINUTE_S` and `HOUR_S` are the seconds of a minute and of an hour, for which the status counts finished matches."""


def operations(arena: Arena, hosts: Callable[[], Hosting] | None = None) -> Iterator[OperationHandler]:
    """Yield the handler of `StatusRequest`. `hosts` returns the hosting of the arena, if it hosts bots."""

    async def status(request: StatusRequest, tell: SendEvent) -> ServerStatus:
        connected = arena.host.clients.sessions
        asked = None if request.bot is None else fold_name(request.bot)
        shown = [session for session in connected.values() if asked in (None, session.key)]
        reasons = {} if asked is None else arena.lobby.explain(asked, arena.host.clients.now())
        runners = arena.host.clients.runners.values()
        encryption = arena.host.listener.encryption
        ending = None if encryption is None else encryption.expiry_warning(time.time())
        return ServerStatus(
            at=utc_now(),
            held=arena.host.health.reason,
            connected=len(connected),
            bots=[
                _bot_status(arena, session, reasons)
                for session in sorted(shown, key=lambda session: session.key)[: request.most]
            ],
            under_way=len(runners),
            matches=[
                _match_status(runner.make_listing(), *runner.get_clocks())
                for runner in islice(reversed(runners), request.most)
            ],
            last_minute=arena.host.events.count_ended_within(MINUTE_S),
            last_hour=arena.host.events.count_ended_within(HOUR_S),
            failures=list(islice(reversed(arena.host.events.failures), request.most)),
            warnings=[*arena.warnings.current(), *([] if ending is None else [ending])],
            nodes=arena.nodes.all_nodes(),
            hosting=None if hosts is None else await hosts().status(request.most),
        )

    yield OperationHandler(StatusRequest, status)


def _match_status(listed: ListedMatch, clock_ms: list[int], to_move: int | None) -> MatchStatus:
    told = {name: value for name, value in asdict(listed).items() if name in MatchStatus.__struct_fields__}
    return MatchStatus(**told, clock_ms=clock_ms, to_move=to_move)


def _bot_status(arena: Arena, session: ClientSession, reasons: Mapping[str, str]) -> BotStatus:
    return BotStatus(
        bot=session.bot or "",
        version=session.version,
        client=session.client,
        address=session.connection.address,
        since=session.connected_at,
        playing=len(arena.host.clients.matches_of(session.key)),
        seeks=[_seek_status(seek, reasons.get(seek.id)) for seek in arena.lobby.seeks_of(session.key)],
        pace_s=ceil(arena.lobby.rate_delay_s(session.key, arena.host.clients.now())),
    )


def _seek_status(seek: ActiveSeek, reason: str | None) -> SeekStatus:
    spec = seek.spec
    return SeekStatus(
        game=spec.game,
        preset=spec.preset,
        rated=spec.rated,
        open=spec.open,
        private=seek.private,
        opponents=sorted(seek.opponents),
        seconds=round(asyncio.get_running_loop().time() - seek.since, 1),
        reason=reason,
    )

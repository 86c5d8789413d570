"""Operator requests about hosted bots: those of runners, and those of owners, which the pages pass on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from arena.hosting.limits import HostingLimits
from arena.operator.entrants import FindEntrants, KeepEntrants
from arena.operator.hosted_matches import HostedMatchReport, PlayHostedMatch, ReportMatch
from arena.operator.hosting import (
    ChangeHosting,
    FindRequestedMatch,
    JoinFleet,
    LeaveFleet,
    PublishVersion,
    ReadVersion,
    ReportBotEnded,
    ReportCheck,
    ReportLoad,
    RequestedMatch,
    RequestedMatchState,
    RequestMatch,
    SubmissionPart,
    Submit,
    Submitted,
    UploadPart,
)
from arena.operator.requests import Keepalive, OperationHandler, SendEvent
from arena.server.hosting import Hosting
from arena.store.bot_versions import SingleFile, read_content, set_published
from arena.store.entrants import EntrantList, find_entrants, freeze_entrants

if TYPE_CHECKING:
    from arena.server.arena import Arena

RUNNER_KEEPALIVE = Keepalive(ping_interval_s=2.0, pong_timeout_s=4.0)
"""The keepalive of a runner's connection. A silent one is noticed within 6 s, so that most of its bots play elsewhere
within 15 s.
"""


def make_hosting(arena: Arena, limits: HostingLimits) -> Callable[[], Hosting]:
    """Return a function that returns the hosting of an arena, which is made at its first call."""
    arena.hosting = cache(lambda: Hosting(arena.store, arena.tickets, arena.host.clients, limits))
    return arena.hosting


def handlers(arena: Arena, hosts: Callable[[], Hosting]) -> Iterator[OperationHandler]:
    """Yield the handlers of requests about hosted bots. The arena is still being made when its handlers are, so they
    call `hosts` later.
    """

    async def join_fleet(request: JoinFleet, tell: SendEvent) -> None:
        await hosts().serve_runner(request.slots, request.host, tell)

    async def leave_fleet(request: LeaveFleet, tell: SendEvent) -> None:
        hosts().on_runner_leaving(request.runner)

    async def report_bot_ended(request: ReportBotEnded, tell: SendEvent) -> None:
        hosts().on_bot_ended(request)

    async def report_load(request: ReportLoad, tell: SendEvent) -> None:
        hosts().on_load(request)

    async def report_check(request: ReportCheck, tell: SendEvent) -> None:
        await hosts().on_checked(request)

    async def report_match(request: ReportMatch, tell: SendEvent) -> None:
        hosts().matches.on_report(request)

    async def play_hosted_match(request: PlayHostedMatch, tell: SendEvent) -> HostedMatchReport:
        matches = hosts().matches
        await matches.wait_for_slots(len(request.order.seats), request.wait_s)
        return HostedMatchReport(report=await matches.play(request.order))

    async def read_version(request: ReadVersion, tell: SendEvent) -> SubmissionPart:
        return SubmissionPart(
            data=await arena.store.read_slowly(read_content, request.digest, request.offset, request.max_bytes)
        )

    async def upload_part(request: UploadPart, tell: SendEvent) -> None:
        hosts().uploads.add(request.upload, request.data)

    async def submit(request: Submit, tell: SendEvent) -> Submitted:
        content = hosts().uploads.take(request.upload)
        is_file = request.file is not None and request.source_digest is not None
        file = SingleFile(name=request.file or "", digest=request.source_digest or "") if is_file else None
        version = await hosts().submit(request.bot, request.digest, content, request.manifest, file)
        return Submitted(number=version.number, state=version.state, runners=hosts().runner_count)

    async def find(request: FindEntrants, tell: SendEvent) -> EntrantList:
        return await arena.store.read(find_entrants, request.game, request.as_of, request.bots, late=request.late)

    async def keep(request: KeepEntrants, tell: SendEvent) -> None:
        await arena.store.write(freeze_entrants, request.tournament, request.entrants)

    async def change_hosting(request: ChangeHosting, tell: SendEvent) -> None:
        await hosts().change(request)

    async def publish_version(request: PublishVersion, tell: SendEvent) -> None:
        await arena.store.write(set_published, request.bot, request.number, published=request.published)

    async def request_match(request: RequestMatch, tell: SendEvent) -> RequestedMatch:
        match = arena.requested.request(request.bot, request.opponent, request.game, hosts().plays)
        return RequestedMatch(match=match)

    async def find_requested_match(request: FindRequestedMatch, tell: SendEvent) -> RequestedMatchState:
        return arena.requested.state_of(request.match)

    yield OperationHandler(FindEntrants, find)
    yield OperationHandler(KeepEntrants, keep)
    yield OperationHandler(JoinFleet, join_fleet, cancel_on_disconnect=True, keepalive=RUNNER_KEEPALIVE)
    yield OperationHandler(LeaveFleet, leave_fleet)
    yield OperationHandler(ReportBotEnded, report_bot_ended)
    yield OperationHandler(ReportCheck, report_check)
    yield OperationHandler(ReportLoad, report_load)
    yield OperationHandler(ReportMatch, report_match)
    yield OperationHandler(PlayHostedMatch, play_hosted_match, cancel_on_disconnect=True)
    yield OperationHandler(ReadVersion, read_version)
    yield OperationHandler(UploadPart, upload_part)
    yield OperationHandler(Submit, submit)
    yield OperationHandler(ChangeHosting, change_hosting)
    yield OperationHandler(PublishVersion, publish_version)
    yield OperationHandler(RequestMatch, request_match)
    yield OperationHandler(FindRequestedMatch, find_requested_match)

"""Operator requests about hosted bots: those of runners, and those of owners, which the pages pass on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from arena.operator.entrants import FindEntrants, KeepEntrants
from arena.operator.hosting import (
    ChangeHosting,
    JoinFleet,
    PublishVersion,
    ReadVersion,
    ReportBotEnded,
    ReportCheck,
    RequestedMatch,
    RequestMatch,
    SubmissionPart,
    Submit,
    Submitted,
    UploadPart,
)
from arena.operator.requests import OperationHandler, SendEvent
from arena.server.hosting import Hosting
from arena.store.bot_versions import SingleFile, read_content, set_published
from arena.store.entrants import EntrantList, find_entrants, freeze_entrants

if TYPE_CHECKING:
    from arena.server.arena import Arena


def handlers(arena: Arena) -> Iterator[OperationHandler]:
    """Yield the handlers of requests about hosted bots."""
    hosting: list[Hosting] = []

    def hosts() -> Hosting:
        if not hosting:  # the arena is still being made when its handlers are
            hosting.append(Hosting(arena.store, arena.tickets, arena.host.clients))
        return hosting[0]

    async def join_fleet(request: JoinFleet, tell: SendEvent) -> None:
        await hosts().serve_runner(request.slots, tell)

    async def report_bot_ended(request: ReportBotEnded, tell: SendEvent) -> None:
        hosts().on_bot_ended(request)

    async def report_check(request: ReportCheck, tell: SendEvent) -> None:
        await hosts().on_checked(request)

    async def read_version(request: ReadVersion, tell: SendEvent) -> SubmissionPart:
        return SubmissionPart(data=await arena.store.read_slowly(read_content, request.digest, request.offset))

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

    yield OperationHandler(FindEntrants, find)
    yield OperationHandler(KeepEntrants, keep)
    yield OperationHandler(JoinFleet, join_fleet, cancel_on_disconnect=True)
    yield OperationHandler(ReportBotEnded, report_bot_ended)
    yield OperationHandler(ReportCheck, report_check)
    yield OperationHandler(ReadVersion, read_version)
    yield OperationHandler(UploadPart, upload_part)
    yield OperationHandler(Submit, submit)
    yield OperationHandler(ChangeHosting, change_hosting)
    yield OperationHandler(PublishVersion, publish_version)
    yield OperationHandler(RequestMatch, request_match)

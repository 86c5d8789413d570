"""A runner of hosted bots that does what a test has it do, without any program."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from arena.operator.client import OperatorConnection, connect_to_folder
from arena.operator.hosting import (
    CheckVersion,
    EndBot,
    FinishMatches,
    Joined,
    JoinFleet,
    ReportBotEnded,
    ReportCheck,
    RunnerEvent,
)
from processes import RunningArena
from timeouts import WITHIN

RECORD = gzip.compress((Path(__file__).parent / "golden" / "nim-classic.jsonl").read_bytes())
"""The gzipped record of a match of Nim."""


class Runner:
    """A runner that does what a test has it do."""

    def __init__(self, connection: OperatorConnection) -> None:
        self._connection = connection
        self._events: asyncio.Queue[Any] = asyncio.Queue()
        self.number = 0

    async def next(self, kind: type[Any]) -> Any:
        async with asyncio.timeout(WITHIN):
            event = await self._events.get()
        assert isinstance(event, kind), event
        return event

    async def ask(self, request: Any, answer: type[Any] = object) -> Any:
        return await self._connection.ask(request, answer)

    async def report(
        self, check: CheckVersion, *, passed: bool, report: str, records: Mapping[str, bytes] = {}
    ) -> None:
        told = ReportCheck(runner=self.number, version=check.version, passed=passed, report=report, records=records)
        await self.ask(told)

    async def end_bot(self, bot: str) -> None:
        """The arena lets a bot finish: it has no match, and ends."""
        await self.next(FinishMatches)
        await self.ask(ReportBotEnded(runner=self.number, bot=bot, why="it has finished"))
        await self.next(EndBot)

    async def follow(self, slots: int) -> None:
        await self._connection.ask(JoinFleet(slots=slots), dict, RunnerEvent, self._events.put_nowait)  # type: ignore[arg-type]


@asynccontextmanager
async def joined(arena: RunningArena, slots: int = 4) -> AsyncIterator[Runner]:
    async with connect_to_folder(arena.data) as connection:
        runner = Runner(connection)
        following = asyncio.create_task(runner.follow(slots))
        try:
            runner.number = (await runner.next(Joined)).runner
            yield runner
        finally:
            following.cancel()

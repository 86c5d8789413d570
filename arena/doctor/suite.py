"""A bot's way through the course, case by case, in a room of its own that is cleared away in the end."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import NamedTuple

from arena.doctor.bot_under_test import BotUnderTest
from arena.doctor.cases import FAILED, Case, Finding
from arena.doctor.checkup import Checkup, Failed
from arena.doctor.tcp_proxy import TcpProxy
from arena.doctor.test_server import TestServer
from arena.doctor.websocket_proxy import WebSocketProxy
from arena.processes.process import BotCrashed


class Examined(NamedTuple):
    """A case, what came of it, and the seconds that it took."""

    case: Case
    finding: Finding
    seconds: float


async def examine(command: Sequence[str], game: str, log: Path, cases: Sequence[Case]) -> AsyncIterator[Examined]:
    """Play the cases to a bot. Raises `ArenaFault` where it can't be started or never connects, or has no room."""
    async with contextlib.AsyncExitStack() as stack:
        data = stack.enter_context(tempfile.TemporaryDirectory(prefix="arena-doctor-"))
        premises = TestServer(Path(data))
        stack.push_async_callback(premises.stop)
        await premises.start()
        relay = WebSocketProxy(premises.port)
        stack.push_async_callback(relay.close)
        cable = TcpProxy(await relay.open())
        stack.push_async_callback(cable.close)
        patient = BotUnderTest(command, await cable.open(), game, log, relay.wake)
        exam = Checkup(game, premises, relay, cable, patient)
        stack.push_async_callback(exam.close)
        await exam.renew()
        for case in cases:
            begun = time.monotonic()
            finding = await _examine(exam, case)
            if patient.ended is not None and not exam.was_welcomed:
                raise BotCrashed(f"the bot {patient.ended} before it was welcomed; {patient.last_words}")
            yield Examined(case, finding, time.monotonic() - begun)


async def _examine(exam: Checkup, case: Case) -> Finding:
    try:
        finding = await case.examine(exam)
        await exam.settle()
    except Failed as fault:
        finding = Finding(FAILED, str(fault))
        with contextlib.suppress(Failed):
            await exam.settle()
    if finding.verdict == FAILED and exam.patient.ended is None:
        await exam.renew()
    return finding

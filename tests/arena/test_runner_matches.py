"""What a runner does with the matches of tournaments that it is told to play."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
from msgspec.structs import replace

from arena.operator.hosted_matches import MAX_REPORT_BYTES, HostedSeat, MatchOrder, PlayMatch, ReportMatch, StopPlaying
from arena.operator.hosting import Joined
from arena.processes.launch_spec import allowed_environment
from arena.ratings.tournament_pairing import Pairing
from arena.runner import hosted_bot, runner, tournament_match
from arena.runner.box import Boxes
from arena.runner.runner import RunnerSession
from arena.runner.version_cache import DiskFull, VersionCache
from arena.runs.contestants import Contestant
from arena.runs.hosted_players import unpack_report
from arena.runs.job import MatchJob, MatchReport
from arena.runs.match_host import TournamentHost
from arena.runs.sandbox import BotEnvironment
from hosted_orders import ORDER, played_at_once
from machine.subprocesses import limit_niceness
from plans import plan
from protocol.bot_launch import BotSpec
from protocol.errors import ArenaFault, UsageFault
from timeouts import WITHIN


class Playing:
    """The matches that are played, in place of `play_order`: each ends as the test says."""

    def __init__(self) -> None:
        self.began = asyncio.Queue[Sequence[int]]()
        self.outcome = asyncio.get_running_loop().create_future()

    async def __call__(self, order: MatchOrder, *given: Any) -> bytes:
        self.began.put_nowait(given[-2])
        return await self.outcome  # type: ignore[no-any-return]


class Arena:
    """The arena at the other end of a runner's connection, which keeps what it was told."""

    def __init__(self) -> None:
        self.told = asyncio.Queue[Any]()

    async def ask(self, request: Any, *kinds: object) -> None:
        self.told.put_nowait(request)


@asynccontextmanager
async def joined(folder: Path) -> AsyncIterator[tuple[Arena, RunnerSession]]:
    arena = Arena()
    session = RunnerSession(arena, 2, Boxes(memory_mib=64), folder, "ws://127.0.0.1:9")  # type: ignore[arg-type]
    session.receive(Joined(runner=3))
    try:
        yield arena, session
    finally:
        await session.close()


@pytest.fixture
async def playing(monkeypatch: pytest.MonkeyPatch) -> Playing:
    playing = Playing()
    monkeypatch.setattr(runner, "play_order", playing)
    return playing


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (b"report", {"report": b"report"}),
        (ArenaFault("no such bot"), {"fault": "no such bot"}),
        (DiskFull("full"), {"fault": "full", "runner_failed": True}),
        (ValueError("odd"), {"fault": "t1-00000 can't be played: ValueError('odd')"}),
        (bytes(MAX_REPORT_BYTES + 1), {"fault": f"the record of t1-00000 is too large: {MAX_REPORT_BYTES + 1} bytes"}),
    ],
    ids=["played", "fault", "disk", "error", "large"],
)
async def test_a_match_is_reported_however_it_ends_and_its_users_are_free_again(
    tmp_path: Path, playing: Playing, outcome: bytes | Exception, told: dict[str, Any]
) -> None:
    async with joined(tmp_path) as (arena, session):
        session.receive(PlayMatch(order=ORDER))
        places = await asyncio.wait_for(playing.began.get(), WITHIN)
        assert len(set(places)) == 2, "each seat has a user of its own"
        assert session._free_places.qsize() == 1
        if isinstance(outcome, bytes):
            playing.outcome.set_result(outcome)
        else:
            playing.outcome.set_exception(outcome)
        report = await asyncio.wait_for(arena.told.get(), WITHIN)
        assert isinstance(report, ReportMatch)
        assert report.fault.startswith(told.pop("fault", ""))
        assert report == ReportMatch(runner=3, match="t1-00000", fault=report.fault, **told)
        assert session._free_places.qsize() == 3


class Host:
    """A host of which the first bot fails, in place of `TournamentHost`."""

    def __init__(self, job: MatchJob, folder: Path) -> None:
        self.job = job
        (folder / "ann.log").write_text("KeyError: 3\n")

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def play(self, pairing: Pairing) -> MatchReport:
        commands = [contestant.command for contestant in self.job.plan.contestants]
        assert [command[-1] for command in commands] == ["echo", "random"]
        assert self.job.environment.niceness == limit_niceness(hosted_bot.CLIENT_NICENESS)
        closed = replace(unpack_report(played_at_once(ORDER), ORDER.match).closed, failures={})
        return MatchReport(closed, failures={0: "it crashed"})


async def test_the_report_of_a_match_has_what_a_program_wrote_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tournament_match, "TournamentHost", Host)
    monkeypatch.setattr(
        tournament_match, "build_contestant", AsyncMock(return_value=Contestant("ann", ("echo",), reference=True))
    )
    versions, boxes = VersionCache(tmp_path, Boxes(memory_mib=64), AsyncMock()), Boxes(memory_mib=64)
    random = HostedSeat(bot="random", specified=BotSpec(name="random", bot="random", seed=""))
    order = replace(ORDER, seats=[ORDER.seats[0], random])
    report = unpack_report(await tournament_match.play_order(order, versions, boxes, [0, 1], tmp_path), order.match)
    assert (report.failures, report.output) == ({0: "it crashed"}, (("ann", b"KeyError: 3\n"),))
    unknown = replace(random, specified=BotSpec(name="random", bot="/bin/sh", seed=""))
    with pytest.raises(UsageFault, match="the runner has no bot 'random'"):
        await tournament_match.play_order(
            replace(order, seats=[ORDER.seats[0], unknown]), versions, boxes, [0, 1], tmp_path
        )


async def test_a_match_that_is_stopped_is_not_reported(tmp_path: Path, playing: Playing) -> None:
    async with joined(tmp_path) as (arena, session):
        session.receive(StopPlaying(match="another"))
        session.receive(PlayMatch(order=ORDER))
        await asyncio.wait_for(playing.began.get(), WITHIN)
        (task,) = session._tasks
        session.receive(StopPlaying(match="t1-00000"))
        await asyncio.wait((task,))
        assert task.cancelled()
        assert (arena.told.empty(), session._free_places.qsize(), session._matches) == (True, 3, {})


async def test_bots_have_the_priority_that_the_job_of_their_match_says(tmp_path: Path) -> None:
    report_priority = (sys.executable, "-c", "import os; print(os.nice(0))")
    contestants = (Contestant("mine", report_priority), Contestant("yours", report_priority, reference=True))
    job = MatchJob(
        key="k",
        plan=replace(plan(rounds=1), contestants=contestants),
        environment=BotEnvironment(variables=allowed_environment(os.environ), niceness=3),
        logs=tmp_path,
        strict=False,
    )
    host = TournamentHost(job, tmp_path)
    try:
        await host.open()
        await host.play(job.plan.schedule([])[0])
    finally:
        await host.close()
    written = await asyncio.to_thread(lambda: [(tmp_path / f"{name}.log").read_text() for name in ("mine", "yours")])
    assert written == [f"{os.nice(0) + 3}\n"] * 2

"""A program that was handed in is checked and run, by a runner of the test, and moves to another one."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from unittest.mock import Mock

import pytest
from websockets.exceptions import ConnectionClosedError

from arena.commands.serve import host_timeouts
from arena.commands.settings import ServerSettings
from arena.hosting import fleet
from arena.operator.hosting import (
    CheckVersion,
    EndBot,
    FinishMatches,
    LeaveFleet,
    ReadVersion,
    ReportBotEnded,
    ReportCheck,
    RunBot,
    SubmissionPart,
)
from arena.server.hosting import Hosting
from bots.submission import NO_RUNNER_MESSAGE
from hosted_runner import joined
from hosting_arena import MINE, hosted, hosting_arena, submit
from players import meet, player
from web_client import answer


async def test_a_program_is_checked_then_run_by_a_ticket_and_replaced_by_the_next_that_passes(
    tmp_path: Path, program: Path
) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        done = await submit(arena, str(program), "--game", "nim")
        assert (done.code, done.err) == (0, "")
        assert done.out == f"mine: version 1 was handed in; it is waiting; {NO_RUNNER_MESSAGE}\n"
        waiting = await submit(arena, "--name", "mine", "--status")
        assert waiting.out.splitlines()[-1] == f"mine: version 1 waits for its check; {NO_RUNNER_MESSAGE}"
        async with joined(arena) as runner:
            check = await runner.next(CheckVersion)
            assert (check.bot, check.number) == ("mine", 1)
            part = await runner.ask(ReadVersion(digest=check.digest), SubmissionPart)
            assert MINE.encode()[:20] not in part.data, "it is packed"
            assert not (await runner.ask(ReadVersion(digest=check.digest, offset=len(part.data)), SubmissionPart)).data
            following = asyncio.create_task(submit(arena, str(program), "--game", "nim", "--wait"))
            await runner.report(check, passed=True, report="nim: ok")
            run = await runner.next(RunBot)
            assert (run.bot, run.number, run.digest) == ("mine", 1, check.digest)
            assert (await following).out.splitlines()[1:] == ["mine: version 1 passed its check", "nim: ok"]

            async with player(arena.url, "mine", token=run.ticket) as mine:
                await submit(arena, str(program), "--game", "nim", "--game", "tictactoe")
                second = await runner.next(CheckVersion)
                await runner.report(second, passed=False, report="nim: failed\nat ply 3")
                failed = await submit(arena, "--name", "mine", "--status")
                assert re.sub(r"  20\S+", "", failed.out).splitlines() == [
                    "version 1  passed, plays now  nim",
                    "version 2  failed  nim, tictactoe",
                    "mine: version 2 failed its check",
                    "nim: failed",
                    "at ply 3",
                ]
                first = await submit(arena, "--name", "mine", "--status", "--version", "1")
                assert first.out.splitlines()[2:] == ["mine: version 1 passed its check", "nim: ok"]
                again = await submit(arena, str(program), "--game", "nim", "--game", "tictactoe")
                assert "version 2 was handed in; it is waiting" in again.out
                async with player(arena.url, "other") as other:
                    await meet(mine, other)
                    await runner.report(await runner.next(CheckVersion), passed=True, report="nim: ok")
                    assert (await runner.next(FinishMatches)).bot == "mine"
                    await asyncio.gather(mine.play(), other.play())
            await runner.ask(ReportBotEnded(runner=runner.number, bot="mine", why="it has finished"))
            assert (await runner.next(EndBot)).bot == "mine"
            replaced = await runner.next(RunBot)
            assert replaced.number == 2
            assert replaced.ticket != run.ticket
            page = await asyncio.to_thread(answer, f"{await arena.page()}/bots/mine")
            assert "Hosted by the arena, version 2" in page.text


async def test_a_bot_moves_to_another_runner_with_a_new_ticket_and_the_old_one_opens_nothing(
    tmp_path: Path, program: Path
) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        await submit(arena, str(program), "--game", "nim")
        async with joined(arena, slots=1) as first:
            await first.report(await first.next(CheckVersion), passed=True, report="")
            old = await first.next(RunBot)
            async with joined(arena, slots=1) as second:
                async with player(arena.url, "mine", token=old.ticket) as mine:
                    await first._connection.aclose()
                    with pytest.raises(ConnectionClosedError, match="the runner of the bot was lost"):
                        await mine.expect("start")
                    new = await second.next(RunBot)
                for _ in range(9):  # more often than wrong tokens may come
                    with pytest.raises(ConnectionClosedError, match="auth_failed"):
                        async with player(arena.url, "mine", token=old.ticket):
                            pass
                async with player(arena.url, "mine", token=new.ticket):
                    pass
                await second.ask(ReportBotEnded(runner=second.number, bot="mine", why="it crashed"))
                assert (await second.next(EndBot)).bot == "mine"
                assert (await second.next(RunBot)).number == 1, "after a while"
        assert await arena.says("the hosted bot mine ended on runner 2: it crashed")


async def test_a_match_goes_on_with_the_version_that_began_it_when_its_runner_is_lost_after_the_next_has_passed(
    tmp_path: Path, program: Path
) -> None:
    async with hosting_arena(tmp_path / "data") as arena, player(arena.url, "other") as other:
        await submit(arena, str(program), "--game", "nim")
        async with joined(arena, slots=1) as first:
            await first.report(await first.next(CheckVersion), passed=True, report="")
            run = await first.next(RunBot)
            async with player(arena.url, "mine", token=run.ticket, version="v1") as mine:
                await meet(mine, other)
                await submit(arena, str(program), "--game", "nim", "--game", "tictactoe")
                await first.report(await first.next(CheckVersion), passed=True, report="")
                await first.next(FinishMatches)
            await first.ask(LeaveFleet(runner=first.number))
        async with joined(arena, slots=1) as second:
            again = await second.next(RunBot)
            assert (again.number, again.digest) == (1, run.digest)
            await second.next(FinishMatches)
            async with player(arena.url, "mine", token=again.ticket, version="v1") as mine:
                await mine.expect("start")
                await asyncio.gather(mine.play(), other.play())
            await second.ask(ReportBotEnded(runner=second.number, bot="mine", why="it has finished"))
            await second.next(EndBot)
            assert (await second.next(RunBot)).number == 2


async def test_a_paused_bot_finishes_its_match_on_another_runner_and_then_runs_no_longer(
    tmp_path: Path, program: Path
) -> None:
    async with hosting_arena(tmp_path / "data") as arena, player(arena.url, "other") as other:
        await submit(arena, str(program), "--game", "nim")
        async with joined(arena, slots=1) as first:
            await first.report(await first.next(CheckVersion), passed=True, report="")
            run = await first.next(RunBot)
            async with player(arena.url, "mine", token=run.ticket, version="v1") as mine:
                await meet(mine, other)
                await hosted(arena, "--pause")
                await first.next(FinishMatches)
        async with joined(arena, slots=1) as second:
            again = await second.next(RunBot)
            await second.next(FinishMatches)
            async with player(arena.url, "mine", token=again.ticket, version="v1") as mine:
                await mine.expect("start")
                await asyncio.gather(mine.play(), other.play())
            await second.ask(ReportBotEnded(runner=second.number, bot="mine", why="it has finished"))
            await second.next(EndBot)
            await submit(arena, str(program), "--game", "nim", "--game", "tictactoe")
            await second.next(CheckVersion)


async def test_a_version_whose_check_cost_the_only_runner_twice_is_not_checked_again(
    tmp_path: Path, program: Path
) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        await submit(arena, str(program), "--game", "nim")
        for _ in range(2):
            async with joined(arena) as runner:
                await runner.next(CheckVersion)
        async with joined(arena) as runner:
            await submit(arena, str(program), "--game", "tictactoe")
            assert (await runner.next(CheckVersion)).number == 2
            assert "the runners that checked this version were lost" in (await hosted(arena, "--report", "1")).out


async def test_a_runner_that_could_not_make_a_check_does_not_fail_the_version(tmp_path: Path, program: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        await submit(arena, str(program), "--game", "nim")
        async with joined(arena) as first, joined(arena) as second:
            check = await first.next(CheckVersion)
            told = {"version": check.version, "passed": False, "report": "the disk is full", "runner_failed": True}
            await first.ask(ReportCheck(runner=first.number, **told))
            assert await second.next(CheckVersion) == check
        assert await arena.says("runner 1 can't check version 1: the disk is full")


async def test_the_matches_of_a_bot_whose_runner_is_lost_wait_for_it() -> None:
    clients, tickets = Mock(), Mock()
    tickets.issue.return_value = "ticket"
    hosting = Hosting(Mock(), tickets, clients)
    version = Mock(digest="d", number=1, games=())
    version.name = "mine"
    hosting._hosted[1] = version
    for event in (fleet.RunnerJoined(1, 1), fleet.Snapshot((fleet.HostedBot("mine", 1),))):
        hosting._feed(event)
    clients.on_runner_lost.assert_not_called()
    hosting._feed(fleet.RunnerLeft(1))
    clients.on_runner_lost.assert_called_once_with("mine")


def test_matches_wait_longer_after_a_restart_where_runners_must_start_bots_again() -> None:
    waits = [host_timeouts(ServerSettings(hosting=hosting)).match.return_timeout_s for hosting in (False, True)]
    assert waits == [30.0, 60.0]
    limits = host_timeouts(ServerSettings(runners=1)).match
    assert (limits.ready_timeout_s, limits.return_timeout_s) == (20.0, 60.0)

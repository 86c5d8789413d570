"""A program is handed in, checked and run: by the arena, its page, `arena-bot submit` and a runner of the test."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import sys
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from random import Random
from unittest.mock import Mock

import msgspec
import pytest
from websockets.exceptions import ConnectionClosedError

from admin_client import AdminClient
from arena.commands.hosted_entrants import HostedOptions, HostedSource
from arena.commands.serve import host_timeouts
from arena.commands.settings import ServerSettings
from arena.hosting.kept_files import pack_kept_files
from arena.hosting.limits import SubmissionLimits
from arena.hosting.submission import read_submission
from arena.operator.bot_files import ReadState, StatePart, StoreMatchLog, StoreState
from arena.operator.client import connect_to_folder
from arena.operator.hosting import (
    CheckVersion,
    EndBot,
    FinishMatches,
    JoinFleet,
    LeaveFleet,
    ReadVersion,
    ReportBotEnded,
    ReportCheck,
    ReportLoad,
    RunBot,
    SubmissionPart,
)
from arena.runner.hand_in import upload_file
from arena.runs.remote import LocalServer
from arena.server.hosting import Hosting
from arena.store.entrants import tournaments_of_bot
from arena.store.store import Reader, Store
from bots.client.tokens import default_path, find_or_make_token, find_token
from bots.submission import NO_RUNNER_MESSAGE
from commands import Done
from hosted_runner import RECORD, joined
from in_process import call_beside, hosting
from players import meet, player
from processes import RunningArena, run_command
from protocol.match_logs import MatchLog, ProgramFault
from web_client import Answer, answer

MINE = """from bots import Bot, run


class Mine(Bot):
    def choose(self, turn):
        return turn.legal[0]


run(Mine("mine"))
"""


LARGE = b"#" + Random(1).randbytes(2_000_000)
"""Two megabytes that can't be packed any tighter."""
PART = SubmissionPart
"""The type of the answer to `ReadVersion`."""


@pytest.fixture(autouse=True)
def saved_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Save tokens for this test alone: an arena of another one may have had the same port."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return file


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A program that consists of `LARGE`."""
    file = tmp_path / "large.sh"
    file.write_bytes(LARGE)
    return file


@asynccontextmanager
async def hosting_arena(data: Path, *options: str) -> AsyncIterator[RunningArena]:
    async with hosting(data, "--hosting", "--web-port", "0", *options) as arena:
        await arena.page()
        yield arena


async def submit(arena: RunningArena, *words: str) -> Done:
    return await call_beside("arena-bot", "submit", "--server", arena.url, *words)


async def hosted(arena: RunningArena, *words: str, name: str = "mine") -> Done:
    return await call_beside("arena-bot", "hosted", name, "--server", arena.url, *words)


async def get(url: str, token: str | None, method: str = "GET") -> Answer:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return await asyncio.to_thread(answer, url, method, **headers)


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


async def test_a_large_program_is_handed_over_in_parts(tmp_path: Path, large: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        done = await submit(arena, str(large), "--game", "nim")
        assert (done.code, done.err) == (0, "")
        async with joined(arena) as runner:
            check = await runner.next(CheckVersion)
            parts = [b""]
            while part := (await runner.ask(ReadVersion(digest=check.digest, offset=sum(map(len, parts))), PART)).data:
                parts.append(part)
        assert (await hosted(arena, "--source", "1", "--to", str(tmp_path / "copy"), name="large")).code == 0
    found = read_submission(b"".join(parts), ["nim"], SubmissionLimits())
    assert (tmp_path / "copy").read_bytes() == LARGE
    assert len(parts) > 3
    assert found.files[large.name] == LARGE
    assert found.digest == check.digest


async def test_a_bot_moves_to_another_runner_with_a_new_ticket_and_the_old_one_opens_nothing(
    tmp_path: Path, program: Path
) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        await submit(arena, str(program), "--game", "nim")
        async with joined(arena, slots=1) as first:
            await first.report(await first.next(CheckVersion), passed=True, report="")
            old = await first.next(RunBot)
            async with joined(arena, slots=1) as second:
                async with player(arena.url, "mine", token=old.ticket):
                    await first._connection.aclose()
                    new = await second.next(RunBot)
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


def test_a_bot_whose_runner_was_lost_is_its_authors_once_it_was_offline_in_between() -> None:
    bot = Mock(key="mine")
    clients = Mock()
    hosting = Hosting(Mock(), Mock(), clients)
    hosting._orphans.add("mine")
    found = []
    for clients.is_online.return_value in (True, False, True):
        found.append(hosting._is_elsewhere(bot))
    assert found == [False, False, True]


def test_matches_wait_longer_after_a_restart_where_runners_must_start_bots_again() -> None:
    waits = [host_timeouts(ServerSettings(hosting=hosting)).match.return_timeout_s for hosting in (False, True)]
    assert waits == [30.0, 60.0]
    assert host_timeouts(ServerSettings(runners=1)).match.return_timeout_s == 60.0


async def test_only_the_owner_and_the_operator_read_reports_and_hand_programs_in(tmp_path: Path, program: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        await submit(arena, str(program), "--game", "nim")
        url = f"{await arena.page()}/api/v1/bots/mine/submissions"
        own = find_or_make_token(arena.url, "mine", default_path())
        operator = operator_token(arena)
        for token in (own, operator):
            (version,) = json.loads((await get(url, token)).body)["versions"]
            assert (version["number"], version["state"], version["games"]) == (1, "waiting", ["nim"])
            assert (await get(f"{url}/1", token)).status == 200
        assert (await get(f"{url}/2", own)).status == 404
        assert (await get(url, None)).status == 401
        refused = await get(url, "x" * 40)
        assert refused.status == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert "that is not the token of mine" in refused.text
        assert (await get(url, "x" * 40, "POST")).status == 401
        tries = 0
        while (
            await get(url, "x" * 40)
        ).status != 429:  # on a slow machine, the first waits are over before the next try
            tries += 1
            assert tries < 30
        assert (await get(url, own)).status == 200, "the right one always works"


FAULT = ProgramFault(ply=3, what="ended with exit code 1; it is restarted", last_lines="KeyError: 3")


async def test_the_owner_and_the_operator_read_and_search_the_logs_of_matches(tmp_path: Path, program: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        await submit(arena, str(program), "--game", "nim")

        async def logs(*words: str) -> Done:
            return await call_beside("arena-bot", "logs", "mine", "--server", arena.url, *words)

        assert "mine: its program has written nothing" in (await logs()).err
        stranger = await call_beside("arena-bot", "logs", "stranger", "--server", arena.url)
        assert stranger.err == f"arena-bot: no token of stranger at {arena.url} is saved here: give it with --token\n"
        async with connect_to_folder(arena.data) as runner:
            for log in (
                MatchLog(match="m-1", text="opening\nKeyError: 3\x1b[2J\n[note]\n", faults=(FAULT,)),
                MatchLog(match="m-2", text="Opening 2"),
                MatchLog(match="m-3", text="endgame"),
            ):
                upload = await upload_file(runner.ask, zlib.compress(msgspec.json.encode(log)))
                await runner.ask(StoreMatchLog(bot="mine", number=1, upload=upload), object)
        listed = (await logs()).out
        assert re.sub(r"  20\S+", "", listed).splitlines() == [
            "m-3  version 1",
            "m-2  version 1",
            "m-1  version 1",
            f"  at ply 3 its program ended with exit code 1; it is restarted: {await arena.page()}/matches/m-1#ply=3",
        ]
        assert [line for line in (await logs("--search", "opening")).out.splitlines() if "|" in line] == [
            "  | Opening 2",
            "  | opening",
        ]
        assert "no log contains 'nothing'" in (await logs("--search", "nothing")).err
        assert (await logs("--match", "m-1")).out.splitlines() == [
            f"mine: match m-1, version 1: {await arena.page()}/matches/m-1",
            f"  at ply 3 its program ended with exit code 1; it is restarted: {await arena.page()}/matches/m-1#ply=3",
            "opening",
            "KeyError: 3\\x1b[2J",
            "[note]",
        ]
        assert (await submit(arena, "--name", "mine", "--status")).out.splitlines()[-1] == (
            f"its program failed in match m-1: {FAULT}"
        )
        assert "there is no log of mine in match 'm-9'" in (await logs("--match", "m-9")).err
        url = f"{await arena.page()}/api/v1/bots/mine/logs"
        operator = json.loads((arena.data / "operator.json").read_text())["token"]
        assert json.loads((await get(f"{url}/m-1", operator)).body)["faults"][0]["ply"] == 3
        for path in (url, f"{url}/m-1"):
            assert (await get(path, None)).status == 401
            assert (await get(path, "x" * 40)).status == 401


async def test_the_owner_fetches_the_files_that_a_version_keeps(tmp_path: Path) -> None:
    folder, out = tmp_path / "keeping", tmp_path / "out"
    folder.mkdir()
    (folder / "bot.toml").write_text('games = ["nim"]\nlanguage = "python"\nkeep = ["opinions.json"]\n')
    (folder / "mine.py").write_text(MINE)
    large = b"{}" * 300_000
    async with hosting_arena(tmp_path / "data") as arena:
        await submit(arena, str(folder), "--name", "mine")

        async def kept(*words: str) -> Done:
            return await call_beside("arena-bot", "kept", "mine", "--server", arena.url, *words)

        assert "no version of mine has passed" in (await kept()).err
        assert "mine: version 1 keeps no files" in (await kept("--version", "1")).err
        async with joined(arena) as runner:
            await runner.report(await runner.next(CheckVersion), passed=True, report="")
            state = pack_kept_files({"opinions.json": large, "secret": b""})
            await runner.ask(StoreState(bot="mine", number=1, upload=await upload_file(runner.ask, state)))
            read = await runner.ask(ReadState(bot="mine", number=1, offset=500), StatePart)
            assert read.data == state[500 : 500 + 32 * 1024]
        done = await kept("--to", str(out))
        assert done.out == "opinions.json  600000 bytes\n", done.err
        assert (out / "opinions.json").read_bytes() == large
        url = f"{await arena.page()}/api/v1/bots/mine/kept"
        assert (await get(url, None)).status == 401
        own = find_or_make_token(arena.url, "mine", default_path())
        assert (await get(f"{url}?version=7", own)).status == 404
        assert (await get(f"{url}?version=x", own)).status == 400


REFUSALS = (
    (["mine.py"], "which game does it play? Name it with --game"),
    (["mine.py", "--game", "chess"], "bot.toml: games has 'chess': one of"),
    (["no.py", "--game", "nim"], "no.py can't be read"),
    (["empty.py", "--game", "nim"], "empty.py is empty: hand in a program"),
    (["mine.pl", "--game", "nim"], "'mine.pl' ends in '.pl'"),
    (["large.py", "--game", "nim"], "large.py has 13000000 bytes to hand in: 12582912 at most"),
    ([".", "--name", "mine", "--game", "nim"], "--game is for a single file"),
    ([".", "--name", "mine"], "there is no bot.toml"),
    ([], "name the file or the folder of the program"),
    (["mine.py", "--game", "nim", "--version", "1"], "add --status"),
)
"""Command lines of `arena-bot submit`, and why each is refused."""


@pytest.fixture
def programs() -> None:
    """Programs in the current folder, most of which can't be handed in."""
    Path("mine.py").write_text(MINE)
    Path("mine.pl").write_text("print")
    Path("empty.py").touch()
    Path("large.py").write_bytes(b"#" * 13_000_000)


@pytest.mark.usefixtures("programs")
async def test_what_can_not_be_handed_in_is_refused_in_one_line(tmp_path: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        for words, why in REFUSALS:
            done = await submit(arena, *words)
            assert done.code != 0, words
            assert why in done.err
            assert done.err.count("\n") == 1


async def test_an_owner_pauses_a_bot_goes_back_to_a_version_and_chooses_its_games(
    tmp_path: Path, program: Path
) -> None:
    async with hosting_arena(tmp_path / "data") as arena, joined(arena) as runner:
        await submit(arena, str(program), "--game", "nim", "--game", "tictactoe")
        await runner.report(await runner.next(CheckVersion), passed=True, report="")
        assert (await runner.next(RunBot)).games == ("nim", "tictactoe")
        assert "version 1  passed, paused" in (await hosted(arena, "--pause")).out
        await runner.end_bot("mine")
        page = f"{await arena.page()}/bots/mine"
        assert "Hosted by the arena, version 1, paused by its owner" in (await get(page, None)).text
        await hosted(arena, "--resume")
        assert (await runner.next(RunBot)).number == 1

        await submit(arena, str(program), "--game", "nim")
        await runner.report(await runner.next(CheckVersion), passed=True, report="")
        await runner.end_bot("mine")
        assert (await runner.next(RunBot)).number == 2
        told = await hosted(arena, "--use", "1", "--games", "tictactoe")
        assert re.sub(r"  20\S+", "", told.out).splitlines() == [
            "version 1  passed, plays now  tictactoe",
            "version 2  passed  nim",
        ]
        await runner.end_bot("mine")
        run = await runner.next(RunBot)
        assert (run.number, run.games) == (1, ("tictactoe",))
        same = await submit(arena, str(program), "--game", "nim")
        assert same.out == "mine: version 2 was handed in; it has passed its check already\n"
        await runner.end_bot("mine")
        assert (await runner.next(RunBot)).number == 2
        await hosted(arena, "--use", "1")
        await runner.end_bot("mine")
        assert (await runner.next(RunBot)).games == ("tictactoe",), "the choice is the version's"
        await hosted(arena, "--games", "all")
        await runner.end_bot("mine")
        assert (await runner.next(RunBot)).games == ("nim", "tictactoe")
        for words, why in (
            (["--use", "3", "--pause"], "version 3 of mine does not exist: one of 2, 1"),
            (["--games", "nim,go"], "version 1 of mine was not checked for 'go': one of nim, tictactoe"),
            (["--pause", "--resume"], "--pause and --resume exclude each other"),
            (["--play", "random"], "game is '': one of nim, tictactoe"),
            (["--play", "random", "--game", "nim"], "mine does not run now"),
            (["--game", "nim"], "name the opponent with --play"),
            (["--report", "3"], "mine has no version 3: its versions are 2, 1"),
            (["--publish", "3"], "mine has no version 3"),
            (["--to", "x.py"], "give --source or --replay"),
            (["--wait"], "--wait follows a match"),
            (["--replay", "1"], "version 1 has a match of each game"),
        ):
            done = await hosted(arena, *words)
            assert done.code != 0, words
            assert why in done.err
            assert done.err.count("\n") == 1
        assert "paused" not in (await hosted(arena)).out, "what fails changes nothing"
        assert "no token of ben at" in (await hosted(arena, name="ben")).err


async def test_an_owner_has_the_bot_play_an_open_opponent_now(tmp_path: Path, program: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena, joined(arena) as runner:
        await submit(arena, str(program), "--game", "nim")
        await runner.report(await runner.next(CheckVersion), passed=True, report="")
        run = await runner.next(RunBot)
        async with player(arena.url, "mine", token=run.ticket) as mine, player(arena.url, "ben") as ben:
            nobody = "no other bot takes a match of nim now"
            assert f"cleo is not online: {nobody}" in (await hosted(arena, "--play", "cleo")).err
            assert f"ben takes no match of nim now: {nobody}" in (await hosted(arena, "--play", "ben")).err
            await mine.seek(config={"preset": "classic"})
            await ben.seek(open=True)
            unnamed = "name an opponent: these take a match of nim now: ben"
            assert unnamed in (await hosted(arena, "--play", "")).err
            played = asyncio.create_task(hosted(arena, "--play", "Ben", "--wait"))
            start = await ben.begin()
            assert sorted(seat["bot"] for seat in start["seats"]) == ["ben", "mine"]
            assert not start["rated"]
            matches = f"{await arena.page()}/api/v1/bots/mine/matches?opponent=ben"
            again = await get(matches, find_or_make_token(arena.url, "mine", default_path()), "POST")
            assert "mine has a match that was asked for already" in again.text
            await asyncio.gather(mine.play_through(), ben.play())
            done = await played
            assert (done.code, done.err) == (0, "")
            assert f"/matches/{start['match']}" in done.out
            assert re.search(r"mine (won|lost) after \d+ plies", done.out)


async def test_a_hosted_opponent_is_played_at_once_and_by_one_owner_at_a_time(tmp_path: Path, program: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena, joined(arena) as runner:
        tickets = {}
        for name in ("mine", "ben", "cleo"):
            await submit(arena, str(program), "--name", name, "--game", "nim")
            await runner.report(await runner.next(CheckVersion), passed=True, report="")
            run = await runner.next(RunBot)
            tickets[run.bot] = run.ticket
        async with (
            player(arena.url, "mine", token=tickets["mine"]) as mine,
            player(arena.url, "ben", token=tickets["ben"]) as ben,
            player(arena.url, "cleo", token=tickets["cleo"]),
        ):
            assert (await hosted(arena, "--play", "ben")).code == 0
            starts = [await one.begin() for one in (mine, ben)]
            assert [start["rated"] for start in starts] == [False, False]
            assert "ben has a match that was asked for" in (await hosted(arena, "--play", "ben", name="cleo")).err
            await asyncio.gather(mine.play(), ben.play())
            assert (await hosted(arena, "--play", "ben", name="cleo")).code == 0


async def test_a_source_is_its_owners_until_it_is_published(tmp_path: Path, program: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        await submit(arena, str(program), "--game", "nim")
        url = f"{await arena.page()}/api/v1/bots/mine/submissions/1/source"
        assert (await get(url, None)).status == 401
        copy = tmp_path / "copy.py"
        assert (await hosted(arena, "--source", "1", "--to", str(copy))).code == 0
        assert copy.read_text() == MINE
        assert (
            "copy.py can't be made, name another file with --to: File exists"
            in (await hosted(arena, "--source", "1", "--to", str(copy))).err
        )
        page = f"{await arena.page()}/bots/mine"
        hidden = (await get(page, None)).text
        assert "no version has passed its check yet" in hidden
        assert "class Mine" not in hidden
        assert (await hosted(arena, "--publish", "1")).out == "mine: the source of version 1 is public\n"
        public = await get(url, None)
        assert (public.status, public.body.decode()) == (200, MINE)
        assert "mine.py" in public.headers["content-disposition"]
        assert "class Mine" in (await get(page, None)).text
        await hosted(arena, "--unpublish", "1")
        assert (await get(url, None)).status == 401
        again = await submit(arena, str(copy), "--game", "nim")
        assert "version 1 was handed in" in again.out, "the same content under another name"


async def test_the_match_of_a_check_is_saved_as_a_page_by_its_owner_alone(tmp_path: Path, program: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena, joined(arena) as runner:
        await submit(arena, str(program), "--game", "nim")
        await runner.report(await runner.next(CheckVersion), passed=False, report="", records={"nim": RECORD})
        done = await hosted(arena, "--replay", "1", "--to", str(tmp_path / "match.html"))
        assert (done.code, done.err) == (0, "")
        assert (tmp_path / "match.html").read_text().startswith("<!doctype html>")
        url = f"{await arena.page()}/api/v1/bots/mine/submissions/1/matches/nim"
        assert (await get(url, None)).status == 401
        assert (
            "version 1 of mine has no match of 'duel': one of nim"
            in (await hosted(arena, "--replay", "1", "--game", "duel")).err
        )


async def test_what_is_no_program_or_no_change_is_refused_in_one_line(tmp_path: Path, program: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        await submit(arena, str(program), "--game", "nim")
        own = find_or_make_token(arena.url, "mine", default_path())
        bot = f"{await arena.page()}/api/v1/bots/mine"
        empty = await get(f"{bot}/submissions?file=mine.py&game=nim", own, "POST")
        assert "the body is empty: send the file itself" in empty.text
        program = program.rename(program.with_name(f"{'x' * 120}.zip"))  # noqa: ASYNC240
        long = await submit(arena, str(program), "--name", "mine")
        assert long.err == "arena-bot: the name of the file has 124 characters: 100 at most\n"
        form = {"Authorization": f"Bearer {own}", "Content-Type": "multipart/form-data; boundary=x"}
        refused = await asyncio.to_thread(answer, f"{bot}/submissions", "POST", **form)
        assert "the body is a form: send the file itself" in refused.text
        for query, why in (
            ("hosting", "there is no field in the query: one of paused, version, game"),
            ("hosting?pause=true", "there is no field 'pause' in the query"),
            ("hosting?paused=1", "paused is '1': one of true, false"),
            ("hosting?version=one", "version is 'one': a whole number"),
            ("submissions/1?published=yes", "published is 'yes': one of true, false"),
            ("matches?opponent=a+b", "opponent is 'a b': it is the name of a bot"),
        ):
            wrong = await get(f"{bot}/{query}", own, "POST")
            assert wrong.status == 400, query
            assert why in wrong.text
            assert (await get(f"{bot}/{query}", None, "POST")).status == 401
        for number in ("9" * 30, "9" * 5000, "one", "%D9%A1"):
            for what in ("", "/source", "/matches/nim"):
                told = await get(f"{bot}/submissions/{number}{what}", own)
                assert (told.status, "there is no version" in told.text) == (404, True), what


async def test_an_arena_without_hosting_takes_no_program_and_knows_no_runner(tmp_path: Path, program: Path) -> None:
    async with hosting(tmp_path / "data", "--web-port", "0") as arena:
        await arena.page()
        done = await submit(arena, str(program), "--game", "nim")
        assert done.code == 1
        async with connect_to_folder(arena.data) as connection:
            with pytest.raises(Exception, match="do is 'join_fleet': one of"):
                await connection.ask(JoinFleet(slots=1), dict)


async def test_a_python_bot_hands_itself_in_and_follows_its_check(tmp_path: Path, program: Path) -> None:
    words = (str(program), "--game", "nim", "--submit")
    async with hosting_arena(tmp_path / "data") as arena, joined(arena) as runner:
        submitting = asyncio.create_task(
            run_command(sys.executable, *words, "--url", arena.url, folder=tmp_path, cwd=tmp_path)
        )
        check = await runner.next(CheckVersion)
        await runner.report(check, passed=False, report="nim: failed after 3 plies")
        end = await submitting
    assert (end.code, end.errors) == (1, b"")
    assert end.output.decode().splitlines() == [
        "mine: version 1 was handed in; it is waiting",
        "mine: version 1 failed its check",
        "nim: failed after 3 plies",
    ]


async def test_the_token_in_a_program_is_not_handed_in_with_it(tmp_path: Path, program: Path) -> None:
    token = "t" * 30
    async with hosting_arena(tmp_path / "data") as arena, player(arena.url, "mine", token=token):
        program.write_text(MINE.replace('Mine("mine")', f'Mine("mine"), token="{token}"'))  # noqa: ASYNC240
        done = await submit(arena, str(program), "--game", "nim", "--token", token)
        assert done.code == 0, done.err
        async with joined(arena) as runner:
            check = await runner.next(CheckVersion)
            part = await runner.ask(ReadVersion(digest=check.digest), SubmissionPart)
    found = read_submission(part.data, ["nim"], SubmissionLimits())
    assert found.files["mine.py"].decode() == MINE.replace('Mine("mine")', 'Mine("mine"), token=""')


async def test_a_folder_is_handed_in_without_files_of_tokens_and_not_if_another_file_has_the_token(
    tmp_path: Path,
) -> None:
    folder, token = tmp_path / "folder", "t" * 30
    folder.mkdir()
    (folder / "mine.py").write_text(MINE)
    (folder / "bot.toml").write_text('games = ["nim"]\nlanguage = "python"\n')
    (folder / ".arena-token-mine").write_text(token)
    async with hosting_arena(tmp_path / "data") as arena, player(arena.url, "mine", token=token):
        words = (str(folder), "--name", "mine", "--token", token)
        done = await submit(arena, *words)
        assert done.code == 0, done.err
        (folder / "notes.txt").write_text(f"mine: {token}")
        done = await submit(arena, *words)
    assert done.err == (
        "arena-bot: 'notes.txt' has the bot's token, which is not for others: take it out, or leave out the file\n"
    )


async def test_a_name_that_another_owns_or_that_is_refused_leaves_no_token(
    tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))  # without the tokens of other tests
    async with hosting_arena(tmp_path / "data") as arena, player(arena.url, "mine"):
        done = await submit(arena, str(program), "--game", "nim")
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert "the name mine is taken, and this computer has no token of it: choose another with --name" in done.err
        shown = await submit(arena, "--name", "mine", "--status")
        assert "this computer has no token of mine" in shown.err
        assert find_token(arena.url, "mine", default_path()) is None
    closed = ("--hosting", "--web-port", "0", "--registration", "closed")
    async with hosting(tmp_path / "closed", *closed) as arena:
        await arena.page()
        done = await submit(arena, str(program), "--game", "nim")
        assert done.code == 1
        assert find_token(arena.url, "mine", default_path()) is None


async def test_a_version_that_waits_says_how_many_checks_are_before_it(tmp_path: Path, program: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena, joined(arena, slots=1) as runner:
        for name in ("ann", "bob", "cid", "dan"):
            await submit(arena, str(program), "--game", "nim", "--name", name)
        for _ in range(2):
            await runner.next(CheckVersion)
        told = [
            (await submit(arena, "--name", name, "--status")).out.splitlines()[-1] for name in ("ann", "cid", "dan")
        ]
        assert told == [
            "ann: version 1 is being checked",
            "cid: version 1 waits for its check; 2 checks are before it",
            "dan: version 1 waits for its check; 3 checks are before it",
        ]
        status = await call_beside("arena", "status", "--data", str(arena.data))
        assert "0 hosted bots: 0 on the 1 slot of 1 runner" in status.out
        assert "2 versions wait for a check" in status.out
        assert "checks ann, checks bob" in status.out


LIMITS = (
    "--max-program-size",
    "1",
    "--max-program-files",
    "2",
    "--max-versions-per-day",
    "1",
    "--program-storage",
    "1",
)
"""Limits of an arena that takes little."""


async def test_the_operator_sets_the_limits_on_what_is_handed_in(
    tmp_path: Path, program: Path, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "folder").mkdir()
    for name in ("a.py", "b.py"):
        (folder / name).write_text(MINE)
    (folder / "bot.toml").write_text('language = "python"\nfile = "a.py"\ngames = ["nim"]\n')
    noise = tmp_path / "noise.sh"
    noise.write_bytes(LARGE[:900_000])
    async with hosting_arena(tmp_path / "data", *LIMITS) as arena:
        refused = [
            (("large.sh", "--game", "nim"), "large.sh has 2000001 bytes to hand in: 1048576 at most"),
            (("folder",), "the zip has 3 files: 2 at most"),
        ]
        monkeypatch.chdir(tmp_path)
        for words, why in refused:
            assert why in (await submit(arena, *words)).err
        assert (await submit(arena, str(program), "--game", "nim")).code == 0
        assert "mine had 1 new version within 24 hours" in (await submit(arena, str(program), "--game", "grundy")).err
        assert (await submit(arena, str(noise), "--game", "nim")).code == 0
        assert "more than the 1 MiB" in (await submit(arena, str(noise), "--game", "nim", "--name", "more")).err


async def test_a_deleted_bot_leaves_no_program_and_a_backup_has_what_it_had(tmp_path: Path, program: Path) -> None:
    backup, data = tmp_path / "backup.db", tmp_path / "data"
    async with hosting_arena(data) as arena:
        await submit(arena, str(program), "--game", "nim")
        done = await call_beside("arena", "db", "backup", str(backup), "--data", str(data))
        assert done.code == 0, done.err
        done = await call_beside("arena", "bot", "delete", "mine", "--data", str(data))
        assert "1 version of its program deleted; backups keep them, and runners for up to 7 days" in done.out
    assert count_rows(data / "arena.db") == 0
    (restored := tmp_path / "restored").mkdir()
    backup.rename(restored / "arena.db")
    async with hosting_arena(restored) as arena, joined(arena) as runner:
        check = await runner.next(CheckVersion)
        part = await runner.ask(ReadVersion(digest=check.digest), SubmissionPart)
    found = read_submission(part.data, ["nim"], SubmissionLimits())
    assert found.files["mine.py"] == MINE.encode()


def count_rows(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        return int(connection.execute("SELECT count(*) FROM bot_versions").fetchone()[0])


async def test_the_operators_page_has_runners_failed_checks_and_who_handed_in(tmp_path: Path, program: Path) -> None:
    async with hosting_arena(tmp_path / "data", "--admin") as arena:
        for name in ("ann", "bob"):
            await submit(arena, str(program), "--game", "nim", "--name", name)
        operator = await AdminClient.signed_in(await arena.page(), operator_token(arena))
        alone = (await operator.get("/admin/hosting")).text
        assert "No runner is connected" in alone
        async with joined(arena) as runner:
            await runner.report(await runner.next(CheckVersion), passed=False, report="nim: failed: <b>late</b>")
            await runner.ask(ReportLoad(runner=runner.number, load=0.625))
            await runner.next(CheckVersion)
            page = " ".join(re.sub(r"<[^>]+>", " ", (await operator.get("/admin/hosting")).text).split())
        assert "0 of 4" in page
        assert "checks bob" in page
        assert "nim: failed: &lt;b&gt;late" in page
        assert re.search(r"ann 1 failed \S+ \S+ –", page)
    async with hosting(tmp_path / "other", "--web-port", "0", "--admin") as arena:
        operator = await AdminClient.signed_in(await arena.page(), operator_token(arena))
        page = (await operator.get("/admin/hosting")).text
        assert "This arena hosts no bots" in page
        assert 'href="/admin/hosting"' not in page


def operator_token(arena: RunningArena) -> str:
    return str(json.loads((arena.data / "operator.json").read_text())["token"])


async def test_a_tournament_elsewhere_takes_and_keeps_the_programs_of_a_running_arena(
    tmp_path: Path, program: Path
) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        await submit(arena, str(program), "--game", "nim")
        async with joined(arena) as runner:
            await runner.report(await runner.next(CheckVersion), passed=True, report="")
            await runner.next(RunBot)
        source = HostedSource(LocalServer(arena.data), tmp_path / "final", None)
        with closing(Store.open(tmp_path / "final.db")) as results:
            found = await asyncio.to_thread(source.find, HostedOptions(bots=["MINE"]), "nim")
            (entrant,) = found.entrants
            await asyncio.to_thread(source.freeze, results, "t1", found.entrants)
            content = await source.read(results, entrant.digest)
        assert (entrant.bot, entrant.number, entrant.late) == ("mine", 1, False)
        assert read_submission(content, ["nim"], SubmissionLimits()).files["mine.py"] == MINE.encode()
        with closing(Reader.open(arena.data / "arena.db")) as reader:
            assert reader.read(tournaments_of_bot, "mine") == ["t1"]
        deleted = await call_beside("arena", "bot", "delete", "mine", "--data", str(arena.data))
        assert "its programs are gone, so these tournaments can't be repeated: t1\n" in deleted.out

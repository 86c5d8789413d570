"""Owners and operators read what hosted bots did, and change which version of them runs and what it plays."""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from pathlib import Path

import msgspec
import pytest

from admin_client import AdminClient
from arena.operator.bot_files import StoreMatchLog
from arena.operator.client import connect_to_folder
from arena.operator.hosting import CheckVersion, ReportLoad, RunBot
from arena.runner.hand_in import upload_file
from arena.server import requested_matches
from bots.client.tokens import default_path, find_or_make_token
from commands import Done
from hosted_runner import joined
from hosting_arena import get, hosted, hosting_arena, operator_token, submit
from in_process import call_beside, hosting
from log_events import set_when_logged
from players import player
from protocol.match_logs import MatchLog, ProgramFault
from timeouts import WITHIN


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
            (["--use", "3", "--pause"], "version 3 of mine does not exist: choose 2 or 1"),
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


async def test_an_owner_has_the_bot_play_an_open_opponent_now(
    tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    absent = set_when_logged(caplog, "does not start")
    monkeypatch.setattr(requested_matches, "RECONNECT_TIMEOUT_S", 0.01)
    async with hosting_arena(tmp_path / "data") as arena, joined(arena) as runner:
        await submit(arena, str(program), "--game", "nim")
        await runner.report(await runner.next(CheckVersion), passed=True, report="")
        run = await runner.next(RunBot)
        async with player(arena.url, "mine", token=run.ticket) as mine, player(arena.url, "ben") as ben:
            nobody = "no other bot takes a match of nim now"
            assert f"cleo is not online: {nobody}" in (await hosted(arena, "--play", "cleo")).err
            assert f"ben takes no match of nim now: {nobody}" in (await hosted(arena, "--play", "ben")).err
            await mine.seek(opponent="cleo")  # so it still waits, however late the request comes
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

            async with player(arena.url, "leaver") as leaver:
                for one in (mine, ben):
                    await one.seek()
                for one in (mine, ben):
                    await one.begin()
                await leaver.seek(open=True)
                told = (await hosted(arena, "--play", "leaver")).out
            await asyncio.gather(mine.play(), ben.play())
            token = find_or_make_token(arena.url, "mine", default_path())
            state = f"{await arena.page()}/api/v1/bots/mine/{told[told.index('matches/') :].strip()}"
            async with asyncio.timeout(WITHIN):
                await absent.wait()
            not_started = {"under_way": False, "why": "leaver has gone offline"}
            assert json.loads((await get(state, token)).text) == not_started


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

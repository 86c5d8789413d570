"""`arena tournament --server`: a tournament among the bots of a running server, with its ladder going on beside it."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from arena.operator import credentials
from arena.runs import remote
from arena.runs.remote import LocalServer, RemotePlayers
from commands import Done, call, started
from in_process import call_beside, hosted_beside, hosting, playing
from plans import plan
from processes import RunningArena, run
from timeouts import WITHIN
from tournaments import played

HERE = ("random", "greedy", "perfect")


def tournament(data: Path, at: str, bots: Sequence[str], *words: str, **environ: str) -> tuple[Done, dict[str, Any]]:
    """What a tournament at a server leaves behind, and what it writes."""
    file = data.with_suffix(".json")
    command = ("arena", "tournament", *bots, "--game", "nim", "--server", at, "--data", str(data), "--json", str(file))
    done = played(*command, *words, **environ)
    return done, json.loads(file.read_text()) if file.exists() else {}


def test_connected_bots_play_a_tournament_beside_the_ladder_and_who_is_absent_forfeits(tmp_path: Path) -> None:
    final = tmp_path / "final"
    with hosted_beside(tmp_path / "server", bots=HERE) as served:
        at = str(served.data)
        words = ("--seed", "3", "--connect-timeout", "60")
        unknown, _ = tournament(tmp_path / "unknown", at, [*HERE, "nobody"], *words)
        assert (unknown.code, "there is no bot called nobody on this server" in unknown.err) == (2, True)
        for word in ("add", "revoke"):
            done = call("arena", "bot", word, "nobody", "--data", at)
            assert done.code == 0, done.err
        first, content = tournament(final, at, [*HERE, "nobody"], *words)
        assert first.code == 0, first.err
        again, same = tournament(final, at, [*HERE, "nobody"], *words)
        assert (again.code, "6 of 6 matches were played before" in again.err) == (0, True)
        assert same["matches"] == content["matches"], "nothing is played twice"
        token = credentials.read_credentials(served.data).token  # type: ignore[union-attr]
        other, paired = tournament(
            tmp_path / "other", served.url, HERE[:2], "--seed", "4", "--paired", ARENA_OPERATOR_TOKEN=token
        )
        assert (other.code, len(paired["matches"])) == (0, 2), other.err
        refused, _ = tournament(tmp_path / "refused", served.url, HERE, ARENA_OPERATOR_TOKEN="another")
        assert (refused.code, "refuses the operator's token" in refused.err) == (1, True)
    reasons = [[(seat["bot"], seat["reason"]) for seat in match["seats"]] for match in content["matches"]]
    assert sum(("nobody", "no_show") in seats for seats in reasons) == 3
    assert all(reason == "win" for seats in reasons for bot, reason in seats if ("nobody", "no_show") not in seats)
    assert content["failures"]["nobody"]
    verified = call("arena", "replay", "verify", "--data", str(final))
    assert verified.code == 0, verified.out
    ladder = json.loads(call("arena", "matches", "--json", "--data", str(served.data)).out)
    assert ladder
    assert all(match["tournament"] is None for match in ladder), "the tournament is stored where it was asked for"


@asynccontextmanager
async def counted(served: RunningArena) -> AsyncIterator[tuple[str, list[str]]]:
    """Another URL of a server, and an entry for each connection that came by it."""
    came: list[str] = []

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(4096):
            writer.write(data)
        writer.close()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.append(str(writer.get_extra_info("peername")))
        answers, there = await asyncio.open_connection("127.0.0.1", urlsplit(served.url).port)
        await asyncio.gather(copy(reader, there), copy(answers, writer))

    async with await asyncio.start_server(pass_on, "127.0.0.1", 0) as server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}", came


@pytest.mark.ci
async def test_matches_are_asked_for_on_one_connection(tmp_path: Path) -> None:
    file = tmp_path / "final.json"
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(hosting(tmp_path / "server"))
        for bot in HERE:
            await stack.enter_async_context(playing(served, bot, "--game", "nim", "--min-move-time", "0.02"))
        url, came = await stack.enter_async_context(counted(served))
        token = credentials.read_credentials(served.data).token  # type: ignore[union-attr]
        words = ("--game", "nim", "--server", url, "--data", str(tmp_path / "final"), "--json", str(file))
        options = ("--rounds", "4", "--jobs", "2")
        code, _, err = await run(
            "arena", "tournament", *HERE, *words, *options, folder=tmp_path, ARENA_OPERATOR_TOKEN=token
        )
    assert (code, len(json.loads(file.read_text())["matches"])) == (0, 12), err
    assert len(came) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.ci)])
async def test_one_that_is_told_to_stop_says_how_to_go_on(tmp_path: Path, number: signal.Signals) -> None:
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(hosting(tmp_path / "server", "--log-level", "debug"))
        for bot in HERE[:2]:
            await stack.enter_async_context(
                playing(served, bot, "--game", "nim", "--opponent", "zoe", "--min-move-time", "1")
            )
        words = (*HERE[:2], "--game", "nim", "--rounds", "3", "--clock", "3600", "--server", str(served.data))
        with started("arena", "tournament", *words, "--data", str(tmp_path / "final")) as process:
            await served.says(" began: nim")
            process.send_signal(number)
            out, err = await asyncio.to_thread(process.communicate, timeout=WITHIN)
    assert (process.returncode, out) == (130, "")
    assert re.fullmatch(r"arena: stopped after \d of 3 matches; the same command continues", err.splitlines()[-1])
    assert "Traceback" not in err


async def test_a_server_that_was_started_again_is_found_by_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "RETRY_DELAY_S", 0.6)
    planned = plan("ab")
    matches = planned.schedule(())
    assert (await call_beside("arena", "bot", "add", "a", "b", "--data", str(tmp_path))).code == 0
    players = RemotePlayers(LocalServer(tmp_path), planned, wait_s=0.5, concurrency=1, value=None)
    async with aclosing(players.play(matches)) as played:
        for match in matches:
            async with hosting(tmp_path):
                (report,) = await anext(played)
            assert (report.result.place, report.result.reason) == (match.place, "void")
    await players.close()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["a", "b=python b.py"], "'b=python b.py' is no name of a bot"),
        (["a", "a"], "a"),
        (["a"], "two bots"),
        (["a", "b", "--sandbox", "bwrap"], "--sandbox is for bots that run on this machine"),
        (["a", "b", "--in-process"], "--in-process is for bots that run on this machine"),
        (["a", "b", "--set", "depth=3"], "--set depth is for bots that run on this machine"),
        (["a", "b"], "no server runs on"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(words: list[str], says: str, tmp_path: Path) -> None:
    options = ("--game", "nim", "--server", str(tmp_path / "none"), "--data", str(tmp_path / "final"))
    done = call("arena", "tournament", *words, *options)
    assert done.code in (1, 2)
    assert says in done.err
    assert len(done.err.splitlines()) == 1


def test_a_url_needs_the_operators_token(tmp_path: Path) -> None:
    done = call(
        "arena", "tournament", "a", "b", "--game", "nim", "--server", "ws://127.0.0.1:1", "--data", str(tmp_path)
    )
    assert (done.code, "ARENA_OPERATOR_TOKEN" in done.err) == (2, True)

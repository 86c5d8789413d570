"""`arena tournament --at`: a tournament among the bots of a running server, with its ladder going on beside it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from arena.operator import credentials
from arena.tournament import remote
from arena.tournament.job import MatchJob, MatchReport, ServerOn
from arena.tournament.sandbox import BotEnvironment
from commands import call
from plans import plan
from processes import Served, run, serving

HERE = ("random", "greedy", "perfect")


@asynccontextmanager
async def playing(served: Served, *bots: str) -> AsyncIterator[None]:
    """Reference bots that play on the ladder of Nim inside."""
    options = ("--url", served.url, "--game", "nim", "--matches", "100000")
    tasks = [asyncio.create_task(run("arena-bot", "run", bot, *options, folder=served.data)) for bot in bots]
    try:
        for bot in bots:
            await served.says(f"{bot} (bot-arena/python) came")
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def tournament(
    data: Path, at: str, bots: Sequence[str], *words: str, **environ: str
) -> tuple[int, str, dict[str, Any]]:
    """Exit code, what it says beside the table, and what it writes."""
    file = data.with_suffix(".json")
    command = ("arena", "tournament", *bots, "--game", "nim", "--at", at, "--data", str(data), "--json", str(file))
    code, _, err = await run(*command, *words, folder=data.parent, **environ)
    return code, err, json.loads(file.read_text()) if file.exists() else {}


async def test_connected_bots_play_a_tournament_beside_the_ladder_and_who_is_absent_forfeits(tmp_path: Path) -> None:
    final = tmp_path / "final"
    async with serving(tmp_path / "server") as served, playing(served, *HERE):
        at = str(served.data)
        await served.says("ended: nim")
        words = ("--seed", "3", "--connect-timeout", "60")
        code, err, _ = await tournament(tmp_path / "unknown", at, [*HERE, "nobody"], *words)
        assert (code, "there is no bot called nobody on this server" in err) == (2, True)
        for word in ("add", "revoke"):
            done, _, err = await run("arena", "bot", word, "nobody", "--data", at, folder=served.data)
            assert done == 0, err
        code, err, content = await tournament(final, at, [*HERE, "nobody"], *words)
        assert code == 0, err
        again, said, same = await tournament(final, at, [*HERE, "nobody"], *words)
        assert (again, "6 of 6 matches were played before" in said) == (0, True)
        assert same["matches"] == content["matches"], "nothing is played twice"
        token = credentials.read(served.data).token  # type: ignore[union-attr]
        code, err, other = await tournament(
            tmp_path / "other", served.url, HERE, "--seed", "4", "--paired", ARENA_OPERATOR_TOKEN=token
        )
        assert (code, len(other["matches"])) == (0, 6), err
        code, err, _ = await tournament(tmp_path / "refused", served.url, HERE, ARENA_OPERATOR_TOKEN="another")
        assert (code, "refuses the operator's token" in err, "Traceback" in err) == (1, True, False)
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
async def counted(served: Served) -> AsyncIterator[tuple[str, list[str]]]:
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
async def test_matches_are_asked_for_on_one_connection_for_each_job(tmp_path: Path) -> None:
    async with serving(tmp_path / "server") as served, playing(served, *HERE), counted(served) as (url, came):
        token = credentials.read(served.data).token  # type: ignore[union-attr]
        code, err, content = await tournament(
            tmp_path / "final", url, HERE, "--rounds", "4", "--jobs", "2", ARENA_OPERATOR_TOKEN=token
        )
    assert (code, len(content["matches"])) == (0, 12), err
    assert len(came) <= 2


async def test_a_server_that_was_started_again_is_found_by_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "TRY_AGAIN", 0.6)
    planned = plan("ab")
    job = MatchJob(key="k", plan=planned, environment=BotEnvironment(variables={}), logs=tmp_path, connect_timeout=0.5)
    first, second = planned.schedule(())
    assert (await run("arena", "bot", "add", "a", "b", "--data", str(tmp_path), folder=tmp_path))[0] == 0
    for match in (first, second):
        async with serving(tmp_path):
            played = await asyncio.to_thread(remote.play, ServerOn(tmp_path), job, match)
        assert isinstance(played, MatchReport), played
        assert played.result.reason == "void"
    await asyncio.to_thread(remote.leave, "k")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["a", "b=python b.py"], "'b=python b.py' is no bot's name"),
        (["a", "a"], "a"),
        (["a"], "two bots"),
        (["a", "b", "--sandbox", "bwrap"], "--sandbox is for bots that are started here"),
        (["a", "b", "--in-process"], "--in-process is for bots that are started here"),
        (["a", "b", "--set", "depth=3"], "--set depth is for bots that are started here"),
        (["a", "b"], "no server runs on"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(words: list[str], says: str, tmp_path: Path) -> None:
    options = ("--game", "nim", "--at", str(tmp_path / "none"), "--data", str(tmp_path / "final"))
    done = call("arena", "tournament", *words, *options)
    assert done.code in (1, 2)
    assert says in done.err
    assert len(done.err.splitlines()) == 1


def test_a_url_needs_the_operators_token(tmp_path: Path) -> None:
    done = call("arena", "tournament", "a", "b", "--game", "nim", "--at", "ws://127.0.0.1:1", "--data", str(tmp_path))
    assert (done.code, "ARENA_OPERATOR_TOKEN" in done.err) == (2, True)

"""Two servers on one database, as processes of their own: bots find their games, operators reach everybody."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest

from arena.commands import watch
from arena.server.arena import CREDENTIAL_REPLACED_MESSAGE, REVOKED_MESSAGE
from hung_sessions import stopped
from in_process import call_beside, play, playing
from nodes import two_nodes
from players import meet, player
from postgres import new_database
from processes import run, serving
from timeouts import WITHIN
from web_client import answer


async def test_bots_that_come_to_any_node_play_where_their_game_is_and_tournaments_call_them_from_there(
    tmp_path: Path,
) -> None:
    """A bot that knows of one node only is told where its game is."""
    async with two_nodes(tmp_path) as nodes:
        await asyncio.gather(play(nodes.other, "random", 2), play(nodes.nim, "greedy", 2))
        assert any("ended: nim" in line for line in nodes.nim.said)
        assert not any("ended" in line for line in nodes.other.said)
        async with player(nodes.other.url, "ann") as ann:
            await ann.seek()
            error = await ann.expect("error")
        there = nodes.nim.url
        assert (error["code"], error["url"]) == ("elsewhere", there)
        assert error["message"] == f"seek: nim is played on another node: connect to {there}"
        names = ("random", "greedy")
        async with AsyncExitStack() as bots:
            for name in names:
                options = ("--game", "nim", "--min-move-time", "0.02")
                await bots.enter_async_context(playing(nodes.nim, name, *options))
            words = ("--game", "nim", "--server", str(nodes.other.data), "--data", str(tmp_path / "results"))
            code, _, err = await run("arena", "tournament", *names, *words, folder=tmp_path)
            assert code == 0, err
        await nodes.other.says("ended: nim")


async def test_a_match_elsewhere_is_watched_and_found_again_and_ends_where_a_node_is_drained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has no match there is sent away."""
    async with (
        two_nodes(tmp_path) as nodes,
        player(nodes.nim.url, "ann") as ann,
        player(nodes.nim.url, "bob") as bob,
        player(nodes.nim.url, "cid") as cid,
    ):
        start = await meet(ann, bob)
        async with player(nodes.other.url, "dan") as dan:
            await dan.send("watch", match=start["match"])
            error = await dan.expect("error")
            assert error["code"] == "elsewhere"
            assert (error["ref"], error["url"]) == (start["match"], nodes.nim.url)
        async with player(nodes.other.url, "ann") as again:
            assert again.heard[0]["elsewhere"] == [nodes.nim.url]
            assert again.heard[0]["url"] == nodes.other.url
        shown: asyncio.Queue[str] = asyncio.Queue()
        monkeypatch.setattr(watch, "say", lambda text, **_: shown.put_nowait(text))
        async with asyncio.TaskGroup() as group:
            group.create_task(watch._watch(nodes.other.url, None, follow=False))
            while not (await shown.get()).startswith(f"{start['match']}: nim"):
                pass
            await cid.seek()
            draining = asyncio.create_task(
                run("arena", "node", "drain", nodes.nim.data.name, "--wait", "--db", nodes.db, folder=tmp_path)
            )
            error = await cid.expect("error")
            assert (error["code"], error["url"]) == ("elsewhere", nodes.other.url)
            assert not draining.done()
            for one in (ann, bob):
                group.create_task(one.play())
        code, out, _ = await draining
        assert code == 0
        assert out.endswith("has no match under way\n")


async def test_what_the_operator_decides_at_one_node_counts_at_all_of_them_at_once(tmp_path: Path) -> None:
    """A bot that plays elsewhere is not renamed, and loses its matches when it is deleted."""
    async with (
        two_nodes(tmp_path) as nodes,
        player(nodes.nim.url, "ann") as ann,
        player(nodes.nim.url, "bob") as bob,
        player(nodes.nim.url, "cid") as cid,
    ):
        there = ("--db", nodes.db, "--data", str(nodes.other.data))
        told = await call_beside("arena", "bot", "revoke", "cid", *there)
        error = await cid.expect("error")
        assert told.code == 0
        assert (error["code"], error["message"]) == ("auth_failed", REVOKED_MESSAGE.format(bot="cid"))
        told = await call_beside("arena", "bot", "rotate", "cid", *there)
        assert told.code == 0
        async with player(nodes.nim.url, "cid", token=told.out.split()[-1]) as again:
            await call_beside("arena", "bot", "rotate", "cid", *there)
            assert (await again.expect("error"))["message"] == CREDENTIAL_REPLACED_MESSAGE.format(bot="cid")
        await meet(ann, bob)
        told = await call_beside("arena", "bot", "rename", "ann", "anna", *there)
        assert (told.code, told.err.startswith("arena: ann plays in a match under way at node ")) == (2, True)
        told = await call_beside("arena", "bot", "delete", "ann", *there)
        assert told.out.startswith("ann is deleted, and the name is free; its results are those of deleted-")
        end = await bob.expect("end")
        assert [seat["reason"] for seat in end["seats"] if seat["bot"] == "ann"] == ["disconnected"]
        table = await call_beside("arena", "leaderboard", *there)
        assert "ann" not in table.out.split()


async def test_a_node_that_has_lost_its_journal_says_so_until_its_matches_are_called_off(tmp_path: Path) -> None:
    url = new_database()
    words = ("--db", url, "--node", "a")
    async with (
        serving(tmp_path / "a", *words) as served,
        player(served.url, "ann") as ann,
        player(served.url, "bob") as bob,
    ):
        start = await meet(ann, bob)
    async with serving(tmp_path / "other", *words) as served:
        await served.says("this node's journal lacks 1 running match")
    told = await call_beside("arena", "node", "lost", "a", "--db", url)
    assert (told.code, told.out.partition(":")[0], told.err) == (0, f"voided 1 match of a\n  {start['match']}", "")
    async with serving(tmp_path / "other", *words) as served, player(served.url, "ann") as ann:
        assert "elsewhere" not in ann.heard[0]
        assert not any("journal" in line for line in served.said)


def writing_backend(url: str, name: str) -> int:
    """Return the id of the server's process of the session by which a node writes."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute("SELECT split_part(session, ' ', 1) FROM arena.nodes WHERE name = %s", (name,))
        (pid,) = found.fetchone() or ("",)
    return int(pid)


async def test_a_node_whose_session_hangs_sends_bots_to_one_that_works_comes_back_and_ends_when_it_is_told(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack:
        environ = {"ARENA_TIMEOUT_FACTOR": "1"}
        nodes = await stack.enter_async_context(two_nodes(tmp_path, "--database-timeout", "4", **environ))
        ann = await stack.enter_async_context(player(nodes.nim.url, "ann"))
        name = nodes.nim.data.name
        with stopped(writing_backend(nodes.db, name)):
            await ann.seek()
            error = await ann.expect("error")
            assert (error["code"], error["url"]) == ("elsewhere", nodes.other.url)
            told = await asyncio.to_thread(answer, nodes.nim.url.replace("ws://", "http://") + "/readyz")
            assert told.status == 503
            assert told.text.startswith("the database is unreachable: it last answered ")
            await nodes.nim.says(
                "the database is unreachable: no answer for 6 s; its session is closed after 9 s without an answer"
            )
            await nodes.nim.says("the session is closed")
            await nodes.nim.says("the database answers again after ")
            with stopped(writing_backend(nodes.db, name)):
                nodes.nim.process.terminate()
                assert await asyncio.to_thread(nodes.nim.process.wait, WITHIN) == 0

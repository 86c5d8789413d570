"""A server has the games of its database: it refereed them before, or another node was given them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import call
from example_games import EXAMPLES, write_race
from in_process import call_beside, hosting, play
from players import player
from postgres import new_database
from processes import serving
from protocol.games import game_spec
from web_client import answer


async def test_a_match_goes_on_at_the_next_start_without_the_file_and_though_its_game_is_removed(
    tmp_path: Path, no_brought_games: Callable[[], None]
) -> None:
    race, data = write_race(tmp_path), tmp_path / "data"
    async with (
        hosting(data, "--game", str(race)) as arena,
        player(arena.url, "ann", follow=True) as ann,
        player(arena.url, "bob", follow=True) as bob,
    ):
        for one in (ann, bob):
            await one.seek("race", config={"preset": "classic"})
        await asyncio.gather(ann.begin(), bob.begin())
        await asyncio.gather(ann.expect("turn"), bob.expect("turn"))
    race.unlink()
    no_brought_games()
    removed = await call_beside("arena", "game", "remove", "race", "--data", str(data))
    assert removed.code == 0, removed.err
    no_brought_games()
    async with (
        hosting(data, "--web-port", "0") as arena,
        player(arena.url, "ann") as ann,
        player(arena.url, "bob") as bob,
    ):
        assert not game_spec("race").offered
        assert "race" not in ann.heard[0]["games"]
        await asyncio.gather(ann.begin(), bob.begin())
        ends = await asyncio.gather(ann.play(), bob.play())
        assert [end["reason"] for end in ends] == ["win", "win"]
        await ann.seek("race", config={"preset": "classic"})
        error = await ann.expect("error")
        assert (error["code"], error["message"]) == (
            "unknown_game",
            "race was removed by the operator: no new matches begin",
        )
    assert call("arena", "replay", "verify", "--data", str(data)).out == "1 record verified\n"


@pytest.mark.ci
async def test_nodes_that_have_never_seen_the_file_referee_the_game_and_show_it(
    tmp_path: Path, no_brought_games: Callable[[], None]
) -> None:
    url, file = new_database(), tmp_path / "connect4.py"
    for name in ("connect4.py", "connect4.js"):
        (tmp_path / name).write_bytes((EXAMPLES / name).read_bytes())
    assert call("arena", "game", "add", str(file), "--db", url).code == 0
    file.unlink()
    options = ("--db", url, "--web-port", "0", "--node")
    async with serving(tmp_path / "a", *options, "a") as a, serving(tmp_path / "b", *options, "b") as b:
        for node in (a, b):
            await node.says("accepts matches")
        await asyncio.gather(play(a, "random", 1, "--game", "connect4"), play(b, "greedy", 1, "--game", "connect4"))
        for node in (a, b):
            page = await node.page()
            shown = (await asyncio.to_thread(answer, f"{page}/rules/connect4")).text
            assert "<h1>Connect Four: how to play</h1>" in shown
            matches = (await asyncio.to_thread(answer, f"{page}/api/v1/matches?game=connect4")).text
            assert matches.count('"game":"connect4"') == 1

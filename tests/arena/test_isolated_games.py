"""A server with `--isolate-games`: brought games are played as before, and faults of their processes cost no bot."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from arena.commands.settings import database_url
from arena.host.game_watch import GameLimits
from arena.replay.verify import verify_record
from arena.store.result_queries import record_of
from arena.store.store import Reader
from example_games import EXAMPLES
from in_process import hosting
from players import Player, player
from processes import RunningArena
from protocol.dice import SEED_BYTES
from protocol.errors import RulesFault
from protocol.games import game_class, load_game
from referee.record import Header
from referee.record_reader import read_record
from timeouts import WITHIN
from wrong_games import brought, write_game

PLAY = "return Count(state.number + move, 1 - state.seat)"
OPTIONS = "--isolate-games"
SETTING = (
    ("from protocol.games.turn_game import CHANCE, TurnGame", "from protocol.games.turn_game import TurnGame, integer"),
    ("    name =", "    least = integer(0, minimum=0, maximum=9)\n    name ="),
)


async def sit_down(arena: RunningArena, stack: AsyncExitStack, *names: str, game: str, **seek: object) -> list[Player]:
    """Begin a match between these players. Return them in seat order."""
    players = [await stack.enter_async_context(player(arena.url, name)) for name in names]
    for one in players:
        await one.seek(game, **seek)
    seats = {(await one.begin())["seat"]: one for one in players}
    return [seats[seat] for seat in sorted(seats)]


async def test_a_match_is_played_watched_rated_and_verified(tmp_path: Path) -> None:
    game = "onecard"
    with brought(EXAMPLES / f"{game}.py"):
        async with AsyncExitStack() as stack:
            arena = await stack.enter_async_context(hosting(tmp_path / "data", OPTIONS))
            forbid_rules_here(game)
            eve = await stack.enter_async_context(player(arena.url, "eve"))
            players = await sit_down(arena, stack, "ann", "bob", game=game)
            await eve.send("watch", match=players[0].heard[-1]["match"])
            first, second, shown = await asyncio.gather(*(one.play() for one in (*players, eve)))
            assert first["reason"] == second["reason"] == shown["reason"]
            assert "mu_after" in first["seats"][0]
            assert [one for one in eve.heard if one["type"] == "turn"]
            allow_rules_here(game)
            with closing(Reader.open(database_url(None, tmp_path / "data"))) as reader:
                body = reader.read(record_of, first["match"])
            assert body is not None
            verify_record(read_record(body, first["match"]))


async def test_a_config_that_was_not_known_is_asked_about_before_the_seek_is_handled(tmp_path: Path) -> None:
    fail = ("return Count()", "return Count() if self.least < 5 else 1 / 0")
    with brought(write_game(tmp_path, *SETTING, fail)):
        async with AsyncExitStack() as stack:
            arena = await stack.enter_async_context(hosting(tmp_path / "data", OPTIONS))
            players = await sit_down(arena, stack, "ann", "bob", game="counting", config={"least": 3})
            assert [one["config"] for one in players[0].heard if one["type"] == "start"] == [{"least": 3}]
            eve = await stack.enter_async_context(player(arena.url, "eve"))
            await eve.seek("counting", config={"least": 7})
            assert (await eve.expect("error"))[
                "message"
            ] == "seek: the rules of counting failed, which is no bot's fault"
            await eve.seek("counting", config={"least": 10})
            assert (await eve.expect("error"))["code"] == "bad_config"
            await eve.send("seek", id="mine", game="counting", config={"least": 4}, opponents="wrong")
            assert (await eve.expect("error"))["code"] == "bad_message"
            await eve.send("seek", id="gone", game="counting", config={"least": 4})
            await eve.send("unseek", id="gone")
            assert (await eve.expect("unseeked"))["id"] == "gone"
            await eve.send("list")
            listing = await eve.expect("listing")
            assert [bot.get("seeks", []) for bot in listing["bots"] if bot["bot"] == "eve"] == [[]]


def forbid_rules_here(game: str) -> None:
    """Have the rules fail in this process from now on. The process of the game has its own."""
    rules = game_class(game).rules_class  # type: ignore[attr-defined]
    rules.kept = {method: vars(rules)[method] for method in ("turn", "moves", "play")}
    for method in rules.kept:
        setattr(rules, method, lambda *given: 1 / 0)


def allow_rules_here(game: str) -> None:
    rules = game_class(game).rules_class  # type: ignore[attr-defined]
    for method, function in rules.kept.items():
        setattr(rules, method, function)


async def test_nim_beside_is_played_while_a_call_does_not_return_and_the_server_stops_all_the_same(
    tmp_path: Path,
) -> None:
    with brought(write_game(tmp_path, (PLAY, f"if move == 2: time.sleep(1000)\n        {PLAY}"))):
        async with AsyncExitStack() as stack:
            arena = await stack.enter_async_context(hosting(tmp_path / "data", OPTIONS))
            slow = await sit_down(arena, stack, "ann", "bob", game="counting")
            await slow[0].move(await slow[0].expect("turn"), {"move": 2})
            nim = await sit_down(arena, stack, "cas", "dan", game="nim", config={"preset": "classic"})
            ends = await asyncio.gather(*(one.play() for one in nim))
            assert [end["reason"] for end in ends] == ["win", "win"]
        async with AsyncExitStack() as stack:
            arena = await stack.enter_async_context(hosting(tmp_path / "data", OPTIONS))
            await arena.says("1 match goes on after a restart")
            again = [await stack.enter_async_context(player(arena.url, one.name)) for one in slow]
            ends = await asyncio.gather(*(one.play() for one in again))
            assert [end["reason"] for end in ends] == ["win", "win"]


async def test_an_assigned_match_is_asked_about_before_it_begins(
    tmp_path: Path, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with brought(write_game(tmp_path, *SETTING)):
        served = await serve(game_limits=GameLimits(call_timeout_s=WITHIN), isolates_games=True)
        ann, bob = await served.enter("ann"), await served.enter("bob")
        assigned, headers, rules = served.arena.assigned, served.arena.headers, load_game("counting", {"least": 4})

        def header(match: str) -> tuple[Header, bytes]:
            seed = bytes(SEED_BYTES)
            return headers.make(match, rules, ("ann", "bob"), seed, pool=None, tournament="t1", place=0), seed

        bots = ["ann", "bob"]
        played = asyncio.create_task(assigned.play("t1-0", "t1", bots, lambda: header("t1-0"), WITHIN))
        start = await ann.expect("start")
        assert start["config"] == {"least": 4}
        for client in (ann, bob):
            await client.ready(start)
        await bob.send(type="resign", match="t1-0")
        assert [seat.reason for seat in (await played).result.seats] == ["win", "resigned"]
        fault = RulesFault("counting", "no more")
        monkeypatch.setattr(served.arena.host.rules, "must_prepare", lambda *given: True)
        monkeypatch.setattr(served.arena.host.rules, "prepare", AsyncMock(side_effect=fault))
        with pytest.raises(RulesFault, match="no more"):
            await assigned.play("t1-1", "t1", bots, lambda: header("t1-1"), WITHIN)

"""A client written from the protocol document alone plays the real server and the reference bots."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from websockets.asyncio.client import ClientConnection

from commands import call
from conftest import free_port
from in_process import hosting, play
from independent_client import JSON, MSGPACK, Client, Map, Played
from independent_hidden_client import HiddenClient
from processes import RunningArena, run, serving
from timeouts import WITHIN

P_POSITION = {"heaps": [12, 14, 16], "take": [1, 2, 3], "misere": True, "start": "p-position"}
MATCHES = 3


class Hesitant(Client):
    """Says when it was first asked for a move, and makes none before it may."""

    def __init__(self, url: str) -> None:
        super().__init__(url, "stranger", JSON, {})
        self.asked = asyncio.Event()
        self.may = asyncio.Event()

    async def on_turn(self, socket: ClientConnection, turn: Map) -> None:
        self.asked.set()
        await self.may.wait()
        await super().on_turn(socket, turn)


@pytest.fixture
async def arena(tmp_path: Path) -> AsyncIterator[RunningArena]:
    async with hosting(tmp_path / "data") as served:
        yield served


async def meet(arena: RunningArena, client: Client, *options: str) -> list[Played]:
    """Let the client play its matches against the random bot."""
    async with asyncio.timeout(WITHIN), asyncio.TaskGroup() as group:
        group.create_task(play(arena, "random", MATCHES, *options))
        return await client.play(MATCHES)


@pytest.mark.parametrize("subprotocol", [JSON, pytest.param(MSGPACK, marks=pytest.mark.ci)])
async def test_a_client_written_from_the_document_plays_rated_matches(arena: RunningArena, subprotocol: str) -> None:
    played = await meet(arena, Client(arena.url, "stranger", subprotocol, {"preset": "classic"}))
    assert all(one.match.start["rated"] and one.end["reason"] == "win" for one in played)
    told = call("arena", "leaderboard", "--game", "nim", "--data", str(arena.data), "--json")
    assert (told.code, told.err) == (0, "")
    (board,) = json.loads(told.out)
    results = {row["bot"]: Counter(won=row["wins"], lost=row["losses"]) for row in board["rows"]}
    won = sum(one.won for one in played)
    assert results == {
        "stranger": Counter(won=won, lost=MATCHES - won),
        "random": Counter(won=MATCHES - won, lost=won),
    }
    verified = call("arena", "replay", "verify", *(one.match.id for one in played), "--data", str(arena.data))
    assert (verified.code, verified.err) == (0, "")
    assert all(one.end["digest"] in verified.out for one in played)


@pytest.mark.parametrize(("cut", "subprotocol"), [("before", JSON), ("after", MSGPACK)])
async def test_the_deal_and_the_digests_hold_through_lost_connections(
    arena: RunningArena, cut: str, subprotocol: str
) -> None:
    keys = ["heaps=12,14,16", "take=1,2,3", "misere=true", "start=p-position"]
    client = Client(arena.url, "stranger", subprotocol, P_POSITION, cut=cut)
    played = await meet(arena, client, "--unrated", *(word for key in keys for word in ("--config", key)))
    assert sum(one.match.returns for one in played) > 0
    assert all(one.match.events[0]["seat"] == -1 and not one.match.start["rated"] for one in played)


@pytest.mark.parametrize(
    ("game", "config", "cut", "subprotocol"),
    [
        ("kuhn", {"hands": 6}, "after", MSGPACK),
        ("dilemma", {"rounds": 30, "go_on": "0.95", "noise": "0.3"}, "before", JSON),
    ],
)
async def test_what_was_hidden_proves_in_the_end_to_have_been_fixed(
    arena: RunningArena, game: str, config: Map, cut: str, subprotocol: str
) -> None:
    client = HiddenClient(arena.url, "stranger", subprotocol, game, config, cut=cut)
    options = [
        "--game",
        game,
        "--unrated",
        *(w for key, value in config.items() for w in ("--config", f"{key}={value}")),
    ]
    async with asyncio.timeout(WITHIN), asyncio.TaskGroup() as group:
        group.create_task(play(arena, "random", MATCHES, *options))
        played = await client.play(MATCHES)
    assert sum(one.match.returns for one in played) > 0
    assert {one.end["reason"] for one in played} <= {"win", "draw"}


async def test_a_move_that_the_rules_forbid_costs_a_strike_and_the_match_goes_on(arena: RunningArena) -> None:
    played = await meet(arena, Client(arena.url, "stranger", JSON, {}, err=True))
    assert [(one.match.strikes, one.end["reason"]) for one in played] == [(1, "win")] * MATCHES


async def test_a_client_that_takes_any_match_is_found_whatever_is_sought(arena: RunningArena) -> None:
    client = Client(arena.url, "stranger", JSON, None)
    named = ["--config", "heaps=12,14,16", "--config", "start=p-position", "--opponent", "stranger"]
    played = await meet(arena, client, *named)
    assert {tuple(one.match.start["config"]["heaps"]) for one in played} == {(12, 14, 16)}
    assert client.listing is not None
    assert any(bot["bot"] == "stranger" for bot in client.listing["bots"])


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.ci)])
async def test_matches_go_on_when_their_server_is_started_again(tmp_path: Path, number: signal.Signals) -> None:
    data, port = tmp_path / "data", str(free_port())
    async with asyncio.timeout(WITHIN), asyncio.TaskGroup() as group:
        async with serving(data, "--port", port) as arena:
            client = Hesitant(arena.url)
            opponent = ["arena-bot", "run", "random", "--url", arena.url, "--game", "nim", "--matches", "2"]
            random = group.create_task(run(*opponent, folder=tmp_path))
            playing = group.create_task(client.play(2))
            await client.asked.wait()
            arena.process.send_signal(number)
            code = await asyncio.to_thread(arena.process.wait, WITHIN)
        assert code == (-9 if number == signal.SIGKILL else 0)
        async with serving(data, "--port", port) as arena:
            client.may.set()
            first, second = await playing
            code, told, _ = await random
    assert "arena: 1 match goes on after a restart\n" in arena.said
    assert (first.match.returns, first.end["reason"], first.match.start["rated"]) == (1, "win", True)
    assert (second.match.returns, second.end["reason"]) == (0, "win")
    ids = [first.match.id, second.match.id]
    assert code == 0
    assert re.findall(r"^random: (?:won|lost) (\S+) against .* rating .* -> ", told, re.M) == ids
    stored = json.loads(call("arena", "matches", "--data", str(data), "--json").out)
    assert [(match["match"], match["rated"]) for match in reversed(stored)] == [(match, True) for match in ids]
    assert list((data / "journal").iterdir()) == []
    assert call("arena", "db", "check", "--data", str(data)).code == 0

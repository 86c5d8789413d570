"""The client over a real socket, against an arena that plays by a script."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import re
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from bots.client.bot import Bot, Turn
from bots.client.run import Client
from bots.client.settings import Settings
from conftest import free_port
from machine.client.connection import NodeConnection
from machine.client.timeouts import ClientTimeouts
from patience import PATIENT_CLIENT
from protocol.messages import Hello, Move, Ready, Resign, Seek
from timeouts import WITHIN
from turns import Chooses, First

Begin = Callable[..., "asyncio.Task[int]"]


@pytest.fixture
async def begin(peer: Any) -> AsyncIterator[Begin]:
    tasks = []

    def start(bot: Bot | None = None, timeouts: ClientTimeouts = PATIENT_CLIENT, **settings: Any) -> asyncio.Task[int]:
        given = Settings(**{"url": peer.url, "game": "nim", **settings})
        client = Client(bot or First("mine"), given, "t" * 20, timeouts=timeouts)
        tasks.append(asyncio.create_task(client.play()))
        return tasks[-1]

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def interruptible() -> None:
    """In the child: Ctrl-C works even if it does not where the tests run."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


async def seated(peer: Any, script: Any) -> Any:
    """A connection on which the bot has been told that it is its turn in m-1."""
    line = await peer.line()
    await line.expect(Hello)
    await line.say(script.welcome())
    seek = await line.expect(Seek)
    await line.say(script.start(seek=seek.id))
    await line.expect(Ready)
    await line.say(script.turn())
    return line


async def test_a_bot_plays_a_match_and_leaves(peer: Any, script: Any, begin: Begin, capsys: Any) -> None:
    playing = begin(matches=1)
    line = await seated(peer, script)
    assert line.connection.subprotocol == "arena.v1.msgpack"
    assert (await line.expect(Move)).move == {"heap": 0, "take": 1}
    await line.say(script.end())
    assert await asyncio.wait_for(playing, WITHIN) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        f"mine: connected to {peer.url}",
        "mine: won m-1 against random, rating 25.0 ± 25.0 -> 29.4 ± 21.5",
    ]
    assert err == ""


async def test_pings_and_other_matches_are_served_while_a_choice_takes_its_time(
    peer: Any, script: Any, begin: Begin
) -> None:
    may_answer = threading.Event()

    def choose(turn: Turn) -> Any:
        if turn.match == "m-1":
            assert may_answer.wait(WITHIN)
        return turn.legal[0]

    begin(Chooses(choose), slots=2)
    line = await peer.line()
    await line.expect(Hello)
    await line.say(script.welcome())
    for match in ("m-1", "m-2"):
        seek = await line.expect(Seek)
        await line.say(script.start(match, seek=seek.id), script.turn(match))
    for _ in range(2):
        await line.expect(Ready)
    assert (await line.expect(Move)).match == "m-2"
    await asyncio.wait_for(await line.connection.ping(), WITHIN)
    may_answer.set()
    assert (await line.expect(Move)).match == "m-1"


async def test_a_bot_comes_back_with_its_token_and_answers_the_turn_it_is_told_again(
    peer: Any, script: Any, begin: Begin, capsys: Any
) -> None:
    begin()
    line = await seated(peer, script)
    move = await line.expect(Move)
    line.cut()
    line = await peer.line()
    assert (await line.expect(Hello)).token == "t" * 20
    await line.say(script.welcome("m-1"), script.start(resumed=True), script.turn())
    assert await line.expect(Move) == move
    assert f"the connection to {peer.url} ended (1006); trying again" in capsys.readouterr().err


async def test_a_superseded_bot_stops(peer: Any, script: Any, begin: Begin, capsys: Any) -> None:
    playing = begin()
    line = await peer.line()
    await line.expect(Hello)
    await line.close(4003)
    assert await asyncio.wait_for(playing, WITHIN) == 1
    assert capsys.readouterr().err == "mine: a newer connection of this bot took over; this one stops\n"


async def test_a_bot_of_a_tournament_ends_when_the_arena_goes_away(
    peer: Any, script: Any, begin: Begin, capsys: Any
) -> None:
    playing = begin(assigned=True, slots=4)
    line = await peer.line()
    assert (await line.expect(Hello)).slots == 4
    await line.say(script.welcome(), script.start())
    await line.expect(Ready)
    await line.close(1001)
    assert await asyncio.wait_for(playing, WITHIN) == 0
    assert capsys.readouterr() == ("", "")


async def test_a_bot_waits_for_an_arena_that_is_not_there_yet(
    begin: Begin, listen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    said: asyncio.Queue[str] = asyncio.Queue()
    monkeypatch.setattr("sys.stderr", io.StringIO())
    monkeypatch.setattr("sys.stderr.write", said.put_nowait, raising=False)
    begin(url=f"ws://127.0.0.1:{port}")
    line = await asyncio.wait_for(said.get(), WITHIN)
    assert line == f"mine: no arena answers at ws://127.0.0.1:{port}: connection refused; trying again\n"
    async with listen(port) as late:
        line = await late.line()
        assert (await line.expect(Hello)).bot == "mine"


async def test_patience_ends_where_no_arena_answers(begin: Begin, capsys: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        url = f"ws://127.0.0.1:{taken.getsockname()[1]}"
        assert await asyncio.wait_for(begin(url=url, patience=0.01), WITHIN) == 1
    assert "gave up after 0.01 s" in capsys.readouterr().err


async def test_a_bot_that_is_ended_while_a_connection_winds_up_does_not_come_back(
    peer: Any, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    winds_up, go_on = asyncio.Event(), asyncio.Event()

    async def write(of: NodeConnection, connection: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            winds_up.set()
            await go_on.wait()

    monkeypatch.setattr(NodeConnection, "_write", write)
    playing = begin()
    line = await peer.line()
    await line.connection.close()
    await asyncio.wait_for(winds_up.wait(), WITHIN)
    playing.cancel()
    asyncio.get_running_loop().call_soon(go_on.set)
    done, _ = await asyncio.wait([playing], timeout=WITHIN)
    assert done
    assert playing.cancelled()


async def test_an_arena_that_refuses_the_handshake_is_quoted(begin: Begin, capsys: Any) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 14\r\n\r\nspeak arena.v1")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        assert await asyncio.wait_for(begin(url=url), WITHIN) == 1
    assert capsys.readouterr().err == f"mine: {url} answered HTTP 400: speak arena.v1\n"


async def test_a_frame_that_is_no_message_is_told_and_passed_over(
    peer: Any, script: Any, begin: Begin, capsys: Any
) -> None:
    begin()
    line = await peer.line()
    await line.expect(Hello)
    await line.connection.send(b"\xc1")
    await line.say(script.welcome())
    await line.expect(Seek)
    assert "mine: bad message from the arena: not msgpack" in capsys.readouterr().err


async def test_a_failing_bot_tells_the_arena_and_its_author_where_it_failed(
    peer: Any, script: Any, begin: Begin, capsys: Any
) -> None:
    begin(Chooses(lambda turn: 1 / 0))
    line = await seated(peer, script)
    failure = (await line.expect(Resign)).failure
    assert failure.startswith("raised ZeroDivisionError: division by zero, in test_client.py line ")
    assert "ZeroDivisionError: division by zero" in capsys.readouterr().err


async def test_of_a_choice_that_takes_long_the_author_is_told_the_line(
    peer: Any, script: Any, begin: Begin, capsys: Any
) -> None:
    may_answer = threading.Event()

    class Slow(Bot):
        def choose(self, turn: Turn) -> Any:
            may_answer.wait(WITHIN)
            return turn.legal[0]

    timeouts = dataclasses.replace(PATIENT_CLIENT, long_choice_delay_s=0.1, work_check_interval_s=0.01)
    begin(Slow("mine"), timeouts=timeouts)
    line = await seated(peer, script)
    said = ""
    async with asyncio.timeout(WITHIN):
        while said.count("\n") < 2:
            await asyncio.sleep(0.01)
            said += capsys.readouterr().err
    may_answer.set()
    await line.expect(Move)
    number = Slow.choose.__code__.co_firstlineno
    told = rf"mine: choose is still running at ply 0 of m-1, test_client\.py line ({number}|{number + 1}); \d+ s left"
    assert all(re.fullmatch(told, one) for one in said.splitlines()), said


async def test_ctrl_c_in_mid_match_says_how_long_one_can_come_back(peer: Any, script: Any, tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "docs" / "examples" / "mine.py"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(example), "--url", peer.url, "--token", "t" * 20, "--game", "nim"),
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        preexec_fn=interruptible,
    )
    try:
        line = await peer.line()
        await line.expect(Hello)
        await line.say(script.welcome())
        await line.expect(Seek)
        await line.say(script.start(away_ms=60_000))
        await line.expect(Ready)
        process.send_signal(signal.SIGINT)
        _, err = await asyncio.wait_for(process.communicate(), WITHIN)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 130
    assert err.decode() == "mine: 1 match unfinished: restart the bot within 60 s to resume it\n"

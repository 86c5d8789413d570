"""A server that comes back with matches in its journal, and bots that come back to matches."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena.host import host
from arena.host.runner import MatchRunner
from databases import EVERY_DATABASE
from protocol.close_codes import RESTARTING
from referee.effects import Resignation
from referee.match import Match
from timeouts import WITHIN

pytestmark = EVERY_DATABASE


class Held:
    """Restoring that waits to be let go on."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._restored = host.recover_matches
        self._go_on = asyncio.Event()
        patch.setattr(host, "recover_matches", self)

    async def __call__(self, *arguments: Any) -> Any:
        await self._go_on.wait()
        return await self._restored(*arguments)

    def go_on(self) -> None:
        self._go_on.set()


async def test_a_bot_that_is_back_before_its_match_is_told_of_it(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    served = await serve()
    _, _, start = await served.begun()
    await served.stop()
    held = Held(monkeypatch)
    await served.begin()
    ann = await served.connect()
    await ann.send(type="hello", bot="ann", token=f"{'ann':*>16}")
    await (await ann.wire.ping())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await ann.wire.recv()
    held.go_on()
    assert (await ann.expect("welcome"))["resumed"] == [start["match"]]
    assert (await ann.expect("start"))["resumed"]
    bob = await served.enter("bob")
    assert bob.passed[-1]["resumed"] == [start["match"]]


async def test_a_connection_that_went_away_while_it_waited_replaces_nobody(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = await serve()
    await served.stop()
    held = Held(monkeypatch)
    await served.begin()
    first, second = await served.connect(), await served.connect()
    for client in (first, second):
        await client.send(type="hello", bot="ann", token=f"{'ann':*>16}")
        await (await client.wire.ping())
    second.wire.transport.abort()
    async with asyncio.timeout(WITHIN):
        while sum(not connection.is_gone for connection in served.arena.host.listener.connections) > 1:  # noqa: ASYNC110
            await asyncio.sleep(0)
    held.go_on()
    await first.expect("welcome")
    await served.restoring
    await first.send(type="unseek", id="none")
    await first.expect("unseeked")


async def test_a_server_that_is_stopped_while_it_restores_leaves_the_journal(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = await serve()
    _, _, start = await served.begun()
    await served.stop()
    with monkeypatch.context() as patch:
        Held(patch)
        await served.begin()
        ann = await served.connect()
        await ann.send(type="hello", bot="ann", token=f"{'ann':*>16}")
        await served.stop()
        assert await ann.closed() == RESTARTING
    await served.start()
    ann = await served.enter("ann")
    assert ann.passed[-1]["resumed"] == [start["match"]]


async def test_matches_are_refereed_again_beside_the_loop(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    served = await serve()
    await served.begun()
    recall = Match.load_journal
    threads = []

    def noting(self: Match, lines: Any) -> Any:
        threads.append(threading.current_thread())
        return recall(self, lines)

    monkeypatch.setattr(Match, "load_journal", noting)
    await served.restart()
    assert threads
    assert threading.main_thread() not in threads


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (b"", "match m-1 never began: its journal ends before the header, and is removed"),
        (b'{"type":"secret","se', "match m-1 never began: its journal ends before the header, and is removed"),
        (
            b'{"type":"void"}\n',
            "match m-1 can't be resumed, and its journal stays unchanged: it does not begin with a secret",
        ),
        (b"\0\0\0\0\n", "match m-1 can't be resumed, and its journal stays unchanged: "),
    ],
)
async def test_a_damaged_journal_is_told_of_and_removed_only_where_nobody_was_told_of_its_match(
    serve: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, lines: bytes, said: str
) -> None:
    path = tmp_path / "data0" / "journal" / "m-1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(lines)
    await serve()
    assert said in caplog.text
    assert path.exists() == ("stays unchanged" in said)


# A bot that comes back


def give_back_through(hook: Callable[[MatchRunner], None], patch: pytest.MonkeyPatch) -> None:
    """Call `hook` before a seat is given back."""
    come_back = MatchRunner.return_seat

    def hooked(self: MatchRunner, seat: int, peer: Any, *, follow: bool) -> None:
        hook(self)
        come_back(self, seat, peer, follow=follow)

    patch.setattr(MatchRunner, "return_seat", hooked)


async def test_a_bot_has_its_seats_back_one_in_a_turn_of_the_loop(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    served = await serve()
    ann, bob = [await served.enter(bot, slots=8) for bot in ("ann", "bob")]
    for client in (ann, bob):
        for number in range(8):
            await client.send(type="seek", id=str(number), game="nim")
    begun = []
    for _ in range(8):  # all but the first begin when both have come to one
        start = await ann.expect("start")
        begun.append(start["match"])
        for client in (ann, bob):
            await client.ready(start)
    turn, turns = 0, []
    give_back_through(lambda runner: turns.append(turn), monkeypatch)
    again = asyncio.create_task(served.enter("ann", slots=8))
    async with asyncio.timeout(WITHIN):
        while not again.done() or len(turns) < 8:
            turn += 1
            await asyncio.sleep(0)
    ann = again.result()
    assert ann.passed[-1]["resumed"] == begun
    assert [(await ann.expect("start"))["match"] for _ in range(8)] == begun
    assert len(set(turns)) == 8


async def test_a_seat_that_is_out_before_it_is_given_back_is_told_its_end(
    serve: Any, dibs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = await serve()
    clients = [await served.enter(bot, slots=2) for bot in ("ann", "bob", "cid")]
    for client in clients:
        for number in range(2):
            await client.send(type="seek", id=str(number), game="dibs", config={"sticks": [99]})
    starts = []
    for _ in range(2):
        starts.append(await clients[0].expect("start"))
        for client in clients:
            await client.ready(starts[-1])
    for client in clients:
        await client.send(type="unseek", id="none")
        await client.expect("unseeked")

    def resign(runner: MatchRunner) -> None:
        (other,) = (start for start in starts if start["match"] != runner.id)
        served.arena.host.clients.runners[other["match"]].receive(Resignation(other["seat"]))

    give_back_through(resign, monkeypatch)
    ann = await served.enter("ann", slots=2)
    end = await ann.expect("end")
    assert end["seats"][next(s for s in starts if s["match"] == end["match"])["seat"]]["reason"] == "resigned"
    assert [message["match"] for message in ann.passed if message["type"] == "start"][-1] == end["match"]

"""A server that comes back with matches in its journal: it listens at once, and lets bots in when their matches are."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from arena.referee.match import Match
from arena.server import arena
from protocol.close_codes import RESTARTING


class Held:
    """Restoring that waits to be let go on."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._restored = arena.restored
        self._go_on = asyncio.Event()
        patch.setattr(arena, "restored", self)

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
    await second.wire.close()
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
    recall = Match.recall
    threads = []

    def noting(self: Match, lines: Any) -> Any:
        threads.append(threading.current_thread())
        return recall(self, lines)

    monkeypatch.setattr(Match, "recall", noting)
    await served.restart()
    assert threads
    assert threading.main_thread() not in threads


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (b"", "m-1: its journal ends before the header, so nobody was told of it, and is removed"),
        (b'{"type":"secret","se', "m-1: its journal ends before the header, so nobody was told of it, and is removed"),
        (b'{"type":"void"}\n', "match m-1 can't go on, its journal is left as it is: it does not begin with a secret"),
        (b"\0\0\0\0\n", "match m-1 can't go on, its journal is left as it is: "),
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
    assert path.exists() == ("left as it is" in said)

"""`arena watch`: a match that is under way, as lines and on a terminal."""

from __future__ import annotations

import asyncio
import io
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from arena.commands import output
from arena.commands.watch import _url_of, _watch
from arena.operator.client import NoServer
from commands import call
from in_process import hosting
from processes import serving
from protocol.errors import ArenaFault
from timeouts import WITHIN


class Screen(io.StringIO):
    """Standard output, and whether a board was shown on it."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal
        self.shown = asyncio.Event()

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        if "is to move" in text:
            self.shown.set()
        return super().write(text)


def screen(monkeypatch: pytest.MonkeyPatch, *, terminal: bool = False) -> Screen:
    found = Screen(terminal=terminal)
    monkeypatch.setattr(sys, "stdout", found)
    monkeypatch.setattr(output, "screen_size", lambda: (80, 24))
    monkeypatch.setenv("TERM", "xterm")
    return found


async def shown_whole(served: Any, out: Screen, **watched: Any) -> str:
    """The id of a match that was watched from its first move to its end."""
    first, second, start = await served.begun(config={"heaps": [2, 1]})
    match = watched.get("match") or start["match"]
    watching = asyncio.create_task(_watch(f"ws://127.0.0.1:{served.port}", watched.get("match"), follow=False))
    await asyncio.wait_for(out.shown.wait(), WITHIN)
    await asyncio.gather(first.play(), second.play())
    await asyncio.wait_for(watching, WITHIN)
    return str(match)


async def test_the_newest_match_is_told_in_lines_to_its_end(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    out = screen(monkeypatch)
    match = await shown_whole(await serve(), out)
    text = out.getvalue()
    assert text.startswith(f"{match}: nim, unrated, ")
    assert len(re.findall(r"^\d+  (?:ann|bob): ", text, re.MULTILINE)) >= 2
    assert "win after" in text
    assert f"`arena replay show {match} --step` shows it again" in text


async def test_on_a_terminal_every_board_is_drawn_over_the_last(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    out = screen(monkeypatch, terminal=True)
    match = await shown_whole(await serve(), out)
    drawn = out.getvalue().split("\x1b[2J\x1b[H")
    assert len(drawn) >= 3
    assert all("s left:" in board and match in board for board in drawn[1:])


async def test_with_nothing_under_way_it_says_what_it_waits_for(
    serve: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served = await serve()
    watching = asyncio.create_task(_watch(f"ws://127.0.0.1:{served.port}", None, follow=True))
    out = screen(monkeypatch)
    for _ in range(2):  # it goes on with the next match
        out.shown.clear()
        first, second, _ = await served.begun(config={"heaps": [1]})
        await asyncio.wait_for(out.shown.wait(), WITHIN)
        await asyncio.gather(first.play(), second.play())
    assert re.search(r"^waiting for a match to begin; \d bots? online$", capsys.readouterr().err, re.MULTILINE)
    assert not watching.done()
    await served.arena.close()
    with pytest.raises(ArenaFault, match=r"was stopped or restarts|no arena answers"):
        await watching


async def test_it_finds_the_server_of_the_data_folder(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        assert _url_of(tmp_path) == served.url
    with pytest.raises(NoServer, match="no server runs on"):
        _url_of(tmp_path)


@pytest.mark.parametrize(
    ("url", "code", "text"),
    [
        ("ws://127.0.0.1:1", 1, "no arena answers at ws://127.0.0.1:1: connection refused\n"),
        ("nonsense", 2, "is no URL of an arena"),
    ],
)
def test_an_arena_that_is_not_there_is_a_line(url: str, code: int, text: str) -> None:
    done = call("arena", "watch", "--url", url)
    assert (done.code, done.out) == (code, "")
    assert text in done.err


@pytest.mark.parametrize("match", ["ABC", "a b", "a\n", "", "a\udcffb", "x" * 41])
def test_what_is_no_id_of_a_match_is_not_waited_for(match: str) -> None:
    done = call("arena", "watch", match, "--url", "ws://127.0.0.1:1")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "is no id of a match: `arena status` lists those under way" in done.err


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
async def test_the_address_that_a_server_tells_is_one_to_connect_to_also_in_ipv6(tmp_path: Path) -> None:
    async with hosting(tmp_path, "--host", "::1") as served:
        assert re.fullmatch(r"ws://\[::1\]:\d+", served.url)
        async with connect(served.url, subprotocols=[Subprotocol("arena.v1.json")]) as connection:
            assert connection.subprotocol == "arena.v1.json"

"""The house's bots beside a server, as processes: newcomers find an opponent, and nobody is left behind."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import sys
from contextlib import closing
from pathlib import Path

import pytest

from certificates import make
from commands import ends
from in_process import hosting
from process_tree import descendants
from processes import REPOSITORY, run_command, serving
from timeouts import WITHIN, found_in

MINE = """
from bots import Bot, Turn, run

class Mine(Bot):
    def choose(self, turn: Turn):
        return turn.legal[0]

run(Mine("mine"))
"""
CLOSED = ("--registration", "closed")


async def newcomer(url: str, folder: Path) -> str:
    """What a bot of five lines says of its first match."""
    (folder / "mine.py").write_text(MINE)
    command = (sys.executable, str(folder / "mine.py"), "--url", url, "--game", "nim", "--matches", "1")
    return (await run_command(*command, folder=folder, PYTHONPATH=str(REPOSITORY))).output.decode()


async def test_systemd_is_told_when_the_server_is_ready_how_it_is_and_that_it_stops(
    tmp_path: Path, socket_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as systemd:
        systemd.settimeout(WITHIN)
        systemd.bind(str(socket_folder / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(socket_folder / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "60000000")
        async with hosting(tmp_path / "data"):
            told = [await asyncio.to_thread(systemd.recv, 1000) for _ in range(2)]
        assert told == [b"READY=1", b"WATCHDOG=1\nSTATUS=0 bots online, 0 matches under way"]
        assert systemd.recv(1000) == b"STOPPING=1"


def bot_processes(server: int) -> list[int]:
    """Those that play, whatever stands between."""
    found = []
    for pid in descendants(server):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if words[2:5] == [b"-m", b"bots", b"run"]:
            found.append(pid)
    return found


async def connected(data: Path, name: str, times: int = 1) -> list[str]:
    """What a bot of the house said of its connections, once it has come in so often."""
    log = data / "house" / f"{name}.log"
    log.parent.mkdir(exist_ok=True)

    def look() -> list[str] | None:
        lines = log.read_text().splitlines() if log.exists() else []
        found = [line for line in lines if "connected to" in line]
        return found if len(found) >= times else None

    return await asyncio.to_thread(found_in, log.parent, look)


async def test_a_newcomer_of_five_lines_finds_an_opponent(tmp_path: Path) -> None:
    async with serving(tmp_path, "--builtin-bots", "random") as served:
        said = await newcomer(served.url, tmp_path)
        assert re.search(r"mine: (won|lost) \S+ against random, rating", said), said
        left = descendants(served.process.pid)
    assert served.process.returncode == 0
    assert all(ends(pid) for pid in left)
    assert not [line for line in served.said if "the built-in bot" in line], served.said


@pytest.mark.ci
async def test_a_bot_of_the_house_that_ends_is_started_again(tmp_path: Path) -> None:
    async with serving(tmp_path, "--builtin-bots", "random") as served:
        await connected(tmp_path, "random")
        (playing,) = bot_processes(served.process.pid)
        os.kill(playing, signal.SIGKILL)
        assert await served.says("the built-in bot random was killed by signal 9;")
        assert await connected(tmp_path, "random", times=2)
        (again,) = bot_processes(served.process.pid)
        assert again != playing


async def test_the_house_plays_encrypted_where_registration_is_closed_and_ends_with_a_server_that_is_killed(
    tmp_path: Path,
) -> None:
    pair = make(tmp_path, "localhost")
    encrypted = ("--tls-cert", str(pair.certificate), "--tls-key", str(pair.key))
    async with serving(tmp_path, "--builtin-bots", "random,greedy", *CLOSED, *encrypted) as served:
        await connected(tmp_path, "random")
        await connected(tmp_path, "greedy")
        left = descendants(served.process.pid)
        assert len(left) == 4
        served.process.kill()
        for pid in left:
            assert await asyncio.to_thread(ends, pid)


async def test_a_demo_says_where_to_look(tmp_path: Path) -> None:
    async with hosting(tmp_path, "--demo", "--port", "0", "--web-port", "0") as served:
        assert await served.says(f"open {await served.page()} in a browser")


@pytest.mark.nightly
async def test_a_demo_has_matches_going_on_and_says_where_to_look(tmp_path: Path) -> None:
    async with serving(tmp_path, "--demo", "--web-port", "0") as served:
        url = await served.page()
        assert await served.says(f"open {url} in a browser")
        journal = tmp_path / "journal"
        journal.mkdir(exist_ok=True)
        assert await asyncio.to_thread(found_in, journal, lambda: next(journal.glob("*.jsonl"), None))

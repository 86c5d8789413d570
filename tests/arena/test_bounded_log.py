"""The log of a bot of the house: never larger than it may be, whatever the bot writes, and without the server."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from arena.processes import bounded_log
from arena.processes.bounded_log import BoundedLog
from arena.processes.launch_spec import LaunchSpec, allowed_environment
from arena.processes.process import BotProcess
from timeouts import WITHIN


def logged(path: Path, most: int, *parts: bytes) -> int:
    """Have these parts written, one after the other; how many bytes were taken."""
    log = BoundedLog(path, most)
    writer = os.dup(log.pipe)
    log.start()
    taken = sum(os.write(writer, part) for part in parts)
    os.close(writer)
    log.wait_until_written()
    return taken


def test_a_log_that_is_full_is_begun_anew_and_the_one_before_it_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_log, "MIN_ROTATION_INTERVAL_S", 0.0)
    file = tmp_path / "my.bot.log"
    file.write_bytes(b"earlier")
    logged(file, 10, b"012", b"3456789", b"abc" * 7, b"!")
    written = b"earlier0123456789" + b"abc" * 7 + b"!"
    assert (file.read_bytes(), (tmp_path / "my.bot.log.1").read_bytes()) == (written[30:], written[20:30])
    assert len(list(tmp_path.iterdir())) == 2


def test_who_writes_more_than_a_log_in_a_moment_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(bounded_log, "time", SimpleNamespace(sleep=waits.append, monotonic=lambda: 100.0))
    logged(tmp_path / "log", 10, b"x" * 35)
    assert waits == [0.0, bounded_log.MIN_ROTATION_INTERVAL_S, bounded_log.MIN_ROTATION_INTERVAL_S]


def test_what_can_not_be_written_holds_nobody_up(tmp_path: Path) -> None:
    assert logged(tmp_path / "no folder" / "log", 10, *[b"x" * 65536] * 8) == 8 * 65536
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", [0, 3])
async def test_the_last_words_of_a_bot_that_wrote_much_are_told(tmp_path: Path, code: int) -> None:
    crashes: asyncio.Queue[str] = asyncio.Queue()
    program = f"print('x' * 120, flush=True); print('the last', flush=True); raise SystemExit({code})"
    command, environment = (sys.executable, "-c", program), allowed_environment(os.environ)
    order = LaunchSpec(command=command, environment=environment, token="t" * 64, largest_log=100)
    log = tmp_path / "mine.log"
    log.write_bytes(b"y" * 90)
    bot = BotProcess("mine", order, log, lambda bot, crash: crashes.put_nowait(str(crash)))
    await bot.start()
    assert (await asyncio.wait_for(crashes.get(), WITHIN)).endswith("\n  the last")
    assert max(entry.stat().st_size for entry in os.scandir(tmp_path)) <= 100

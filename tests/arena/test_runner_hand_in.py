"""A runner hands in the logs that the clients of its bots leave."""

from __future__ import annotations

import logging
import os
import time
import zlib
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from arena.hosting.uploads import Uploads
from arena.operations.bot_files import unpack_log
from arena.operator.bot_files import StoreMatchLog, UploadFilePart
from arena.operator.client import NoServerAnswer
from arena.runner.hand_in import folder_of_version, hand_in_logs, remove_old_logs
from protocol.errors import ArenaFault, UsageFault
from protocol.match_logs import DEFAULT_STATE_BYTES, MatchLog


def leave(folder: Path, bot: str, number: int, match: str, text: str = "said") -> Path:
    return leave_bytes(folder, bot, number, match, msgspec.json.encode(MatchLog(match=match, text=text)))


def leave_bytes(folder: Path, bot: str, number: int, match: str, content: bytes) -> Path:
    place = folder_of_version(folder, bot, number)
    place.mkdir(parents=True, exist_ok=True)
    file = place / f"{match}.json"
    file.write_bytes(content)
    return file


class Arena:
    """An arena that notes the logs that it gets."""

    def __init__(self) -> None:
        self.logs: list[tuple[str, int, MatchLog]] = []
        self.fault: Exception | None = None
        self._uploads = Uploads("file", DEFAULT_STATE_BYTES, 1)

    async def ask(self, request: Any, kind: type[Any]) -> None:
        if self.fault:
            raise self.fault
        if isinstance(request, UploadFilePart):
            msgspec.convert(msgspec.to_builtins(request), UploadFilePart)  # it keeps the limits
            self._uploads.add(request.upload, request.data)
        else:
            assert isinstance(request, StoreMatchLog)
            log = unpack_log(self._uploads.take(request.upload))
            self.logs.append((request.bot, request.number, log))


async def test_logs_are_handed_in_once_each_with_its_bot_and_version(tmp_path: Path) -> None:
    arena, noise = Arena(), Random(1).randbytes(40_000).hex()
    leave(tmp_path, "Ann.v2", 3, "m-1")
    leave(tmp_path, "bob", 12, "m-2", noise)
    leave_bytes(tmp_path, "bob", 12, "m-3", b"in progress").rename(folder_of_version(tmp_path, "bob", 12) / "m-3.open")
    for _ in range(2):
        await hand_in_logs(tmp_path, arena.ask)
    assert sorted((bot, number, log.match, log.text) for bot, number, log in arena.logs) == [
        ("ann.v2", 3, "m-1", "said"),
        ("bob", 12, "m-2", noise),
    ]


async def test_logs_wait_for_an_arena_that_is_away_or_full_and_go_if_it_refuses_them(tmp_path: Path) -> None:
    arena, file = Arena(), leave(tmp_path, "ann", 1, "m-1")
    arena.fault = NoServerAnswer("the connection was lost")
    with pytest.raises(NoServerAnswer):
        await hand_in_logs(tmp_path, arena.ask)
    arena.fault = ArenaFault("database or disk is full")
    assert await hand_in_logs(tmp_path, arena.ask) is arena.fault
    assert file.exists()
    arena.fault = UsageFault("no")
    assert await hand_in_logs(tmp_path, arena.ask) is None
    assert not file.exists()


async def test_a_file_that_is_no_log_is_removed_and_holds_up_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    arena = Arena()
    bad = [leave_bytes(tmp_path, "ann", 1, f"m-{number}", data) for number, data in enumerate((b"{", b" " * 2_000_000))]
    leave(tmp_path, "ann", 1, "m-3")
    with caplog.at_level(logging.WARNING):
        await hand_in_logs(tmp_path, arena.ask)
    assert [log.match for _, _, log in arena.logs] == ["m-3"]
    assert not any(file.exists() for file in bad)
    assert caplog.text.count("can't be read") == 2


def test_the_log_of_a_client_goes_a_week_after_its_last_line_unless_the_bot_runs(tmp_path: Path) -> None:
    week_ago = time.time() - 7 * 24 * 3600
    for name, age in (("gone.log", 1), ("gone.log.1", 1), ("v1.log.log", 1), ("Ann.log", 1), ("new.log", -1)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, times=(week_ago - age * 60,) * 2)
    remove_old_logs(tmp_path, lambda bot: bot == "ann")
    assert sorted(os.listdir(tmp_path)) == ["Ann.log", "new.log"]


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (b"not packed", "can't be read"),
        (zlib.compress(b"{}"), "can't be read"),
        (zlib.compress(b" " * 3_000_000), "is not whole, or too large"),
        (zlib.compress(b"[]")[:-4], "is not whole, or too large"),
    ],
)
def test_an_arena_takes_no_log_that_is_damaged_or_too_large(packed: bytes, why: str) -> None:
    with pytest.raises(UsageFault, match=why):
        unpack_log(packed)

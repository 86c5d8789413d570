"""A runner hands in the logs that the clients of its bots leave."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec
import pytest

from arena.operator.client import NoServerAnswer
from arena.operator.hosting import ReportMatchLog
from arena.runner.hand_in import folder_of_version, hand_in_present_logs
from protocol.errors import UsageFault
from protocol.match_logs import MatchLog


def leave(folder: Path, bot: str, number: int, match: str, content: bytes | None = None) -> Path:
    place = folder_of_version(folder, bot, number)
    place.mkdir(parents=True, exist_ok=True)
    file = place / f"{match}.json"
    file.write_bytes(content or msgspec.json.encode(MatchLog(match=match, text="said")))
    return file


async def test_logs_are_handed_in_once_each_with_its_bot_and_version(tmp_path: Path) -> None:
    told: list[ReportMatchLog] = []

    async def ask(report: ReportMatchLog) -> None:
        told.append(report)

    leave(tmp_path, "Ann.v2", 3, "m-1")
    leave(tmp_path, "bob", 12, "m-2")
    (folder_of_version(tmp_path, "bob", 12) / "m-3.open").write_bytes(b"in progress")
    for _ in range(2):
        await hand_in_present_logs(tmp_path, ask)
    found = sorted((report.bot, report.number, report.log.match, report.log.text) for report in told)
    assert found == [("ann.v2", 3, "m-1", "said"), ("bob", 12, "m-2", "said")]


async def test_logs_wait_for_an_arena_that_is_away_and_go_if_it_refuses_them(tmp_path: Path) -> None:
    file = leave(tmp_path, "ann", 1, "m-1")

    async def be_away(report: ReportMatchLog) -> None:
        raise NoServerAnswer("the connection was lost")

    async def refuse(report: ReportMatchLog) -> None:
        raise UsageFault("no")

    with pytest.raises(NoServerAnswer):
        await hand_in_present_logs(tmp_path, be_away)
    assert file.exists()
    await hand_in_present_logs(tmp_path, refuse)
    assert not file.exists()


async def test_a_file_that_is_no_log_is_removed_and_holds_up_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []

    async def ask(report: ReportMatchLog) -> None:
        told.append(report.log.match)

    bad = [leave(tmp_path, "ann", 1, "m-1", b"{"), leave(tmp_path, "ann", 1, "m-2", b" " * 2_000_000)]
    leave(tmp_path, "ann", 1, "m-3")
    with caplog.at_level(logging.WARNING):
        await hand_in_present_logs(tmp_path, ask)
    assert told == ["m-3"]
    assert not any(file.exists() for file in bad)
    assert caplog.text.count("can't be read") == 2

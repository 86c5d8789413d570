"""`arena pairing`, and the pairing log of a server that can't be written any more."""

from __future__ import annotations

import errno
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from arena.commands.pairing import FORMER_LOG_NAME, LOG_NAME, open_log
from arena.lobby.events import BotJoined, BotLoaded, LobbyEvent, SeekPlaced, Tick
from arena.lobby.log import LobbyLogEntry, encode_line
from arena.lobby.policy import LobbyPolicy
from arena.server import lobby_runner
from commands import call
from protocol.messages import Seek

POLICY = LobbyPolicy(rated_per_pair=1)
EVENTS: list[tuple[float, LobbyEvent]] = [
    (0.0, BotJoined("Ann", 2, "here")),
    (0.0, BotLoaded("ann", {})),
    (1.0, SeekPlaced("ann", Seek(id="s", game="nim"))),
    (1.1, Tick("m1")),
    (2.5, Tick("m2")),
    (60.0, BotJoined("bob", 2, "there")),
    (60.0, BotLoaded("bob", {})),
    (61.0, SeekPlaced("bob", Seek(id="s", game="nim"))),
    (61.1, Tick("m3")),
]


def write_log(folder: Path) -> None:
    with open_log(folder, POLICY, 0.0) as log:
        for now, event in EVENTS:
            log.write(encode_line(LobbyLogEntry(now, 1, event)))


def test_it_says_when_a_bot_was_paired_and_each_new_reason_for_which_it_waited(tmp_path: Path) -> None:
    write_log(tmp_path)
    done = call("arena", "pairing", "ANN", "--data", str(tmp_path))
    assert (done.code, done.err) == (0, "")
    assert [line[21:] for line in done.out.splitlines()] == [
        "connected from here, with 2 slots",
        "seeks a match of nim",
        "waits: 1 of 2 bots seek this match and may start it now; open seeks: 0",
        "starts the match m3 of nim: Ann, bob",
    ]


def test_a_new_log_leaves_the_one_before(tmp_path: Path) -> None:
    write_log(tmp_path)
    before = (tmp_path / LOG_NAME).read_bytes()
    open_log(tmp_path, POLICY, 0.0).close()
    assert (tmp_path / FORMER_LOG_NAME).read_bytes() == before


@pytest.mark.parametrize(
    ("content", "bot", "text"),
    [
        (None, "ann", "can't be read (arena serve --pairing-log writes one)"),
        (b"", "ann", "is no pairing log: arena serve --pairing-log writes one"),
        (b"{}\n", "ann", "is no pairing log: arena serve --pairing-log writes one"),
        ((b'"sources":"', b'"sources":"0'), "ann", "was written by another version of bot-arena"),
        ((b"m3", b'm3"'), "zoe", "ends with a line that can't be read"),
        ((b"", b""), "zoe", "does not mention zoe"),
    ],
)
def test_what_a_log_can_t_tell_is_said_in_a_line(tmp_path: Path, content: Any, bot: str, text: str) -> None:
    file = tmp_path / "a.log"
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content is not None:
        write_log(tmp_path)
        file.write_bytes((tmp_path / LOG_NAME).read_bytes().replace(*content))
    done = call("arena", "pairing", bot, "--log", str(file))
    assert done.code in (1, 2)
    assert done.out == ""
    assert text in done.err
    assert done.err.count("\n") == 1


FULL_DISK = Mock(write=Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))


async def test_a_server_whose_log_can_t_be_written_pairs_on(serve: Any, caplog: pytest.LogCaptureFixture) -> None:
    served = await serve(lobby_log=FULL_DISK)
    await served.begun()
    assert "the pairing log can't be written, and ends here: No space left on device" in caplog.text


async def test_a_log_ends_at_its_limit(
    serve: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(lobby_runner, "MAX_LOG_BYTES", 10)
    await (await serve(lobby_log=FULL_DISK)).begun()
    assert "the pairing log is full" in caplog.text


def test_the_times_of_a_log_are_those_of_its_start(tmp_path: Path) -> None:
    write_log(tmp_path)
    first, *_, last = call("arena", "pairing", "ann", "--data", str(tmp_path)).out.splitlines()
    begun, paired = (datetime.fromisoformat(line[:19]) for line in (first, last))
    assert (paired - begun).total_seconds() in (61, 62)

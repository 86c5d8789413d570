"""The log that a client keeps of what its program writes in a match."""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from bots.client.bot import ProgramFailed, Turn
from bots.commands import match_logs, piped_bot
from bots.commands.match_logs import MatchLogFolder, OutputLog
from bots.commands.piped_bot import PipedBot
from bots.commands.piped_program import PipedProgram
from protocol.games import load_game
from protocol.match_logs import (
    DEFAULT_STATE_BYTES,
    LOG_HALF_BYTES,
    MAX_FAULTS,
    MAX_LOG_CHARS,
    STATE_FILE,
    STATE_MARK,
    MatchLog,
)
from timeouts import WITHIN
from turns import turn as turn_of

RULES = load_game("nim")
ANSWER = """echo '{"heap":0,"take":1}'"""
Play = Callable[[str], MatchLog]


def turn(ply: int, match: str = "m-1") -> Turn:
    position = RULES.decode_state({"heaps": (3, 5, 7), "ply": ply, "to_move": 0})
    return turn_of(RULES, position, match=match, received=time.monotonic())


@pytest.fixture
def play(tmp_path: Path, script: Any, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Have a shell's program play the plies 0 and 2 of a match, and return its log."""

    monkeypatch.chdir(tmp_path)

    def play(program: str) -> MatchLog:
        bot = PipedBot("mine", ["sh", "-c", program], match_logs=MatchLogFolder(tmp_path / "logs"))
        bot.start()
        try:
            bot.prepare(script.start())
            for ply in (0, 2):
                bot.choose(turn(ply))
        except ProgramFailed:
            pass
        finally:
            bot.ended(script.end())
            bot.close()
        (file,) = (tmp_path / "logs").iterdir()
        return msgspec.json.decode(file.read_bytes(), type=MatchLog)

    return play


def test_a_log_has_what_the_program_wrote_between_its_moves(play: Play) -> None:
    log = play(f"echo begins >&2; while read -r l; do case $l in *legal*) echo thinks >&2; {ANSWER};; esac; done")
    assert (log.match, log.text, log.faults) == ("m-1", "begins\nthinks\nthinks\n", ())


@pytest.mark.usefixtures("patient")
def test_a_bot_that_is_closed_before_it_dealt_with_the_end_of_its_match_leaves_the_log(
    tmp_path: Path, script: Any
) -> None:
    program = f"while read -r l; do case $l in *legal*) echo thinks >&2; {ANSWER};; esac; done; echo ends >&2"
    bot = PipedBot("mine", ["sh", "-c", program], match_logs=MatchLogFolder(tmp_path))
    bot.prepare(script.start())
    bot.choose(turn(0))
    bot.close()
    (file,) = tmp_path.iterdir()
    assert (file.name, msgspec.json.decode(file.read_bytes(), type=MatchLog).text) == ("m-1.json", "thinks\nends\n")


def test_a_crash_stands_in_the_log_by_its_ply_with_the_last_lines_though_the_match_goes_on(play: Play) -> None:
    first = f"read s; read t; {ANSWER}; read t; echo a >&2; echo b >&2; exit 3"
    log = play(f"if mkdir once 2>/dev/null; then {first}; else read s; read t; {ANSWER}; cat; fi")
    (fault,) = log.faults
    assert (fault.ply, fault.last_lines) == (2, "a\nb")
    assert str(fault) == "at ply 2 its program ended with exit code 3; it is restarted"
    assert log.text == f"a\nb\n[{fault}]\n"


def test_a_line_that_is_no_move_is_a_fault_in_the_log(play: Play) -> None:
    log = play(f"read s; read t; {ANSWER}; read t; echo hello; cat")
    (fault,) = log.faults
    assert fault.ply == 2
    assert "wrote 'hello', which is not a JSON map" in fault.what


def test_what_a_program_writes_unasked_is_in_the_log(tmp_path: Path, script: Any) -> None:
    plays = f"while read -r l; do case $l in *legal*) {ANSWER};; esac; done"
    bot = PipedBot("mine", ["sh", "-c", f"echo unasked; {plays}"], match_logs=MatchLogFolder(tmp_path))
    bot.start()
    try:
        select.select([bot._idle[0]._out], [], [])
        bot.prepare(script.start())
        bot.choose(turn(0))
        text = bot._matches["m-1"].log.to_log("m-1").text
    finally:
        bot.close()
    assert text.startswith("unasked\n[at ply 0 its program wrote 'unasked")


def test_a_program_that_ends_before_the_match_is_a_fault_of_the_match(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = PipedBot.start

    def start_and_wait(bot: PipedBot) -> None:
        started(bot)
        if len(bot._idle) == 1 and not (tmp_path / "waited").exists():
            (tmp_path / "waited").touch()
            bot._idle[0]._process.wait()

    monkeypatch.setattr(PipedBot, "start", start_and_wait)
    plays = f"while read -r l; do case $l in *legal*) {ANSWER};; esac; done"
    log = play(f"if mkdir once 2>/dev/null; then echo early >&2; exit 4; else {plays}; fi")
    assert [str(fault) for fault in log.faults] == [
        "at ply 0 its program ended with exit code 4 before the match; it is restarted"
    ]
    assert log.faults[0].last_lines == "early"


def test_a_log_keeps_the_beginning_and_the_end_of_much_output_and_slows_it_down(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(match_logs, "time", SimpleNamespace(sleep=pauses.append))
    flood = "echo first >&2; head -c 300000 /dev/zero | tr '\\0' 'x' >&2; echo last >&2"
    log = play(f"{flood}; while read -r l; do case $l in *legal*) {ANSWER};; esac; done")
    assert log.text.startswith("first\nxxx")
    assert log.text.endswith("xxxlast\n")
    assert f"[{300_000 + 11 - 2 * LOG_HALF_BYTES} bytes are left out here]" in log.text
    assert len(log.text) < MAX_LOG_CHARS
    assert pauses


def test_the_last_lines_of_a_fault_are_those_since_the_fault_before() -> None:
    log = OutputLog()
    for ply in (1, 3):
        log.add(f"before {ply}\n".encode())
        log.add_fault(ply, "ended with exit code 1")
    assert [fault.last_lines for fault in log.to_log("m-1").faults] == ["before 1", "before 3"]


def test_a_log_lists_a_limited_number_of_faults() -> None:
    log = OutputLog()
    for ply in range(MAX_FAULTS + 5):
        log.add_fault(ply, "ended with exit code 1" * 1000)
    kept = log.to_log("m-1")
    assert len(kept.faults) == MAX_FAULTS
    assert msgspec.json.decode(msgspec.json.encode(kept), type=MatchLog) == kept


def test_a_match_without_output_leaves_no_file(tmp_path: Path) -> None:
    folder = MatchLogFolder(tmp_path)
    folder.write(OutputLog().to_log("m-1"))
    assert not list(tmp_path.iterdir())


def test_the_log_of_a_match_that_a_client_left_open_is_ended_by_the_next_client(tmp_path: Path) -> None:
    log = OutputLog()
    log.add_fault(3, "ended with exit code 1")
    MatchLogFolder(tmp_path).write(log.to_log("m-1"), is_open=True)
    assert [file.name for file in tmp_path.iterdir()] == ["m-1.open"]
    MatchLogFolder(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["m-1.json"]


PLAYS = f"while read -r l; do case $l in *legal*) {ANSWER};; esac; done"
MARK = STATE_MARK.decode().replace("\n", "\\n")


def kept_after(folder: Path, script: Any, program: str, **end: Any) -> tuple[bytes, str]:
    """Have a program play a match to its `end`, and return what it keeps and its log."""
    bot = PipedBot(
        "mine", ["sh", "-c", program], match_logs=MatchLogFolder(folder), max_state_bytes=DEFAULT_STATE_BYTES
    )
    bot.start()
    try:
        bot.prepare(script.start())
        bot.choose(turn(0))
        log = bot._matches["m-1"].log
        bot.ended(replace(script.end(), **end))
    finally:
        bot.close()
    state = folder / STATE_FILE
    return state.read_bytes() if state.exists() else b"", log.to_log("m-1").text


def test_what_follows_the_output_of_a_program_is_kept_for_the_next_one(tmp_path: Path, script: Any) -> None:
    program = f"{PLAYS}; echo bye; printf -- '{MARK}'; printf %100000d 7"
    state, log = kept_after(tmp_path, script, program)
    assert (len(state), state[-1:], log) == (100_000, b"7", "")
    assert (tmp_path / STATE_FILE).stat().st_mode & 0o777 == 0o644


def test_a_void_match_keeps_nothing(tmp_path: Path, script: Any) -> None:
    program = f"{PLAYS}; printf -- '{MARK}'; echo 7"
    assert kept_after(tmp_path, script, program, reason="void") == (b"", "")


@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("printf %1200000d 7", "they have more than 1048576 bytes together"),
        ("exec tail -f /dev/null", "it did not exit within 0.2 s of the end of the match"),
        ("exit 3", "it ended with exit code 3"),
    ],
    ids=["too much", "no end", "an error"],
)
def test_a_log_says_why_files_are_not_kept(
    tmp_path: Path, script: Any, monkeypatch: pytest.MonkeyPatch, end: str, why: str
) -> None:
    monkeypatch.setattr(piped_bot, "KEEP_TIMEOUT_S", 0.2 if "tail" in end else WITHIN)
    monkeypatch.setattr(piped_bot, "SHUTDOWN_TIMEOUT_S", 0.0)
    assert kept_after(tmp_path, script, f"{PLAYS}; printf -- '{MARK}'; {end}") == (
        b"",
        f"[its files are not kept: {why}]\n",
    )


def test_files_that_can_not_be_written_cost_neither_the_log_nor_the_next_program(tmp_path: Path, script: Any) -> None:
    (tmp_path / STATE_FILE / "in the way").mkdir(parents=True)
    bot = PipedBot(
        "mine",
        ["sh", "-c", f"{PLAYS}; printf -- '{MARK}'"],
        match_logs=MatchLogFolder(tmp_path),
        max_state_bytes=DEFAULT_STATE_BYTES,
    )
    try:
        bot.prepare(script.start())
        bot.choose(turn(0))
        bot.ended(script.end())
        assert len(bot._idle) == 1
    finally:
        bot.close()
    (log,) = tmp_path.glob("*.json")
    assert "[its files are not kept: they can't be written]" in log.read_text()


@pytest.mark.parametrize("is_asked", [True, False], ids=["in a turn", "between turns"])
def test_a_program_that_keeps_files_and_exits_in_the_match_is_started_again(
    tmp_path: Path, script: Any, is_asked: bool
) -> None:
    first = f"read s; read t; {ANSWER}; {'read t; ' if is_asked else ''}printf -- '{MARK}'; head -c 100000 /dev/zero"
    program = f"if mkdir {tmp_path}/once 2>/dev/null; then {first}; else {PLAYS}; fi"
    bot = PipedBot(
        "mine", ["sh", "-c", program], match_logs=MatchLogFolder(tmp_path), max_state_bytes=DEFAULT_STATE_BYTES
    )
    bot.start()
    try:
        bot.prepare(script.start())
        bot.choose(turn(0))
        if not is_asked:
            select.select([bot._matches["m-1"].program._out], [], [])  # type: ignore[union-attr]
        assert bot.choose(turn(2)).move == {"heap": 0, "take": 1}
        assert bot._matches["m-1"].log.to_log("m-1").text == ""
    finally:
        bot.close()


def test_a_match_that_begins_while_another_ends_finds_the_files_that_this_one_keeps(
    tmp_path: Path, script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / STATE_FILE
    program = f"cat {state} >&2 2>/dev/null; {PLAYS}; printf -- '{MARK}'; echo kept"
    bot = PipedBot(
        "mine", ["sh", "-c", program], match_logs=MatchLogFolder(tmp_path), max_state_bytes=DEFAULT_STATE_BYTES
    )
    read_rest = PipedProgram.read_rest
    begun = threading.Event()

    def begin_another_first(program: PipedProgram, timeout_s: float, max_bytes: int) -> bytes:
        monkeypatch.setattr(PipedProgram, "read_rest", read_rest)
        other.start()
        assert begun.wait(WITHIN)
        return read_rest(program, timeout_s, max_bytes)

    def prepare() -> None:
        begun.set()
        bot.prepare(replace(script.start(), match="m-2"))

    other = threading.Thread(target=prepare)
    monkeypatch.setattr(PipedProgram, "read_rest", begin_another_first)
    bot.start()
    try:
        bot.prepare(script.start())
        bot.choose(turn(0))
        bot.ended(script.end())
        other.join()
        bot.choose(turn(0, "m-2"))
        assert bot._matches["m-2"].log.to_log("m-2").text == "kept\n"
    finally:
        bot.close()

"""Programs in other languages, as processes: what they read and write, and each way in which they fail."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bots.client.bot import Choice, GiveUp, Turn
from bots.commands import piped_bot, piped_program
from bots.commands.piped_bot import PipedBot
from bots.commands.piped_lines import encode_turn, parse_answer
from bots.commands.piped_program import PipedProgram, UnusableAnswer
from commands import ends
from process_tree import descendants
from protocol import messages
from protocol.games import load_game
from protocol.messages import Event
from timeouts import WITHIN
from turns import turn as turn_of

RULES = load_game("nim")
FIRST = {"heap": 0, "take": 1}
ANSWER = """echo '{"heap":0,"take":1}'"""
PLAYS = f"while read -r line; do case $line in *legal*) {ANSWER};; esac; done"


def turn(ply: int = 0, clock: int = 60_000, events: Sequence[Event] = ()) -> Turn:
    position = RULES.decode_state({"heaps": (3, 5, 7), "ply": ply, "to_move": 0})
    return turn_of(RULES, position, bank_ms=clock, received=time.monotonic(), events=events)


@contextmanager
def piped(program: str, start: messages.Start) -> Iterator[PipedBot]:
    """A shell's program as a bot, with a match begun."""
    bot = PipedBot("mine", ["sh", "-c", program])
    bot.start()
    bot.prepare(start)
    try:
        yield bot
    finally:
        bot.close()


def processes_of(bot: PipedBot) -> list[int]:
    """Return the keeper of the only program of a bot, and its descendants."""
    (program,) = [*bot._idle, *(match.program for match in bot._matches.values())]
    assert program is not None
    return [program._process.pid, *descendants(program._process.pid)]


@pytest.fixture
def start(script: Any) -> messages.Start:
    made: messages.Start = script.start()
    return made


def test_a_turn_begins_with_its_type_and_the_legal_moves_and_has_no_line_feed_within() -> None:
    line = encode_turn(turn(ply=2))
    assert line.startswith(b'{"type":"turn","legal":[{"heap":0,"take":1},')
    assert line.index(b"\n") == len(line) - 1
    said = json.loads(line)
    assert list(said) == ["type", "legal", "match", "ply", "to_move", "state", "events", "clock"]
    assert (said["ply"], said["to_move"], said["clock"]) == (2, 0, [60_000, 60_000])
    assert said["state"] == {"heaps": [3, 5, 7], "ply": 2, "to_move": 0}


@pytest.mark.usefixtures("patient")
def test_a_program_reads_the_messages_as_the_arena_sent_them(
    tmp_path: Path, start: messages.Start, script: Any
) -> None:
    heard = tmp_path / "heard"
    with piped(f"tee {heard} | while read -r line; do case $line in *legal*) {ANSWER};; esac; done", start) as bot:
        bot.choose(turn())
        bot.rejected(script.rejected())
        bot.choose(turn(clock=50_000))
        bot.ended(script.end())
    lines = [json.loads(line) for line in heard.read_text().splitlines()]
    assert [line["type"] for line in lines] == ["start", "turn", "rejected", "turn", "end"]
    assert (lines[0]["config"]["heaps"], lines[0]["seat"], lines[0]["clock"]["bank_ms"]) == ([3, 5, 7], 0, 60_000)
    assert (lines[2]["code"], lines[2]["strikes_left"], lines[3]["clock"][0]) == ("illegal_move", 2, 50_000)
    assert (lines[4]["ranks"], lines[4]["reason"]) == ([1, 2], "win")


@pytest.mark.parametrize(
    ("line", "choice"),
    [
        ('{"heap":0,"take":1}', Choice(FIRST)),
        ('\ufeff{"heap":0,"take":1}', Choice(FIRST)),
        ('{"type": "move", "move": {"heap": 0, "take": 1}}', Choice(FIRST)),
        (
            '{"type":"move","match":"m-1","ply":0,"move":{"heap":0,"take":1},"info":{"value":0.5,"note":"sure"}}',
            Choice(FIRST, value=0.5, note="sure"),
        ),
        (" ", None),
        ("\ufeff", None),
    ],
    ids=["as in legal", "after a mark", "a message", "a message with all it may have", "empty", "a mark alone"],
)
def test_a_move_is_a_line_as_in_legal_or_a_message(line: str, choice: Choice | None) -> None:
    assert parse_answer(line.encode(), turn()) == choice


def test_empty_lines_and_byte_order_marks_before_an_answer_are_none_of_it(start: messages.Start) -> None:
    lines = 'printf "\\357\\273\\277\\n \\n\\357\\273\\277"; ' + ANSWER
    with piped(f"read s; read t; {lines}; read t; {lines}; cat >/dev/null", start) as bot:
        assert bot.choose(turn()).move == FIRST
        assert bot.choose(turn(ply=2)).move == FIRST


def test_a_byte_order_mark_that_comes_when_a_program_starts_is_not_worth_a_word(
    start: messages.Start, capfd: pytest.CaptureFixture[str]
) -> None:
    with piped("printf '\\357\\273\\277'; " + PLAYS, start) as bot:
        assert bot.choose(turn()).move == FIRST
    assert "before it was asked" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("info", "left", "says"),
    [
        ('{"nodes":18446744073709551616}', Choice(FIRST, nodes=2**64), ""),
        (f'{{"nodes":{"9" * 5000}}}', Choice(FIRST, nodes=float("inf")), ""),
        (f'{{"value":-{"9" * 5000},"depth":3}}', Choice(FIRST, value=float("-inf"), depth=3), ""),
        ('{"value":1e400}', Choice(FIRST, value=float("inf")), ""),
        ('{"value":-Infinity,"depth":3}', Choice(FIRST, value=float("-inf"), depth=3), ""),
        ('{"depth":-1}', Choice(FIRST, depth=-1), ""),
        ('{"pv":[1,2],"depth":3}', Choice(FIRST, depth=3), "whose info has 'pv': one of value, depth, nodes, note"),
        ("[1]", Choice(FIRST), "whose info is [1], not a map"),
        ("null", Choice(FIRST), ""),
        ('"deep"', Choice(FIRST), "whose info is 'deep', not a map"),
    ],
)
def test_an_info_that_nobody_keeps_leaves_the_move_standing(info: str, left: Choice, says: str) -> None:
    discarded: list[str] = []
    line = f'{{"type":"move","move":{{"heap":0,"take":1}},"info":{info}}}'
    assert parse_answer(line.encode(), turn(), discarded.append) == left
    assert says in " ".join(discarded)


def test_a_program_resigns_and_plays_the_next_match(start: messages.Start, script: Any) -> None:
    resigns = """read s; read t; echo '{"type":"resign"}'; read e; """
    with piped(resigns + PLAYS, start) as bot:
        with pytest.raises(GiveUp, match=r"^$"):
            bot.choose(turn())
        bot.ended(script.end(reason="resigned"))
        bot.prepare(start)
        assert bot.choose(turn()).move == FIRST


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whether a program is ready")
def test_a_bot_with_a_new_program_for_each_match_has_the_next_one_ready_before_it_goes_on(
    start: messages.Start, script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(piped_bot, "READY_TIMEOUT_S", WITHIN)
    ready = tmp_path / "ready"
    begins = f"i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; echo $$ >> {ready}"
    bot = PipedBot("mine", ["sh", "-c", f"{begins}; {PLAYS}"], fresh=True)
    try:
        bot.start()
        assert len(ready.read_text().splitlines()) == 1
        for matches in (1, 2):
            bot.prepare(start)
            bot.choose(turn())
            bot.ended(script.end())
            assert len({*ready.read_text().splitlines()}) == matches + 1
            assert len(bot._idle) == 1
    finally:
        bot.close()


def test_the_program_of_a_match_that_ended_unseen_plays_the_next_one(start: messages.Start) -> None:
    with piped(PLAYS, start) as bot:
        bot.choose(turn())
        bot.missed("m-1")
        family = processes_of(bot)
        bot.prepare(start)
        assert bot.choose(turn()).move == FIRST
        assert processes_of(bot) == family


RIGHT = """a move is a line like {"heap":0,"take":1}; write everything else to standard error"""


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"[0, 1]", f"wrote '[0, 1]', which is not a JSON map: {RIGHT}"),
        (b"\377\033[2J", "wrote '\ufffd\\x1b[2J', which is not a JSON map"),
        (b'{"type":"ready"}', 'wrote \'{"type":"ready"}\', whose type is neither move'),
        (b'{"heap":NaN}', f"wrote '{{\"heap\":NaN}}', which has a number that no move has: {RIGHT}"),
        (
            b'{"heap":%s,"take":1}' % (b"9" * 5000),
            f'wrote \'{{"heap":{"9" * 48}..., which has a number that no move has',
        ),
        (
            b'{"type":"move","move":{"heap":1e400},"info":{"value":NaN}}',
            """wrote '{"type":"move","move":{"heap":1e400},"info":{"value":NaN}}', which has a number that no""",
        ),
        (b'{"type":"move"}', f"wrote a move without a map in the field move: {RIGHT}"),
        (
            b'{"type":"move","ply":"0","move":{"heap":0,"take":1}}',
            "wrote a move for match 'm-1' and ply '0': match is a text and ply a number, as in the turn",
        ),
    ],
)
def test_a_line_that_is_no_answer_is_quoted_with_what_would_be_one(line: bytes, says: str) -> None:
    with pytest.raises(UnusableAnswer) as refused:
        parse_answer(line, turn())
    assert str(refused.value).startswith(says)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("read s; read t; echo thinking...; cat", f"wrote 'thinking...', which is not a JSON map: {RIGHT}"),
        ("exit 3", "ended with exit code 3, also after a restart"),
        ("true", "ended with exit code 0, also after a restart"),
        ("read s; read t; kill -SEGV $$", "was killed by signal 11, also after a restart"),
        (
            "read s; read t; printf '{\"heap\":'; exit 1",
            "ended with exit code 1 in mid-line, after '{\"heap\":', also after a restart",
        ),
        ("read s; read t; tr '\\0' x </dev/zero", "wrote a line of more than 16384 bytes"),
    ],
)
def test_a_program_that_gives_no_answer_resigns_with_a_line_that_says_why(
    start: messages.Start, program: str, says: str
) -> None:
    with piped(program, start) as bot, pytest.raises(GiveUp) as gave_up:
        bot.choose(turn(ply=4))
    assert str(gave_up.value).startswith(f"at ply 4 of m-1 its program {says}")
    assert "\n" not in str(gave_up.value)


LONG = [Event(ply=0, seat=1, move={"note": "x" * 1000})] * 200


@pytest.mark.parametrize(
    ("program", "events", "says"),
    [
        ("cat >/dev/null", (), "wrote no answer (does it flush what it writes?)"),
        ("read s; read t; printf '{\"heap\":0'; cat >/dev/null", (), "wrote '{\"heap\":0' and no line feed"),
        ("tail -f /dev/null", LONG, "does not read its standard input"),
        ("read s; read t; yes ''", (), "wrote no answer (does it flush what it writes?)"),
    ],
)
def test_a_program_without_an_answer_in_its_time_is_ended(
    start: messages.Start, program: str, events: Sequence[Event], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(piped_bot, "CLOCK_GRACE_S", 0.01)
    poll = PipedProgram._poll

    def poll_until_begun(program: PipedProgram, polled: select.poll, deadline: float) -> dict[int, int]:
        """Let the time of a program that writes the beginning of a line pass after that only."""
        has_begun = program._output or not says.startswith("wrote '")
        return poll(program, polled, deadline if has_begun else time.monotonic() + WITHIN)

    monkeypatch.setattr(PipedProgram, "_poll", poll_until_begun)
    start = replace(start, clock=messages.Clock(bank_ms=100, increment_ms=0))
    with piped(program, start) as bot:
        family = processes_of(bot)
        began = time.monotonic()
        with pytest.raises(GiveUp, match=r"^at ply 0 of m-1 its program ") as gave_up:
            bot.choose(turn(clock=100, events=events))
        assert time.monotonic() - began >= 0.1
        assert str(gave_up.value) == f"at ply 0 of m-1 its program {says} until its time was over"
        assert all(ends(pid) for pid in family)


def test_a_program_that_dies_in_a_match_is_started_again_and_goes_on(
    start: messages.Start, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    dies_first = f"read s; read t; test -e {tmp_path}/died || {{ touch {tmp_path}/died; exit 3; }}; {ANSWER}; cat"
    with piped(dies_first, start) as bot:
        assert bot.choose(turn(ply=4)).move == FIRST
    assert capfd.readouterr().err == "mine: at ply 4 of m-1 its program ended with exit code 3; it is restarted\n"


def test_a_program_may_end_after_each_answer(start: messages.Start, capfd: pytest.CaptureFixture[str]) -> None:
    with piped(f"read s; read t; {ANSWER}", start) as bot:
        assert [bot.choose(turn(ply)).move for ply in (0, 2, 4)] == [FIRST] * 3
    assert capfd.readouterr().err == ""


def test_what_a_program_writes_without_being_asked_is_left_out_and_said_once(
    start: messages.Start, capfd: pytest.CaptureFixture[str]
) -> None:
    twice = "while read -r line; do case $line in *legal*) printf '%s\\n' '{\"heap\":0,\"take\":1}' more;; esac; done"
    with piped(twice, start) as bot:
        assert [bot.choose(turn(ply)).move for ply in (0, 2, 4)] == [FIRST] * 3
    assert (
        capfd.readouterr().err
        == "mine: at ply 2 of m-1 its program wrote 'more\\n' before it was asked: it is left out\n"
    )


def test_moves_for_another_turn_are_left_out_and_said_once(
    start: messages.Start, capfd: pytest.CaptureFixture[str]
) -> None:
    late = 'read s; read t; for i in 1 2 3; do echo \'{"type":"move","ply":2,"move":{}}\'; done; ' + ANSWER + "; cat"
    with piped(late, start) as bot:
        assert bot.choose(turn(ply=4)).move == FIRST
    assert capfd.readouterr().err == "mine: at ply 4 of m-1 its program answered ply 2 of m-1: it is left out\n"


def test_what_a_program_writes_to_standard_error_is_shown(
    start: messages.Start, capfd: pytest.CaptureFixture[str]
) -> None:
    with piped(f"read s; read t; echo thinking >&2; {ANSWER}; cat", start) as bot:
        bot.choose(turn())
    assert capfd.readouterr().err == "thinking\n"


@pytest.mark.usefixtures("patient")
def test_a_program_is_told_by_the_end_of_its_input_that_nothing_follows(start: messages.Start, tmp_path: Path) -> None:
    with piped(f"{PLAYS}; echo farewell >{tmp_path}/said", start) as bot:
        bot.choose(turn())
    assert (tmp_path / "said").read_text() == "farewell\n"


def test_a_program_does_not_see_the_token(
    start: messages.Start, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARENA_TOKEN", "secret")
    monkeypatch.setenv("ARENA_TOKEN_FD", "0")
    with piped(f"env | grep ^ARENA_TOKEN >&2; read s; read t; {ANSWER}; cat", start) as bot:
        bot.choose(turn())
    assert capfd.readouterr().err == ""


def test_a_keeper_that_somebody_stopped_does_not_hold_up_the_end(
    start: messages.Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(piped_program, "KILL_TIMEOUT_S", 0.1)
    with piped(PLAYS, start) as bot:
        keeper, *others = processes_of(bot)
        os.kill(keeper, signal.SIGSTOP)
    assert all(ends(pid) for pid in (keeper, *others))


def test_a_program_that_closes_its_output_and_stays_costs_no_more_than_its_time(start: messages.Start) -> None:
    with piped("exec 1>&-; exec sleep 3", start) as bot:
        program = bot._matches[start.match].program
        assert program is not None
        select.select([program._out], [], [])
        program._read()
        with pytest.raises(UnusableAnswer, match="closed its standard output and did not exit"):
            program.read_line(time.monotonic())

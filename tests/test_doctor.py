"""`arena doctor`: good bots pass the course, and what a bad one does is found out."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from arena.doctor.cases import CASES
from arena.doctor.harness import SETTLE_DELAY_S, Harness, OpponentProtocol
from arena.doctor.timeouts import DoctorTimeouts
from arena.doctor.websocket_proxy import FROM_ARENA, RecordedMessage, WebSocketProxy
from commands import FAULTY, REPOSITORY, call, run
from doctor_runs import PATIENT, QUICK, examined, examined_whole, faults
from example_games import EXAMPLES
from protocol.games import remove_game
from virtual_time import advance

MINE = REPOSITORY / "docs" / "examples" / "mine.py"


@pytest.mark.nightly
def test_the_client_library_passes_the_whole_course(tmp_path: Path) -> None:
    codes, cases = examined_whole(tmp_path, sys.executable, "-m", "bots", "run", "random")
    assert (faults(cases), set(codes)) == ({}, {0})


def test_the_bot_of_five_lines_passes(tmp_path: Path) -> None:
    code, cases = examined(tmp_path, sys.executable, str(MINE), only=QUICK)
    assert (faults(cases), code) == ({}, 0)


@pytest.mark.virtual_time
async def test_nobody_waits_for_the_end_of_a_match_that_has_ended_already() -> None:
    timeouts = DoctorTimeouts()
    proxy = WebSocketProxy(0, timeouts)
    proxy.connection = Mock()
    harness = Harness("nim", Mock(), proxy, Mock(), Mock(crash=None, exit_description=None), timeouts)
    harness.opponents.append(Mock(protocol=OpponentProtocol("house-1", "ws://arena", holds_turns=False)))
    harness.opponents[0].protocol.matches.add("m-1")  # it has not heard of the end yet
    proxy.messages.append(RecordedMessage(0.0, 1, FROM_ARENA, {"type": "end", "match": "m-1"}))
    undoing = asyncio.create_task(harness.undo_faults())
    await advance(SETTLE_DELAY_S)
    assert undoing.done()
    harness.opponents[0].protocol.matches.add("m-2")
    undoing = asyncio.create_task(harness.undo_faults())
    await advance(timeouts.settle_timeout_s - 0.1)
    proxy.messages.append(RecordedMessage(0.0, 1, FROM_ARENA, {"type": "end", "match": "m-2"}))
    proxy.wake()
    await advance(SETTLE_DELAY_S)
    assert undoing.done()


def test_a_bot_plays_a_brought_game_of_which_it_has_not_the_rules(tmp_path: Path) -> None:
    try:
        code, cases = examined(
            tmp_path, sys.executable, str(MINE), only=("match", "rejected"), game=str(EXAMPLES / "twentyone.py")
        )
    finally:
        remove_game("twentyone")
    assert (faults(cases), code) == ({}, 0)
    assert "connected to" in (tmp_path / "bot.log").read_text()


def test_a_match_of_three_is_played_too(tmp_path: Path) -> None:
    bot = (sys.executable, str(MINE), "--game", "risk-campaign", "--config", "players=3")
    code, cases = examined(tmp_path, *bot, only=("match", "cut-other"))
    assert (faults(cases), code) == ({}, 0)


@pytest.mark.parametrize(
    ("game", "only"),
    [
        ("dilemma", ("match", "rejected", "cut-turn")),
        pytest.param("dilemma", ("twice", "cut-other", "restart"), marks=pytest.mark.ci),
        pytest.param("kuhn", ("match", "rejected", "cut-turn", "twice", "cut-other", "restart"), marks=pytest.mark.ci),
    ],
)
def test_rounds_and_hands_are_played_too_and_taken_up_half_way(
    tmp_path: Path, game: str, only: tuple[str, ...]
) -> None:
    bot = (sys.executable, str(MINE), "--game", game)
    code, cases = examined(tmp_path, *bot, only=only)
    assert (faults(cases), code) == ({}, 0)


@pytest.mark.ci
def test_a_bot_that_waits_for_matches_is_given_some(tmp_path: Path) -> None:
    timeouts = dataclasses.replace(PATIENT, seek_timeout_s=3.0, next_seek_timeout_s=3.0)
    code, cases = examined(tmp_path, sys.executable, str(FAULTY), "steady", only=("match", "next"), timeouts=timeouts)
    assert (faults(cases), code) == ({}, 0)
    assert cases["next"]["did"].startswith("does not seek")


@pytest.mark.nightly
def test_a_bot_that_forgets_who_it_is_is_found_out(tmp_path: Path) -> None:
    only = ("match", "unknown", "rejected", "cut-turn", "cut-other", "restart", "superseded")
    timeouts = dataclasses.replace(PATIENT, settle_timeout_s=3.0)  # it hears of no end under another name
    code, cases = examined(tmp_path, sys.executable, str(FAULTY), "forgetful", only=only, timeouts=timeouts)
    assert code == 1
    token, ended = "reconnected without its token or with another one", "exited: its process ended with exit code 1"
    assert faults(cases) == {
        "unknown": ended,
        "rejected": ended,
        "cut-turn": token,
        "cut-other": token,
        "restart": token,
        "superseded": "reconnected: two bots that do this replace each other forever",
    }
    assert cases["cut-turn"]["see"] == "docs/protocol.md#losing-and-regaining-the-connection"
    assert "RuntimeError: what is weather?" in (tmp_path / "bot.log").read_text()


def test_what_came_of_a_case_is_told_within_80_columns(tmp_path: Path) -> None:
    bot = (sys.executable, str(FAULTY), "forgetful")
    done = run("arena", "doctor", "--log", str(tmp_path / "log"), "--only", "unknown", "--", *bot)
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert lines[1:3] == ["plays nim, unless --game names another", f"what it says goes to {tmp_path / 'log'}"]
    assert lines[4].startswith("failed  unknown fields and messages (unknown, ")
    assert lines[5:] == [
        "        did:    exited: its process ended with exit code 1",
        "        should: ignore them",
        "        see:    docs/protocol.md#connection",
        "",
        "0 of 1 passed, 0 warnings, 1 failed",
    ]
    assert all(len(line) <= 80 for line in lines[4:])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--only", "flood", "--", "true"), "arena: there is no case 'flood': one of match, next, "),
        (("--game", "go", "--", "true"), "arena: there is no game 'go': one of nim, "),
        (("--", "/nowhere/bot"), "arena: there is no program '/nowhere/bot'\n"),
    ],
)
def test_what_cannot_be_examined_is_one_line(words: tuple[str, ...], says: str) -> None:
    done = call("arena", "doctor", "--only", "match", *words)
    assert done.err.startswith(says)
    assert done.err.count("\n") == 1


def test_a_program_that_never_connects_is_told_once_with_its_last_words(tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = call("arena", "doctor", "--log", str(log), "--", sys.executable, "nowhere.py")
    first, last = done.err.splitlines()
    assert first == f"arena: the bot ended with exit code 2 before it was welcomed; last output, in {log}:"
    assert "can't open file" in last


def test_every_place_that_the_doctor_names_is_in_the_document() -> None:
    text = (REPOSITORY / "docs" / "protocol.md").read_text()
    headings = {line.lstrip("# ").lower().replace(" ", "-") for line in text.splitlines() if line.startswith("#")}
    assert {case.see for case in CASES} <= headings | {*re.findall(r'<a id="([\w-]+)"></a>', text)}

"""The UCI bridge: what an engine is told of positions and clocks, what becomes of its answers, and how engines fail."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bots.client.bot import Choice, ProgramFailed, Turn
from bots.commands.uci import UciBot, parse_info
from commands import call
from protocol.errors import UsageFault
from protocol.games import load_game
from protocol.games.base import NO_DICE
from turns import turn

BASE = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
ENGINE = """
while read -r line; do
  echo "$line" >> heard
  case $line in
    uci) echo "id name Tiny 1.0"; echo "option name Hash type spin default 16 min 1 max 64"
      echo "option name Skill Level type spin default 20 min 0 max 20"; echo uciok;;
    isready) echo "info string still thinking"; echo "bestmove a7a6"; echo readyok;;
    go*) echo "info depth 3 score cp 20 nodes 90 pv d2d4"
      echo "info depth 4 multipv 2 score cp 99 nodes 200 pv d2d4"
      echo "info depth 4 multipv 1 score cp -31 nodes 210 nps 9000 pv e2e4 e7e5 g1f3"
      {answer};;
  esac
done
"""
"""A tiny engine. Before it is ready, it writes what belongs to an earlier search."""


def make_turn(moves: Sequence[str] = (), clock_ms: Sequence[int] = (60_000, 50_000), seat: int = 0) -> Turn:
    """Return a turn of a game of chess. The rules are of no concern to the bridge."""
    nim = load_game("nim")
    return replace(
        turn(nim, nim.initial(NO_DICE)[0], seat=seat),
        ply=len(moves),
        state={"fen": "unused", "base": BASE, "moves": list(moves), "to_move": seat, "ply": len(moves)},
        legal=[{"move": "d2d4", "san": "d4"}, {"move": "e2e4", "san": "e4"}],
        clock_ms=clock_ms,
        increment_ms=2000,
        received=time.monotonic(),
    )


@contextmanager
def started(
    script: Any, answer: str = "echo bestmove e2e4 ponder e7e5", options: Mapping[str, str] | None = None
) -> Iterator[UciBot]:
    """Start a tiny engine as a bot, and begin a match."""
    bot = UciBot("tiny", ["sh", "-c", ENGINE.replace("{answer}", answer)], options)
    try:
        bot.start()
        bot.prepare(script.start())
        yield bot
    finally:
        bot.close()


@pytest.mark.usefixtures("patient")
def test_an_engine_hears_of_positions_and_clocks_and_its_thoughts_are_told(script: Any) -> None:
    with started(script, options={"skill level": "3"}) as bot:
        choice = bot.choose(make_turn())
        bot.rejected(script.rejected())
        bot.choose(make_turn(["e2e4", "e7e5"]))
        bot.ended(script.end())
    assert choice == Choice({"move": "e2e4"}, value=-0.31, depth=4, nodes=210, note="e2e4 e7e5 g1f3")
    assert bot.version == "Tiny 1.0"
    heard = Path("heard").read_text().splitlines()
    assert heard[:5] == ["uci", "setoption name skill level value 3", "isready", "ucinewgame", "isready"]
    assert heard[5] == f"position fen {BASE}"
    assert heard[8] == f"position fen {BASE} moves e2e4 e7e5"
    assert heard[-1] == "stop"


def test_the_clocks_are_those_of_both_sides_less_the_overhead(monkeypatch: pytest.MonkeyPatch) -> None:
    bot = UciBot("tiny", ["none"], move_overhead_ms=100)
    monkeypatch.setattr(Turn, "time_left", 39.5)
    white = bot.encode_go(make_turn(clock_ms=(40_000, 30_000)))
    assert white == "go wtime 39400 btime 29900 winc 2000 binc 2000\n"
    black = bot.encode_go(make_turn(clock_ms=(50, 40_000), seat=1))
    assert black == "go wtime 1 btime 39400 winc 2000 binc 2000\n"


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("info depth 2 score mate -3 pv a2a3 h7h6", {"depth": ["2"], "score": ["mate", "-3"], "pv": ["a2a3", "h7h6"]}),
        ("info nodes 5 string pv is no move", {"nodes": ["5"]}),
        ("info multipv 2 depth 9 score cp 1", {}),
        ("info", {}),
    ],
)
def test_the_fields_of_an_info_line_about_the_best_move_are_read(line: str, fields: dict[str, list[str]]) -> None:
    assert parse_info(line.split()) == fields


def test_a_mate_is_a_note_and_no_value(script: Any) -> None:
    with started(script, "echo info score mate 3 pv e2e4; echo bestmove e2e4") as bot:
        choice = bot.choose(make_turn())
    assert (choice.value, choice.note) == (None, "mate in 3: e2e4")


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        ("echo bestmove e2e5", "at ply 0 of m-1 the engine wrote 'bestmove e2e5', which is not a legal move"),
        ("echo 'bestmove (none)'", "at ply 0 of m-1 the engine has no move"),
        ("exit 3", "at ply 0 of m-1 its program ended with exit code 3, also after a restart"),
    ],
)
def test_an_engine_without_a_legal_move_loses_the_match(script: Any, answer: str, failure: str) -> None:
    with started(script, answer) as bot, pytest.raises(ProgramFailed) as failed:
        bot.choose(make_turn())
    assert str(failed.value) == failure


def test_what_an_engine_lacks_is_said_before_it_plays(script: Any) -> None:
    with (
        pytest.raises(UsageFault, match=r"--option 'Threads': the engine has Hash, Skill Level"),
        started(script, options={"Threads": "2"}),
    ):
        pytest.fail("the engine has no such option")
    with pytest.raises(UsageFault, match="true is no UCI engine: it ended with exit code 0"):
        UciBot("none", ["true"]).start()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "there is no engine to run: give it at the end, as in arena-bot uci -- stockfish"),
        (("--", ""), "there is no engine to run: "),
        (("--option", "Hash", "--", "sh"), "--option 'Hash': write NAME=VALUE, as in Hash=64"),
        (("--", "./no-engine"), "there is no program './no-engine'"),
    ],
)
def test_a_wrong_command_is_a_line(words: Sequence[str], said: str) -> None:
    called = call("arena-bot", "uci", *words) if words else call("arena-bot", "uci", "--game", "chess")
    assert called.code == 2
    assert said in called.err

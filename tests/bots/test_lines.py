"""A Python bot of the library plays by the line protocol, as a hosted one does in its box."""

from __future__ import annotations

import json
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from bots.client.bot import Bot, Choice, GiveUp, Turn
from bots.commands.lines import LinePlayer
from protocol.errors import UsageFault

START = {
    "type": "start",
    "match": "m",
    "game": "nim",
    "config": {"heaps": [1, 2], "take": None, "misere": False, "start": "given"},
    "seat": 1,
    "seats": [{"bot": "a", "mu": 25.0, "sigma": 8.3}, {"bot": "b", "mu": 25.0, "sigma": 8.3}],
    "clock": {"bank_ms": 10000, "increment_ms": 100},
    "commitment": "e" * 64,
    "rated": False,
}
TURN = {
    "type": "turn",
    "legal": [{"heap": 0, "take": 1}, {"heap": 1, "take": 1}],
    "match": "m",
    "ply": 1,
    "to_move": 1,
    "state": {"heaps": [1, 1], "to_move": 1, "ply": 1},
    "events": [],
    "clock": [10000, 9000],
}

ASKING = """from bots import Bot

class Mine(Bot):
    def choose(self, turn):
        try:
            return input("Your move? ")
        except EOFError:
            return turn.legal[0]
"""


class Noting(Bot):
    """A bot that keeps its turns, and answers as it is told to."""

    def __init__(self, answer: Any) -> None:
        super().__init__("noting")
        self.answer = answer
        self.turns: list[Turn] = []

    def choose(self, turn: Turn) -> Any:
        self.turns.append(turn)
        turn.memory["seen"] = turn.memory.get("seen", 0) + 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def answers_of(bot: Bot, *messages: dict[str, Any]) -> list[Any]:
    out = StringIO()
    LinePlayer(bot, out).play([json.dumps(message).encode() for message in messages])
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_turn_has_what_a_connected_bot_is_given_and_the_move_goes_out() -> None:
    bot = Noting(Choice({"heap": 0, "take": 1}, value=0.5, depth=3))
    move = {"type": "move", "match": "m", "ply": 1, "move": {"heap": 0, "take": 1}, "info": {"value": 0.5, "depth": 3}}
    assert answers_of(bot, START, TURN, TURN) == [move, move]
    turn = bot.turns[1]
    assert (turn.seat, turn.ply, turn.clock_ms, turn.increment_ms) == (1, 1, [10000, 9000], 100)
    assert turn.rules.name == "nim"
    assert list(turn.position.heaps) == [1, 1]
    assert turn.memory == {"seen": 2}
    assert [player.bot for player in turn.players] == ["a", "b"]
    answers_of(bot, START, TURN, START, TURN)
    assert bot.turns[-1].memory == {"seen": 1}, "another match has another memory"


def test_a_bot_may_resign() -> None:
    assert answers_of(Noting(GiveUp()), START, TURN) == [{"type": "resign", "match": "m"}]


def test_a_turn_before_a_match_is_refused() -> None:
    with pytest.raises(UsageFault, match="a turn came before start"):
        answers_of(Noting({}), TURN)


def test_chance_follows_from_the_seed_that_a_tournament_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    for seed in ("1", "2", "1", None):
        monkeypatch.delenv("ARENA_SEED", raising=False)
        if seed is not None:
            monkeypatch.setenv("ARENA_SEED", seed)
        bot = Noting(Choice({"heap": 0, "take": 1}))
        answers_of(bot, START, TURN)
        drawn.append(bot.turns[0].random.random())
    assert drawn[0] == drawn[2]
    assert len(set(drawn)) == 3


def test_a_bot_that_asks_for_input_gets_none_and_takes_no_line_of_the_match(tmp_path: Path) -> None:
    program = tmp_path / "mine.py"
    program.write_text(ASKING)
    lines = b"".join(json.dumps(message).encode() + b"\n" for message in (START, TURN, TURN))
    words = (sys.executable, "-P", "-m", "bots.commands.lines", str(program))
    done = subprocess.run(words, input=lines, capture_output=True)
    assert [json.loads(line)["move"] for line in done.stdout.splitlines()] == [{"heap": 0, "take": 1}] * 2
    assert done.stderr == b"Your move? " * 2

"""Mistakes of authors: each ends in one line that says what is wrong, where, and what would be right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arena.commands.game_check import check_file
from commands import call
from machine.game_discovery import GameFileFault, add_game_file
from wrong_games import write_game

pytestmark = pytest.mark.usefixtures("no_brought_games")

NAME = "    name ="
PLAY = "return Count(state.number + move, 1 - state.seat)"
DRAW = "    def draw("
WINNER = "    def winner(self, state):\n        return 1 - state.seat"
SETTING = ("import CHANCE, TurnGame", "import CHANCE, TurnGame, integer")
NUMBERS = (NAME, f"    numbers = iter(range(99))\n{NAME}")


def with_attribute(line: str) -> tuple[str, str]:
    return NAME, f"    {line}\n{NAME}"


def with_method(head: str, body: str) -> tuple[str, str]:
    return DRAW, f"    def {head}:\n        {body}\n\n{DRAW}"


CLASS_MISTAKES = [
    ([with_attribute('presets = {"classic": {"sise": 9}}')], "the preset 'classic' sets 'sise', which is no setting: "),
    ([with_attribute('presets = ["classic"]')], "presets is ['classic']: write a config for each name, such as "),
    ([with_attribute('seats = "2"')], "seats is '2': it is a whole number from 2, or made by integer"),
    ([with_attribute("seats = 1")], "seats is 1: it is a whole number from 2, or made by integer"),
    ([with_attribute("title = None")], "title is None: it is a text"),
    ([with_attribute("draw_probability = 30")], "draw_probability is 30: it is a number from 0 to less than 1"),
    ([with_attribute("least_return = 0.5")], "least_return is 0.5: it is a whole number"),
    (
        [SETTING, with_attribute("last = integer(50, minimum=5, maximum=21)")],
        "the setting last is 50 by default, which is not within 5 to 21",
    ),
    (
        [("def play(self, state, move)", "def play(self, move, state)")],
        "write play(self, state, move), not play(self, ",
    ),
    ([("def moves(self, state)", "def moves(state)")], "write moves(self, state), not moves(state)"),
    ([("def start(self)", "def start(self, config)")], "write start(self), not start(self, config)"),
    ([("    def play(", "    async def play(")], "play must return its result at once: it can't be async, and has no"),
    ([("return [1, 2]", "yield 1")], "moves must return its result at once: it can't be async, and has no yield"),
    (
        [("class Count(NamedTuple):", "@dataclass\nclass Count:")],
        "Count can change, but a state must not: write @dataclass(frozen=True)",
    ),
    ([("TurnGame[Count, int]", "TurnGame[dict, int]")], "a state is a dict, which can change: use a NamedTuple or a "),
]
"""Changes to the class of a game, and what is said when its file is loaded."""
MISTAKES = [
    ([("return [1, 2]", "[1, 2]")], "line 23: moves returns None: it returns a list of moves"),
    ([(PLAY, PLAY.removeprefix("return "))], "line 26: play returns None: it returns Count, the type of a state"),
    ([("seat: int = 0", "seat: int = 1"), ("1 - state.seat)", "3 - state.seat)")], "line 20: the seat to move is 2: "),
    ([NUMBERS, ("return Count()", "return Count(next(self.numbers))")], "line 18: the first state is another one each"),
    ([NUMBERS, (PLAY, "return Count(next(self.numbers), 1 - state.seat)")], "line 27: a move leads to another state "),
    ([("return str(state.number)", "print(end='')")], "line 32: draw returns None: it returns a text"),
    ([with_method("grid(self, state)", "return [[1, 2], [0, 0]]")], "line 32: grid returns [[1, 2], [0, 0]]: it "),
    ([with_method("grid(self, state)", "return [['x'], ['', 'o']]")], "line 32: grid returns [['x'], ['', 'o']]: it "),
    ([with_method("cells(self, move)", "return (0, move)")], "line 32: cells returns (0, 1): it returns pairs (row, "),
    ([with_method("notation(self, move)", "return move")], "line 32: notation returns 2: it returns a text"),
    ([(WINNER, WINNER.replace("winner", "returns").replace("1 - state.seat", "[0.5, -0.5]"))], "line 29: the payoffs "),
    (
        [
            ("else state.seat", "else CHANCE if state.seat == 0 else 1"),
            with_method("chances(self, state)", "return [(100000, Count(state.number + 1, 1))]"),
        ],
        "line 32: the weights of chances sum to 100,000: at most 65,536",
    ),
]
"""Changes to a game, and what `arena game check` says after the name of the file."""


@pytest.mark.parametrize(("changes", "said"), CLASS_MISTAKES)
def test_a_wrong_class_is_refused_when_its_file_is_loaded(
    tmp_path: Path, changes: list[tuple[str, str]], said: str
) -> None:
    with pytest.raises(GameFileFault) as refused:
        add_game_file(write_game(tmp_path, *changes))
    assert re.match(rf"counting.py, line 1[45]: Counting: {re.escape(said)}", str(refused.value))


@pytest.mark.parametrize(("changes", "said"), MISTAKES)
def test_a_check_names_the_line(tmp_path: Path, changes: list[tuple[str, str]], said: str) -> None:
    with pytest.raises(GameFileFault) as refused:
        check_file(write_game(tmp_path, *changes), 2)
    assert str(refused.value).startswith(f"counting.py, {said}")
    assert "\n" not in str(refused.value)


def test_a_trial_that_can_not_draw_a_state_is_a_line(tmp_path: Path) -> None:
    file = write_game(tmp_path, with_method("grid(self, state)", "return [[1]]"), ("def draw(", "def drawn("))
    tried = call("arena", "try", "a=random", "b=random", "--game", str(file))
    assert tried.code == 2
    assert tried.err.startswith(
        "arena: counting.py, line 32: grid returns [[1]]: it returns rows with a text for each "
    )
    assert tried.err.count("\n") == 1


def test_a_trial_whose_rules_do_not_return_is_a_line(tmp_path: Path) -> None:
    file = write_game(tmp_path, (PLAY, "import signal; signal.raise_signal(signal.SIGALRM)"))
    tried = call("arena", "try", "a=random", "b=random", "--game", str(file), "--quiet")
    assert (tried.code, tried.err) == (
        2,
        "arena: counting.py, line 27: play was interrupted, as it took longer than 10 s\n",
    )


def test_a_file_that_does_not_end_before_a_game_begins_is_a_line(tmp_path: Path) -> None:
    file = write_game(tmp_path, ("import time\n", "import signal\nsignal.raise_signal(signal.SIGALRM)\n"))
    with pytest.raises(GameFileFault, match=r"^counting.py, line 3: this still runs after 60 s, before any game"):
        add_game_file(file)

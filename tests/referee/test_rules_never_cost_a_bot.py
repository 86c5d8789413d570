"""Wrong rules by which a bot can't play void its match: the bot is not blamed for what it was told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from protocol.dice import Dice
from protocol.errors import RulesFault
from protocol.games import game_class, guard_game, load_game
from protocol.games.isolated import IsolatedGame, answer, answer_load, load_question, value_of
from protocol.reasons import DISCONNECTED, FAILED, VOID
from referee.effects import Forfeit, MoveReceived, Resignation
from referee.state import Phase
from referee_table import Table
from wrong_games import NAMES, brought, write_game

NAME = "    name ="
MOVES = "return [1, 2]"
PLAY = "return Count(state.number + move, 1 - state.seat)"
TURN = "return None if state.number >= 5 else state.seat"
FIELDS = "    number: int = 0\n    seat: int = 0"
NOTE = (FIELDS, f"{FIELDS}\n    note: tuple = ()")
HIDDEN = (NAME, f"    hidden = True\n{NAME}")
CALLS = (NAME, f"    calls = [0]\n{NAME}")


def seen(result: str) -> list[tuple[str, str]]:
    return [HIDDEN, ("    def draw(", f"    def seen(self, state, seat):\n        return {result}\n\n    def draw(")]


UNPLAYABLE = {
    "a state of another type": ([(PLAY, "return Count(state.number + 0.5, 1)")], "does not fit the type of a state"),
    "a state that becomes another one": (
        [
            ("class Count(NamedTuple):", "@dataclass(frozen=True)\nclass Count:"),
            (FIELDS, f"{FIELDS}\n\n    def __post_init__(self):\n        vars(self)['number'] += 1"),
        ],
        "a bot reads another state than it was told: number is 1, but 2 once it was read",
    ),
    "a state that can't be hashed": (
        [(FIELDS, f"{FIELDS}\n    note: list = []"), (PLAY, "return Count(state.number + move, 1 - state.seat, [7])")],
        "a state can't be hashed: unhashable type: 'list'",
    ),
    "a number too large": ([(PLAY, "return Count(1 << 70, 1)")], "can't be sent: "),
    "half a letter": (
        [NOTE, (PLAY, "return Count(state.number + move, 1 - state.seat, ('\\ud800',))")],
        "can't be sent: 'utf-8' codec",
    ),
    "moves of another type": ([(MOVES, "return ['1', '2']")], "line 23: the move {'move': '1'} is refused, although"),
    "other moves each time": (
        [CALLS, (MOVES, "self.calls[0] += 1\n        return [self.calls[0]]")],
        "line 24: the move {'move': 1} is refused, although it is among the legal moves: '1' is not a legal move now",
    ),
    "no move": ([(MOVES, "return []")], "line 23: moves returns no move, although a seat is to move"),
    "too many moves": ([(MOVES, "return [*range(1, 99_999)]")], "line 23: the 99,998 legal moves take "),
    "another seat each time": (
        [CALLS, (TURN, "self.calls[0] += 1\n        return self.calls[0] // 2 % 2")],
        "line 21: turn returns ",
    ),
    "a view of another type": (seen("Count(None, state.seat)"), "what seat 0 sees does not fit the type of a state"),
    "a view that can't be sent": (seen("Count(1 << 70, state.seat)"), "what seat 0 sees can't be sent"),
    "a result that is no seat": (
        [("return 1 - state.seat\n\n    def draw", "return True\n\n    def draw")],
        "winner is True",
    ),
}
"""Changes to the rules, and what is said of them."""


def first_listed_moves(file: Path) -> Table:
    """Play the first legal move of each turn until the match is over."""
    with brought(file):
        table = Table("counting", guarded=True, rated=True).begin()
        while table.match.standing.phase is Phase.PLAYING:
            table.play(table.last(table.to_move).legal[0])
        return table


@pytest.mark.parametrize("wrong", UNPLAYABLE)
def test_a_bot_that_plays_what_it_is_told_is_not_blamed(tmp_path: Path, wrong: str) -> None:
    changes, said = UNPLAYABLE[wrong]
    table = first_listed_moves(write_game(tmp_path, *changes))
    result = table.match.result("2026-01-01T00:01:00.000Z")
    assert (result.reason, [seat.reason for seat in result.seats]) == (VOID, [VOID, VOID])
    (fault,) = table.faults
    assert said in fault
    assert table.match.standing.strikes == {}


@pytest.mark.parametrize("blame", [Resignation(0, failed=True), Forfeit(0)])
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([(MOVES, "return (move for move in [1, 2])")], "line 23: moves returns <generator object"),
        ([(MOVES, "return {1, 2}")], "line 23: moves returns {1, 2}: a list or a tuple, in a fixed order"),
        (
            [CALLS, (MOVES, "self.calls[0] += 1\n        return [self.calls[0]]")],
            "line 24: moves returns other moves at a second call for the same state",
        ),
        ([(PLAY, "assert move == 1\n        " + PLAY)], "line 27: AssertionError"),
        ([(MOVES, "return [1, '2']")], "line 23: the move {'move': '2'} is refused, although it is among"),
    ],
)
def test_a_bot_that_fails_at_rules_by_which_nobody_could_play_is_not_blamed(
    tmp_path: Path, changes: list[tuple[str, str]], said: str, blame: Resignation | Forfeit
) -> None:
    with brought(write_game(tmp_path, *changes)):
        table = Table("counting", guarded=True, rated=True).begin()
        table.send(blame)
        assert table.match.result("2026-01-01T00:01:00.000Z").reason == VOID
        (fault,) = table.faults
        assert said in fault


def test_a_bot_that_fails_or_resigns_by_itself_is_still_blamed(tmp_path: Path) -> None:
    with brought(write_game(tmp_path)):
        for blame, reason in ((Resignation(0, failed=True), FAILED), (Forfeit(0), DISCONNECTED)):
            table = Table("counting", guarded=True, rated=True).begin()
            table.send(blame)
            result = table.match.result("2026-01-01T00:01:00.000Z")
            assert [seat.reason for seat in result.seats] == [reason, "win"]
            assert table.faults == []


def test_a_turn_may_tell_more_of_its_moves_than_a_bot_must_send(tmp_path: Path) -> None:
    file = write_game(tmp_path)
    file.write_text(file.read_text() + NAMES)
    with brought(file):
        table = Table("counting", guarded=True, rated=True).begin()
        assert table.last(0).legal[0] == {"move": 1, "name": "one"}
        table.send(Forfeit(0))
        assert (table.match.result("2026-01-01T00:01:00.000Z").reason, table.faults) == (DISCONNECTED, [])


@pytest.mark.parametrize("wrong", [{"move": 3}, {"move": "1"}, {"move": 1.5, "name": "one"}])
def test_a_wrong_move_costs_a_bot_though_the_author_reads_and_plays_moves_himself(tmp_path: Path, wrong: Any) -> None:
    file = write_game(tmp_path)
    file.write_text(file.read_text() + NAMES)
    with brought(file):
        table = Table("counting", guarded=True, rated=True).begin()
        table.play(wrong)
        assert (table.match.standing.strikes, table.faults) == ({0: 1}, [])


@pytest.mark.usefixtures("dibs")
def test_a_move_that_only_another_seat_may_make_costs_a_bot() -> None:
    table = Table("bids", guarded=True).begin()
    for seat in 2 * (0, 1, 2):
        table.send(MoveReceived(seat, table.ply, {"bid": 0}))
    assert [len(table.last(seat).legal) for seat in range(3)] == [2, 1, 4]
    table.send(MoveReceived(0, table.ply, {"bid": 3}))
    assert (table.match.standing.strikes, table.faults) == ({0: 1}, [])


def test_isolated_rules_are_tried_where_they_run(tmp_path: Path) -> None:
    with brought(write_game(tmp_path, (MOVES, "return (move for move in [1, 2])"))):
        rules, question = guard_game(load_game("counting")), load_question({})
        facts = answer_load(lambda config: load_game("counting"), question)[question]
        isolated = IsolatedGame(game_class("counting"), value_of("counting", facts))
        isolated.fetch = lambda asked: answer(rules, asked, {})
        state, _ = isolated.initial(Dice(b"", 0))
        with pytest.raises(RulesFault, match=r"counting.py, line 23: moves returns <generator object"):
            isolated.check_turn(state)

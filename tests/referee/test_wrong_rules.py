"""Rules of a file that fail, or return what no match can go on with, void the match and cost no bot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arena.replay.verify import verify_record
from protocol.errors import BadRecord, RulesFault
from protocol.games import game_class, load_game
from protocol.reasons import VOID
from referee.effects import Forfeit, MoveReceived, Reconnect, ReportRulesFault
from referee.record import Sealed, Void
from referee.state import Phase
from referee_table import Bids, Dibs, Table
from wrong_games import MUTABLE, brought, write_game

PLAY = "return Count(state.number + move, 1 - state.seat)"
TURN = "return None if state.number >= 5 else state.seat"


def void(table: Table) -> str:
    """Check that a match is void, that no seat is blamed and that its record verifies. Return what was reported."""
    assert table.match.standing.phase is Phase.OVER
    assert table.finishes == 1
    result = table.match.result("2026-01-01T00:01:00.000Z")
    assert (result.reason, result.pool) == (VOID, None)
    assert [(seat.rank, seat.reason) for seat in result.seats] == [(1, VOID)] * len(result.seats)
    assert [table.match.end_message(seat).reason for seat in table.seats] == [VOID] * len(table.seats)
    (fault,) = table.faults
    return fault


def played(moves: list[int], **fixed: Any) -> Table:
    """Play these moves, or as many of them as the match takes."""
    table = Table("counting", guarded=True, **fixed).begin()
    for move in moves:
        if table.match.standing.phase is Phase.PLAYING:
            table.play({"move": move})
    return table


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([(PLAY, "return 1 / 0")], "counting.py, line 27: ZeroDivisionError: division by zero"),
        ([(PLAY, "raise ValueError(chr(10).join('ab'))")], "counting.py, line 27: ValueError: a b"),
        ([("return [1, 2]", "return [1, 2] if state.number == 0 else 7")], "counting.py: TypeError: "),
        ([("return [1, 2]", "return [1, 2][:: 1 / state.number if state.number > 1 else 1]")], "line 24: TypeError: "),
        (
            [(TURN, "return 2 if state.number == 2 else state.seat")],
            "counting.py, line 20: the seat to move is 2: it is a number",
        ),
        (
            [(TURN, "return state.number == 2 or state.seat")],
            "counting.py, line 20: the seat to move is True: it is a number",
        ),
        (
            [(TURN, "return CHANCE if state.number == 2 else state.seat")],
            "counting.py, line 20: turn returns CHANCE, but the method chances is missing",
        ),
        *(
            (
                [
                    (TURN, "return CHANCE if state.number == 2 else state.seat"),
                    ("    def winner(", f"    def chances(self, state):\n        return {outcomes}\n\n    def winner("),
                ],
                f"counting.py, line 29: chances returns {said}",
            )
            for outcomes, said in (
                ("[]", "no outcome: it needs one at least"),
                ("[(0.5, state), (0.5, state)]", "the outcome (0.5, Count(number=2, seat=1)): each is a pair of"),
                ("[7]", "the outcome 7: each is a pair of a weight, a whole number from 1,"),
                ("[(0, state)]", "the outcome (0, Count(number=2, seat=1)): each is a pair of a weight,"),
            )
        ),
        (
            [(PLAY, "return (state.number + move, 0)")],
            "counting.py, line 26: play returns (2, 0): it returns Count, the type of a state",
        ),
        ([("return 1 - state.seat", "raise LookupError")], "counting.py, line 30: LookupError"),
        (
            [("return 1 - state.seat", "return 'me'")],
            "counting.py, line 29: the winner is 'me': it is a seat from 0 to 1, or None",
        ),
        (
            [
                (
                    "def winner(self, state):\n        return 1 - state.seat",
                    "def returns(self, state):\n        return [1.5, -1.5]",
                )
            ],
            "counting.py, line 29: the payoffs are (1.5, -1.5): each seat has one, a whole number",
        ),
        (
            [("    def winner(", "    def ranks(self, state):\n        return [1, 'two']\n\n    def winner(")],
            "counting.py: TypeError: ",
        ),
        (
            [*MUTABLE, ("return [1, 2]", "state.note()\n        return [1, 2]")],
            "counting.py: a state changed after it was returned: make a new state instead",
        ),
        (
            [*MUTABLE, (PLAY, f"state.note()\n        {PLAY}")],
            "counting.py: a state changed after it was returned: make a new state instead",
        ),
        (
            [(PLAY, "from protocol.errors import IllegalMove\n        raise IllegalMove('not you')")],
            "counting.py, line 28: IllegalMove: not you",
        ),
    ],
)
def test_the_match_is_void_and_the_fault_is_a_line(tmp_path: Path, changes: list[tuple[str, str]], said: str) -> None:
    with brought(write_game(tmp_path, *changes)):
        table = played([2, 2, 2], rated=True)
        fault = void(table)
        assert fault.startswith("the rules of counting failed: counting.py")
        assert said in fault
        assert "\n" not in fault
        assert table.lines[-1] == Void()
        verify_record(table.record())


def test_a_move_that_is_refused_still_costs_a_strike(tmp_path: Path) -> None:
    with brought(write_game(tmp_path)):
        table = played([3])
        assert table.match.standing.strikes == {0: 1}
        assert (table.faults, table.match.standing.phase) == ([], Phase.PLAYING)


def test_rules_that_can_not_begin_void_the_match_before_its_first_turn(tmp_path: Path) -> None:
    file = write_game(
        tmp_path,
        ("return Count()", "return Count() if self.fine else 1 / 0"),
        ("    name =", "    fine = True\n    name ="),
    )
    with brought(file):
        table = Table("counting", guarded=True)
        table.open()
        game_class("counting").rules_class.fine = False  # type: ignore[attr-defined]
        table.begin()
        assert void(table) == "the rules of counting failed: counting.py, line 19: ZeroDivisionError: division by zero"


def test_a_config_that_the_rules_fail_on_is_no_fault_of_who_asks(tmp_path: Path) -> None:
    with (
        brought(write_game(tmp_path, ("return Count()", "return 1 / 0"))),
        pytest.raises(RulesFault, match=r"^the rules of counting failed: counting.py, line 18: ZeroDivisionError"),
    ):
        load_game("counting")


def test_a_restart_over_the_same_fault_voids_the_match_again(tmp_path: Path) -> None:
    with brought(write_game(tmp_path, (PLAY, f"{PLAY} if state.number < 2 else 1 / 0"))):
        table = played([2])
        again = Table("counting", guarded=True).resume(table.lines)
        for seat in again.seats:
            again.send(Reconnect(seat))
        again.play({"move": 1})
        assert "counting.py, line 27: ZeroDivisionError" in void(again)
        verify_record(again.record())
        third = Table("counting", guarded=True).resume(again.lines)
        assert (third.finishes, third.lines.count(Void()), third.faults) == (1, 1, [])


@pytest.mark.parametrize("good_plays", [0, 1])
def test_a_restart_voids_a_match_whose_recorded_moves_the_rules_fail_on_now(tmp_path: Path, good_plays: int) -> None:
    """The record ends with what was told, although these rules can't follow it."""
    file = write_game(
        tmp_path,
        (PLAY, f"self.left[0] -= 1\n        {PLAY} if self.left[0] >= 0 else 1 / 0"),
        ("    name =", "    left = [9]\n    name ="),
    )
    with brought(file):
        table = played([1, 1, 7])
        game_class("counting").rules_class.left[0] = good_plays  # type: ignore[attr-defined]
        again = Table("counting", guarded=True).resume(table.lines)
        assert "counting.py, line 29: ZeroDivisionError" in void(again)
        assert again.match.result("x").plies == 2
        game_class("counting").rules_class.left[0] = 9  # type: ignore[attr-defined]
        verify_record(again.record())


def test_a_round_that_can_not_be_played_after_a_restart_voids_the_match(
    dibs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal ends just before the round whose moves are all in it."""
    table = Table("bids", guarded=True).begin()
    for seat in table.seats:
        table.send(MoveReceived(seat, 1, {"bid": 0}))
    last = max(at for at, line in enumerate(table.lines) if isinstance(line, Sealed))
    monkeypatch.setattr(Bids, "resolve_round", lambda *given: 1 / 0)
    again = Table("bids", guarded=True).resume(table.lines[: last + 1])
    assert "ZeroDivisionError" in void(again)


def test_a_record_that_the_rules_fail_on_is_named_with_the_line(tmp_path: Path) -> None:
    with brought(write_game(tmp_path)):
        record = played([2, 2, 2]).record()
    with (
        brought(write_game(tmp_path, (PLAY, "return 1 / 0"))),
        pytest.raises(BadRecord, match=r"m-1: the rules of counting failed: counting.py, line 27: Zero"),
    ):
        verify_record(record)


def test_a_view_that_fails_for_a_spectator_is_reported_by_the_referee(tmp_path: Path) -> None:
    with brought(
        write_game(
            tmp_path,
            ("    name =", "    hidden = True\n    name ="),
            (
                "    def draw(",
                "    def seen(self, state, seat):\n        return state if seat is not None else state.cards\n\n"
                "    def draw(",
            ),
        )
    ):
        table = played([2])
        with pytest.raises(RulesFault) as caught:
            table.match.spectator_turn(table.now)
        effects = table.perform(table.match.call_off_by_fault(caught.value, table.now))
        assert isinstance(effects[0], ReportRulesFault)
        assert "AttributeError: 'Count' object has no attribute 'cards'" in void(table)


def test_a_seat_that_left_and_is_to_move_all_the_same_voids_the_match(
    dibs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dibs, "remove_seat", lambda self, state, seat: state)
    table = Table("dibs", guarded=True).begin()
    table.send(Forfeit(0))
    table.expire()
    assert void(table) == "the rules of dibs failed: seat 0 is to move, although it left the match"


def test_a_file_that_is_edited_under_play_stays_as_it_was_loaded(tmp_path: Path) -> None:
    with brought(write_game(tmp_path)):
        table = played([2])
        write_game(tmp_path, (PLAY, "return 1 / 0"))
        table.play({"move": 2})
        table.play({"move": 2})
        assert table.faults == []
        verify_record(table.record())

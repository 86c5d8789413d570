"""Seeks in force: who meets whom, at a price that does not grow with those that wait for somebody else."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from types import FrameType

import pytest

from arena.lobby.effects import StartMatch
from arena.lobby.events import BotLeft, MatchNotBegun
from arena.lobby.policy import LobbyPolicy
from arena.lobby.seeks import match_spec_of
from protocol.games import load_game, shared_game
from protocol.messages import Seek
from seek_board import SeekBoard


@pytest.fixture
def board() -> SeekBoard:
    return SeekBoard()


def test_who_names_each_other_or_names_one_that_names_nobody_meets_unrated(board: SeekBoard) -> None:
    board.add("ann", Seek(id="s", game="nim", opponent="bob"))
    board.seek("cid")
    board.seek("dan", opponent="cid")
    board.seek("bob", opponent="ann")
    assert sorted(board.until(2)) == [("ann", "bob"), ("cid", "dan")]
    assert [rated for _, rated in board.played] == [False, False]


def test_who_names_one_that_names_another_waits(board: SeekBoard) -> None:
    board.seek("ann", opponent="bob")
    board.seek("bob", opponent="cid")
    board.seek("dan")
    board.seek("eve")
    assert board.until(1) == [("dan", "eve")]
    board.seek("bob", "another", opponent="ann")
    assert board.until(2)[1] == ("ann", "bob")


def test_a_named_opponent_is_served_before_the_ladder(board: SeekBoard) -> None:
    board.seek("ann")
    board.seek("bob")
    board.seek("cid", opponent="bob")
    assert board.until(1) == [("bob", "cid")]


def test_a_seek_that_was_taken_back_is_not_found_by_who_names_it(board: SeekBoard) -> None:
    board.seek("ann", "first")
    board.seek("ann", "second")
    board.withdraw("ann", "first")
    board.withdraw("ann", "never made")
    assert (len(board.seeks_of("ann")), "first" in board.seeks_of("ann")) == (1, False)
    board.seek("bob", opponent="ann")
    assert board.until(1) == [("ann", "bob")]
    assert not board.seeks_of("ann")
    assert not board.seeks_of("bob")
    board.seek("ann")
    board.feed(BotLeft("ann"))
    board.seek("bob", "1")
    board.seek("cid", "1")
    assert board.until(2)[1] == ("bob", "cid")


def test_a_bot_of_many_slots_begins_no_more_than_its_pace_allows() -> None:
    board = SeekBoard(LobbyPolicy(max_matches_per_hour=2))
    for number in range(32):
        board.seek("ann", str(number))
        board.seek("bob", str(number))
    board.until(2)
    board.seek("cid", opponent="dan")
    board.seek("dan", opponent="cid")
    assert board.until(3) == [("ann", "bob"), ("ann", "bob"), ("cid", "dan")]


def test_who_has_to_wait_for_its_pace_takes_no_seat_beside_an_open_bot() -> None:
    board = SeekBoard(LobbyPolicy(max_matches_per_hour=1))
    for bot in ("ann", "bob", "cid"):
        board.campaign(bot)
    board.until(1)
    board.campaign("ann", ref="again")
    board.campaign("dan")
    board.open("house", game="risk-campaign")
    for number in range(2, 4):
        board.seek("fay", str(number), opponent="gus")
        board.seek("gus", str(number), opponent="fay")
        assert board.until(number)[1:] == [("fay", "gus")] * (number - 1)
    board.campaign("eve")
    assert board.until(4)[3] == ("dan", "eve", "house")


def test_more_bots_than_are_compared_at_once_all_meet() -> None:
    board = SeekBoard(LobbyPolicy(pairing_batch_size=4))
    names = [f"bot-{number}" for number in range(14)]
    for name in names:
        board.seek(name)
    begun = board.until(7)
    assert sorted(bot for match in begun for bot in match) == sorted(names)


def test_a_wake_up_starts_one_match_at_most(board: SeekBoard) -> None:
    for number in range(20):
        board.seek("ann", str(number), opponent="bob" if number % 2 else None)
        board.seek("bob", str(number))
    before = 0
    while len(board.begun) < 20:
        board.tick()
        assert len(board.begun) - before <= 1
        before = len(board.begun)


def test_who_seeks_much_is_in_nobodys_way_but_its_own(board: SeekBoard) -> None:
    for number in range(64):
        board.seek("ann", str(number), opponent="bob")
        board.seek("bob", str(number), opponent="ann")
    board.seek("cid", opponent="dan")
    board.seek("dan", opponent="cid")
    assert ("cid", "dan") in board.until(3)[:3]


def test_seeks_that_name_an_opponent_without_end_leave_the_others_their_turn() -> None:
    class Endless(SeekBoard):
        def begin(self, start: StartMatch) -> None:
            super().begin(start)
            if len(self.begun) < 200:
                self.seek("ann", f"s{len(self.begun)}", opponent="bob")
                self.seek("bob", f"s{len(self.begun)}", opponent="ann")

    board = Endless()
    board.seek("cid")
    board.seek("dan")
    for number in range(4):
        board.seek("ann", f"at first {number}", opponent="bob")
        board.seek("bob", f"at first {number}", opponent="ann")
    board.until(100)
    assert ("cid", "dan") in board.begun


def test_a_match_that_fails_to_begin_keeps_nobody_else_waiting_and_counts_for_nothing() -> None:
    class Failing(SeekBoard):
        def begin(self, start: StartMatch) -> None:
            self.started.append(start)
            self.feed(MatchNotBegun(start.match, seeks_again=len(self.started) == 2))

    board = Failing(LobbyPolicy(max_matches_per_hour=1))
    for bot in ("ann", "bob"):
        board.seek(bot)
    board.advance(1.0)
    assert (len(board.started), board.seeks_of("ann")) == (1, [])
    for bot in ("ann", "bob"):
        board.seek(bot, "again")
    for matches, seeks in ((2, ["again"]), (3, [])):
        while len(board.started) < matches:
            board.tick()
        assert (board.seeks_of("ann"), board.lobby.free_slots("ann")) == (seeks, 64 - len(seeks))
    assert board.lobby.known_bots.total_encounters("ann", "nim/unrated") == 0


# What it costs, in calls of functions: a measure that is the same on every machine


def calls(function: Callable[[], object]) -> int:
    """How many calls of Python functions it takes.

    The garbage of earlier ones is not collected meanwhile: its weak references would call back.
    """
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    gc.disable()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def price(waiting: int, opponent: str | None, open_fallback_delay_s: float) -> tuple[int, int]:
    """Calls for all wake-ups until a match begins, and for a bot's leaving, beside so many seeks that wait."""
    board = SeekBoard(LobbyPolicy(open_fallback_delay_s=open_fallback_delay_s))
    for number in range(waiting):
        board.seek(f"bot-{number // 64}", str(number), opponent, heaps=[1, number] if opponent is None else [1])
    board.advance(1.0)
    board.seek("ann", heaps=[2])
    board.seek("bob", heaps=[2])
    look = calls(lambda: board.until(1))
    assert board.begun == [("ann", "bob")]
    board.seek("ann", "again")
    return look, calls(lambda: board.feed(BotLeft("ann")))


@pytest.mark.parametrize("opponent", ["nobody", None], ids=["naming who is not there", "each of its own kind"])
@pytest.mark.parametrize("alone", [3600.0, 0.0], ids=["waiting for others like them", "wanting open ones"])
def test_seeks_that_cannot_be_paired_cost_nobody_anything(opponent: str | None, alone: float) -> None:
    assert price(900, opponent, alone) == price(2, opponent, alone)


def test_a_seek_holds_its_config_packed_and_once() -> None:
    config = {"heaps": [7] * 64}
    game = load_game("nim", config)
    kinds = [match_spec_of(game, rated=False), match_spec_of(load_game("nim", config), rated=False)]
    alive = weakref.ref(game)
    del game
    assert alive() is None, "the rules are read again when the match begins"
    assert kinds[0] is kinds[1]
    assert kinds[0].config == load_game("nim", config).config
    assert kinds[0] is not match_spec_of(load_game("nim", config), rated=True)


def test_matches_under_one_config_share_their_rules() -> None:
    config = load_game("risk-duel", {"preset": "africa", "max_plies": 123}).config  # which no other test has
    rules = shared_game("risk-duel", config)
    assert shared_game("risk-duel", dict(config)) is rules
    alive = weakref.ref(rules)
    del rules
    assert alive() is None, "rules that nobody plays by are forgotten"

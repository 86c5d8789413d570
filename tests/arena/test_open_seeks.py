"""Open seeks, which take any match of a game, private ones, and seeks that name several opponents."""

from __future__ import annotations

import pytest

from arena.lobby.events import BotLoaded, BotReady, MatchAdded, SeatReleased
from arena.lobby.policy import LobbyPolicy
from protocol.games import game_names
from protocol.messages import ListedSeek, Seek
from seek_board import SeekBoard

POLICY = LobbyPolicy()


@pytest.fixture
def board() -> SeekBoard:
    return SeekBoard()


def rest(board: SeekBoard) -> None:
    """Let so much time pass that whoever finds nobody like itself takes an open seek, where it may."""
    board.advance(POLICY.open_fallback_delay_s + 10 * POLICY.open_pairing_interval_s)


def rest_briefly(board: SeekBoard) -> None:
    """Let so little time pass that nobody takes an open seek yet unless it names its bot."""
    board.advance(POLICY.open_fallback_delay_s - 0.1)


# With two seats


def test_an_open_seek_takes_the_config_and_the_ratedness_of_the_other(board: SeekBoard) -> None:
    board.open("house")
    board.seek("ann", heaps=[4, 5])
    assert board.until(1) == [("ann", "house")]
    board.open("house")
    board.add("bob", Seek(id="s", game="nim", config={"preset": "classic"}))
    assert board.until(2)[1] == ("bob", "house")
    assert [(config["heaps"], rated) for config, rated in board.played] == [([4, 5], False), ([3, 5, 7], True)]
    assert not board.seeks_of("house")


def test_two_open_seeks_never_meet_nor_does_one_of_another_game(board: SeekBoard) -> None:
    board.open("house")
    board.open("inn")
    board.open("mill", game="grundy")
    board.add("ann", Seek(id="s", game="tictactoe"))
    rest(board)
    assert not board.begun
    assert board.wake_at is None, "there is nothing to look for before somebody else comes"


def test_bots_that_seek_the_same_meet_each_other_before_they_take_open_seeks(board: SeekBoard) -> None:
    board.open("house")
    board.seek("ann")
    board.seek("bob")
    assert board.until(1) == [("ann", "bob")]
    board.seek("cid")
    rest_briefly(board)
    assert board.begun == [("ann", "bob")]


def test_where_there_are_enough_others_a_seek_gives_them_more_time(
    board: SeekBoard,
) -> None:
    board.bar("bob")
    board.open("house")
    board.seek("ann")
    board.seek("bob")
    board.advance(POLICY.open_fallback_delay_populated_s - 0.1)
    assert not board.begun
    assert board.until(1) == [("ann", "house")]


def test_who_names_a_bot_takes_its_open_seek_at_once_or_as_soon_as_there_is_one(
    board: SeekBoard,
) -> None:
    board.open("house")
    board.seek("ann", opponent="house", heaps=[9])
    assert board.until(1) == [("ann", "house")]
    board.seek("bob", opponent="house", heaps=[8])
    rest_briefly(board)
    board.open("house", "again")
    assert board.until(2)[1] == ("bob", "house")
    assert [config["heaps"] for config, _ in board.played] == [[9], [8]]


def test_who_names_a_bot_and_may_not_play_keeps_its_open_seek_from_nobody(board: SeekBoard) -> None:
    for number in range(9):
        board.bar(f"stranger-{number}")
        board.seek(f"stranger-{number}", opponent="house")
    board.seek("ann", opponent="house")
    rest_briefly(board)
    board.open("house")
    assert board.until(1) == [("ann", "house")]


def test_open_seeks_of_bots_that_may_begin_no_match_are_passed_over(board: SeekBoard) -> None:
    for number in range(100):
        board.bar(f"stranger-{number}")
        board.open(f"stranger-{number}")
    board.seek("ann")
    rest(board)
    board.open("house")
    assert board.until(1) == [("ann", "house")]


def test_those_that_find_nobody_keep_no_other_from_an_open_seek(board: SeekBoard) -> None:
    for number in range(4 * POLICY.max_failed_fills):
        board.add(
            f"stranger-{number}", Seek(id="s", game="risk-campaign", config={"players": 6, "max_rounds": number + 9})
        )
    board.add("ann", Seek(id="s", game="risk-campaign", config={"players": 2}))
    rest(board)
    board.open("house", game="risk-campaign")
    assert board.until(1) == [("ann", "house")]


def test_a_bot_that_is_open_to_many_games_is_listed_with_each(board: SeekBoard) -> None:
    games = list(game_names())
    for game in games:
        board.open("house", game, game)
    assert [seek.game for seek in board.lobby.list_seeks("house")] == games
    assert POLICY.max_listed_seeks > 13


def test_an_open_seek_that_was_taken_back_is_not_taken(board: SeekBoard) -> None:
    board.open("house")
    board.withdraw("house", "open")
    board.seek("ann")
    board.seek("bob", opponent="house")
    rest(board)
    assert not board.begun


def test_open_seeks_that_are_not_taken_have_their_turn_later(board: SeekBoard) -> None:
    names = [f"house-{number}" for number in range(5)]
    for name in names:
        board.open(name)
    for number in range(60):
        board.seek("ann", str(number))
        taken = board.until(number + 1)[-1]
        board.open(next(name for name in taken if name != "ann"))
    assert {name for match in board.begun for name in match} == {"ann", *names}


def test_who_has_its_share_of_an_open_bot_waits_and_keeps_it_from_nobody(board: SeekBoard) -> None:
    board.join("house", slots=4)
    for name in ("ann", "bob"):
        board.join(name)
        board.feed(MatchAdded(f"{name}'s match", (name, "house")))
        for bot in (name, "house"):
            board.feed(BotReady(bot))
    board.open("house")
    board.seek("ann", opponent="house")
    board.seek("bob")
    rest(board)
    board.open("house", "another")
    rest(board)
    assert not board.begun
    board.seek("cid", opponent="house")
    assert board.until(1) == [("cid", "house")]
    board.feed(SeatReleased("ann's match", "ann"))
    assert board.until(2)[1] == ("ann", "house")


# With more


def test_a_match_of_more_seats_takes_as_many_open_seeks_of_different_bots_as_it_lacks(
    board: SeekBoard,
) -> None:
    board.campaign("ann", players=4)
    board.campaign("bob", players=4)
    for ref in ("1", "2", "3"):
        board.open("house", ref, "risk-campaign")
    rest(board)
    assert not board.begun
    board.open("inn", game="risk-campaign")
    assert board.until(1) == [("ann", "bob", "house", "inn")]


def test_several_opponents_are_named_and_open_seeks_take_the_other_seats(board: SeekBoard) -> None:
    board.open("mill", game="risk-campaign")
    board.campaign("ann", "bob", "house", players=4)
    board.open("house", game="risk-campaign")
    rest_briefly(board)
    assert not board.begun
    board.campaign("bob", players=4)
    assert board.until(1) == [("ann", "bob", "house", "mill")]
    assert board.played[0][1] is False


def test_who_names_others_fits_where_all_of_them_play(board: SeekBoard) -> None:
    board.campaign("ann", "bob", "cid")
    board.campaign("bob", "ann", "dan")
    board.campaign("cid", "ann")
    rest(board)
    assert not board.begun
    board.campaign("bob", "cid", ref="another")
    assert board.until(1) == [("ann", "bob", "cid")]


def test_one_who_is_named_among_several_may_name_nobody(board: SeekBoard) -> None:
    board.campaign("ann", "bob")
    board.campaign("bob")
    rest_briefly(board)
    assert not board.begun
    board.campaign("cid")
    assert board.until(1) == [("ann", "bob", "cid")]


# What the match is


def test_a_match_with_a_bot_that_the_operator_did_not_approve_is_not_rated() -> None:
    board = SeekBoard(LobbyPolicy(approved_only=True))
    board.feed(BotLoaded("ann", {}, is_approved=True))
    board.open("house")
    board.add("ann", Seek(id="s", game="nim"))
    board.until(1)
    assert board.started[0].pool is None


@pytest.mark.parametrize("rated", [False, True])
def test_an_unrated_match_in_which_somebody_asks_for_it_has_the_slow_clock(board: SeekBoard, rated: bool) -> None:
    board.open("house")
    board.add("ann", Seek(id="s", game="nim", rated=rated, slow=True))
    board.until(1)
    assert board.started[0].is_slow is not rated


# With presets


def test_an_open_seek_takes_only_the_presets_that_it_names(board: SeekBoard) -> None:
    board.open("tit-for-tat", game="dilemma", presets=["axelrod", "chicken"])
    board.add("ann", Seek(id="s", game="dilemma", config={"preset": "rock-paper-scissors"}))
    board.add("bob", Seek(id="s", game="dilemma", config={"payoffs": [[[1, 1]] * 3] * 3}))
    rest(board)
    assert not board.begun
    board.add("cid", Seek(id="s", game="dilemma", config={"preset": "axelrod"}))
    assert board.until(1) == [("cid", "tit-for-tat")]


def test_who_names_a_bot_waits_where_it_does_not_play_the_preset(board: SeekBoard) -> None:
    board.open("tit-for-tat", game="dilemma", presets=["axelrod"])
    board.add("ann", Seek(id="s", game="dilemma", config={"preset": "rock-paper-scissors"}, opponent="tit-for-tat"))
    board.add("bob", Seek(id="s", game="dilemma", config={"preset": "axelrod"}, opponent="tit-for-tat"))
    assert board.until(1) == [("bob", "tit-for-tat")]


def test_an_open_seek_that_comes_later_begins_with_whoever_names_its_bot_for_what_it_plays(
    board: SeekBoard,
) -> None:
    board.add("ann", Seek(id="s", game="dilemma", config={"preset": "rock-paper-scissors"}, opponent="tit-for-tat"))
    board.add("bob", Seek(id="s", game="dilemma", config={"preset": "axelrod"}, opponent="tit-for-tat"))
    board.open("tit-for-tat", game="dilemma", presets=["axelrod"])
    assert board.until(1) == [("bob", "tit-for-tat")]


def test_of_two_open_seeks_of_a_bot_that_is_taken_which_fits(board: SeekBoard) -> None:
    board.open("house", ref="one", game="dilemma", presets=["axelrod"])
    board.open("house", ref="two", game="dilemma", presets=["rock-paper-scissors"])
    board.add("ann", Seek(id="s", game="dilemma", config={"preset": "rock-paper-scissors"}))
    assert board.until(1) == [("ann", "house")]
    assert board.seeks_of("house") == ["one"]


# Private: only who names their bot takes them, as who waits for a friend wants


def test_neither_the_ladder_nor_an_open_seek_takes_one_that_is_private(board: SeekBoard) -> None:
    board.private("ann")
    assert board.lobby.list_seeks("ann") == [ListedSeek(game="nim", preset="classic", private=True)]
    board.open("house")
    board.seek("bob")
    assert board.until(1) == [("bob", "house")]
    board.private("eve")
    board.seek("cid")
    board.seek("dan")
    assert board.until(2)[1:] == [("cid", "dan")]
    assert "private" in board.seeks_of("ann")
    assert "private" in board.seeks_of("eve")


@pytest.mark.parametrize("first", ["ann", "bob"])
def test_who_names_the_bot_of_a_private_seek_meets_it_unrated_whoever_came_first(board: SeekBoard, first: str) -> None:
    board.open("house")
    seeks = {"ann": lambda: board.private("ann"), "bob": lambda: board.seek("bob", opponent="ANN")}
    seeks.pop(first)()
    for seek in seeks.values():
        seek()
    assert board.until(1) == [("ann", "bob")]
    assert [rated for _, rated in board.played] == [False]
    assert not board.seeks_of("ann")


def test_who_names_it_for_something_else_does_not_meet_it(board: SeekBoard) -> None:
    board.private("ann")
    board.seek("bob", opponent="ann", heaps=[1, 2])
    board.seek("cid", "first", opponent="dan")
    board.seek("dan", "first", opponent="cid")
    assert board.until(1) == [("cid", "dan")]
    board.seek("bob", "again", opponent="ann")
    assert board.until(2)[1] == ("ann", "bob")


def test_a_private_seek_that_is_taken_back_is_found_no_more(board: SeekBoard) -> None:
    board.private("ann")
    board.withdraw("ann", "private")
    board.seek("bob", opponent="ann")
    board.seek("cid", "first", opponent="dan")
    board.seek("dan", "first", opponent="cid")
    assert board.until(1) == [("cid", "dan")]


def test_the_pace_of_the_ladder_does_not_hold_it() -> None:
    board = SeekBoard(LobbyPolicy(max_matches_per_hour=1))
    board.seek("ann")
    board.seek("bob")
    board.until(1)
    board.private("ann")
    assert board.lobby.rate_delay_s("ann", board.now) == 0.0
    board.seek("bob", opponent="ann")
    assert board.until(2)[1] == ("ann", "bob")

"""Seeks that only whoever names their bot may take: somebody waits for a friend."""

from __future__ import annotations

import pytest

from arena.lobby.policy import LobbyPolicy
from protocol.messages import ListedSeek
from seek_board import SeekBoard


@pytest.fixture
def patient() -> SeekBoard:
    return SeekBoard()


def test_neither_the_ladder_nor_an_open_seek_takes_one_that_is_private(patient: SeekBoard) -> None:
    patient.private("ann")
    assert patient.lobby.list_seeks("ann") == [ListedSeek(game="nim", preset="classic", private=True)]
    patient.open("house")
    patient.seek("bob")
    assert patient.until(1) == [("bob", "house")]
    patient.private("eve")
    patient.seek("cid")
    patient.seek("dan")
    assert patient.until(2)[1:] == [("cid", "dan")]
    assert "private" in patient.seeks_of("ann")
    assert "private" in patient.seeks_of("eve")


@pytest.mark.parametrize("first", ["ann", "bob"])
def test_who_names_the_bot_of_a_private_seek_meets_it_unrated_whoever_came_first(
    patient: SeekBoard, first: str
) -> None:
    patient.open("house")
    seeks = {"ann": lambda: patient.private("ann"), "bob": lambda: patient.seek("bob", opponent="ANN")}
    seeks.pop(first)()
    for seek in seeks.values():
        seek()
    assert patient.until(1) == [("ann", "bob")]
    assert [rated for _, rated in patient.played] == [False]
    assert not patient.seeks_of("ann")


def test_who_names_it_for_something_else_does_not_meet_it(patient: SeekBoard) -> None:
    patient.private("ann")
    patient.seek("bob", opponent="ann", heaps=[1, 2])
    patient.seek("cid", "first", opponent="dan")
    patient.seek("dan", "first", opponent="cid")
    assert patient.until(1) == [("cid", "dan")]
    patient.seek("bob", "again", opponent="ann")
    assert patient.until(2)[1] == ("ann", "bob")


def test_a_private_seek_that_is_taken_back_is_found_no_more(patient: SeekBoard) -> None:
    patient.private("ann")
    patient.withdraw("ann", "private")
    patient.seek("bob", opponent="ann")
    patient.seek("cid", "first", opponent="dan")
    patient.seek("dan", "first", opponent="cid")
    assert patient.until(1) == [("cid", "dan")]


def test_the_pace_of_the_ladder_does_not_hold_it() -> None:
    board = SeekBoard(LobbyPolicy(max_matches_per_hour=1))
    board.seek("ann")
    board.seek("bob")
    board.until(1)
    board.private("ann")
    assert board.lobby.rate_delay_s("ann", board.now) == 0.0
    board.seek("bob", opponent="ann")
    assert board.until(2)[1] == ("ann", "bob")

"""The course of a match as others see it: where it stands at first, whose dice it rolls, why each seat ended."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from protocol.dice import Dice, match_key
from protocol.digest import next_digest
from protocol.games import load_game
from referee.course import Course
from referee_table import SEED

NONCES = (b"\x01" * 16, b"")


def course(game: str, config: dict[str, Any]) -> Course:
    return Course.new("m-1", load_game(game, config), ("ann", "bob"), b"c" * 32, SEED, NONCES)


def dice(ply: int) -> Dice:
    return Dice(match_key("m-1", SEED, NONCES), ply)


def test_before_it_begins_a_course_stands_at_ply_0_and_nobody_is_to_move() -> None:
    nim = course("nim", {})
    assert (nim.state, nim.ply, nim.to_move, nim.encoded_state, nim.dropped_out, nim.is_void) == (
        None,
        0,
        None,
        {},
        {},
        False,
    )


def test_a_deal_is_drawn_with_the_dice_of_ply_0() -> None:
    nim = course("nim", {"heaps": [9, 9, 9], "start": "p-position"})
    deal = nim.game.initial(dice(0))[1]
    assert deal is not None
    assert nim.begin()[1] == replace(deal, strikes=[])


def test_a_move_is_rolled_with_the_dice_of_its_ply() -> None:
    duel, _ = course("risk-duel", {}).begin()
    for to in range(4):
        duel, _ = duel.play(0, duel.game.decode_move({"do": "invade", "to": to}))
    attack = next(move for move in duel.game.legal_moves(duel.state) if move.do == "attack")
    _, expected = duel.game.apply(duel.state, attack, dice(4))
    assert expected.dice is not None
    assert duel.play(0, attack)[1] == expected


def test_a_seat_that_leaves_is_entered_in_the_digest_chain() -> None:
    before, _ = course("nim", {}).begin()
    after, event = before.drop_out(1, "timeout")
    assert after.digest == next_digest(before.digest, event, before.encoded_state)


def test_a_game_that_ends_by_a_limit_ends_by_it_for_every_seat() -> None:
    duel, _ = course("risk-duel", {"max_plies": 1}).begin()
    duel, _ = duel.play(0, duel.game.decode_move({"do": "invade", "to": 0}))
    assert duel.is_over
    assert duel.reason == duel.seat_reason(0) == duel.seat_reason(1) == "ply_limit"
    assert duel.ranks == (1, 1)


def test_who_is_left_alone_has_won_whatever_the_board_says() -> None:
    duel, _ = course("risk-duel", {}).begin()
    duel, _ = duel.drop_out(0, "resigned")
    assert (duel.seat_reason(0), duel.seat_reason(1)) == ("resigned", "win")


@pytest.mark.usefixtures("dibs")
def test_a_seat_that_left_stays_out_while_the_others_play() -> None:
    dibs, _ = Course.new("m-1", load_game("dibs"), ("ann", "bob", "cas"), b"c" * 32, SEED, (b"", b"", b"")).begin()
    dibs, _ = dibs.drop_out(0, "timeout")
    dibs, _ = dibs.play(0, 1)
    assert dibs.dropped_out == {0: "timeout"}
    assert dibs.seat_reason(0) == "timeout"

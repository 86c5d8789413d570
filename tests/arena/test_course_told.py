"""The course of a match as others see it: where it stands at first, whose dice it rolls, why each seat ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arena.referee.course import Course
from protocol.dice import Dice, match_key
from protocol.digest import next_digest
from protocol.games import load
from referee_table import SEED

NONCES = (b"\x01" * 16, b"")


def course(game: str, config: dict[str, Any], nonces: Sequence[bytes] = NONCES) -> Course:
    return Course("m-1", load(game, config), ("ann", "bob"), b"c" * 32, SEED, nonces)


def dice(ply: int) -> Dice:
    return Dice(match_key("m-1", SEED, NONCES), ply)


def test_before_it_begins_a_course_stands_at_ply_0_and_nobody_is_to_move() -> None:
    nim = course("nim", {})
    assert (nim.state, nim.ply, nim.to_move, nim.wire, nim.out) == (None, 0, None, {}, {})


def test_a_deal_is_drawn_with_the_dice_of_ply_0() -> None:
    nim = course("nim", {"heaps": [9, 9, 9], "start": "p-position"})
    assert nim.begin() == nim.game.initial(dice(0))[1]


def test_a_move_is_rolled_with_the_dice_of_its_ply() -> None:
    duel = course("risk-duel", {})
    duel.begin()
    for to in range(4):
        duel.play(duel.game.decode_move({"do": "invade", "to": to}))
    attack = next(move for move in duel.game.legal_moves(duel.state) if move.do == "attack")
    event, expected = duel.game.apply(duel.state, attack, dice(4))[1], duel.play(attack)
    assert event.dice is not None
    assert event == expected


def test_a_seat_that_leaves_is_entered_in_the_digest_chain() -> None:
    nim = course("nim", {})
    nim.begin()
    before = nim.digest
    event = nim.leave(1, "timeout")
    assert nim.digest == next_digest(before, event, nim.wire) != before


def test_a_game_that_ends_by_a_limit_ends_by_it_for_every_seat() -> None:
    duel = course("risk-duel", {"max_plies": 1})
    duel.begin()
    duel.play(duel.game.decode_move({"do": "invade", "to": 0}))
    assert duel.over
    assert duel.reason == duel.seat_reason(0) == duel.seat_reason(1) == "ply_limit"
    assert duel.ranks == (1, 1)

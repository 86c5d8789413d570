"""The course of a match, a value: events, dice, digests, standings, and why each seat ended."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from protocol.dice import Dice, match_key
from protocol.digest import first_digest, next_digest
from protocol.errors import IllegalMove
from protocol.games import load_game
from protocol.messages import CHANCE
from referee.course import Course
from referee_table import NONCES, SEED

pytestmark = pytest.mark.usefixtures("dibs")


def course(game: str = "nim", config: dict[str, Any] | None = None, names: tuple[str, ...] = ("ann", "bob")) -> Course:
    return Course.new("m-1", load_game(game, config), names, b"c" * 32, SEED, NONCES[: len(names)])


def dice(ply: int) -> Dice:
    return Dice(match_key("m-1", SEED, NONCES[:2]), ply)


def three() -> Course:
    return course("dibs", names=("ann", "bob", "cas")).begin()[0]


def test_the_digest_chain_is_that_of_the_protocol() -> None:
    nim, deal = course().begin()
    assert deal is None
    first = first_digest("m-1", "nim", nim.game.config, ["ann", "bob"], b"c" * 32, NONCES[:2])
    assert nim.digest == first
    after, event = nim.play(0, nim.game.decode_move({"heap": 0, "take": 3}))
    assert after.digest == next_digest(first, event, {"heaps": [0, 5, 7], "to_move": 1, "ply": 1})


def test_a_deal_is_an_event_with_the_dice_of_ply_0_and_the_first_turn_is_ply_1() -> None:
    before = course("nim", {"heaps": [9, 9, 9], "start": "p-position"})
    nim, deal = before.begin()
    drawn = nim.game.initial(dice(0))[1]
    assert drawn is not None
    assert deal == replace(drawn, strikes=[])
    assert (deal.ply, deal.seat) == (0, CHANCE)
    assert (nim.ply, nim.to_move) == (1, 0)
    assert nim.digest == next_digest(before.digest, deal, nim.encoded_state)


def test_an_illegal_move_is_refused() -> None:
    nim, _ = course().begin()
    with pytest.raises(IllegalMove):
        nim.play(0, nim.game.decode_move({"heap": 0, "take": 4}))


def test_whatever_happens_to_a_course_it_stays_what_it_was() -> None:
    dibs = three()
    digest, wire = dibs.digest, dict(dibs.encoded_state)
    dibs.play(0, 1)
    dibs.drop_out(2, "timeout")
    dibs.call_off()
    assert (dibs.ply, dibs.to_move, dibs.dropped_out, dibs.is_over) == (0, 0, {}, False)
    assert (dibs.digest, dibs.encoded_state) == (digest, wire)


def test_a_seat_that_leaves_a_match_of_two_loses_it() -> None:
    nim, event = course().begin()[0].drop_out(0, "resigned")
    assert (event.ply, event.seat, event.out) == (0, 0, "resigned")
    assert nim.is_over
    assert nim.ranks == (2, 1)
    assert nim.reason == "resigned"
    assert [nim.seat_reason(seat) for seat in (0, 1)] == ["resigned", "win"]


def test_of_three_the_first_to_leave_is_last_and_the_others_go_on() -> None:
    dibs, _ = three().drop_out(0, "timeout")
    assert not dibs.is_over
    assert (dibs.ply, dibs.to_move) == (0, 1)
    assert dibs.ranks == (3, 1, 1)
    dibs, _ = dibs.drop_out(2, "illegal")
    assert dibs.is_over
    assert dibs.ranks == (3, 1, 2)
    assert [dibs.seat_reason(seat) for seat in range(3)] == ["timeout", "win", "illegal"]


def test_a_game_that_ends_by_its_rules_is_won_by_them() -> None:
    nim, _ = course("nim", {"heaps": [1]}).begin()
    nim, _ = nim.play(0, nim.game.decode_move({"heap": 0, "take": 1}))
    assert nim.is_over
    assert nim.reason == nim.seat_reason(0) == "win"
    assert nim.ranks == (1, 2)


def test_a_void_match_is_a_tie_for_all() -> None:
    dibs = three().drop_out(0, "timeout")[0].call_off()
    assert dibs.is_over
    assert dibs.ranks == (1, 1, 1)
    assert dibs.reason == dibs.seat_reason(0) == "void"


def test_a_seat_that_leaves_after_another_was_conquered_ranks_before_it() -> None:
    four = course("risk-campaign", {"map": "south-america", "players": 4}, names=("ann", "bob", "cas", "dan"))
    four, _ = four.begin()
    four = replace(four, state=four.state._replace(owner=(0, 0, 2, 3), out=(1,)))
    four, _ = four.drop_out(2, "resigned")
    assert (four.is_over, four.ranks) == (False, (1, 4, 3, 1))
    four, _ = four.drop_out(0, "resigned")
    assert (four.is_over, four.ranks) == (True, (2, 4, 3, 1))


def test_before_it_begins_a_course_stands_at_ply_0_and_nobody_is_to_move() -> None:
    nim = course()
    assert (nim.state, nim.ply, nim.to_move, nim.encoded_state) == (None, 0, None, {})
    assert (nim.dropped_out, nim.is_void) == ({}, False)


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


def test_a_seat_that_left_stays_out_while_the_others_play() -> None:
    dibs, _ = three().drop_out(0, "timeout")
    dibs, _ = dibs.play(0, 1)
    assert dibs.dropped_out == {0: "timeout"}
    assert dibs.seat_reason(0) == "timeout"

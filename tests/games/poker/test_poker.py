"""The rules of Kuhn's and Leduc poker: hands by hand, and what each seat sees of them."""

from __future__ import annotations

import pytest

from games.poker.rules import Poker, PokerState
from protocol.dice import Dice
from protocol.errors import IllegalMove, MalformedMove
from protocol.games import load_game
from protocol.games.base import NO_DICE
from protocol.messages import CHANCE, Event

JACK, QUEEN, KING = 0, 1, 2


def dealt(game: Poker, one: int, two: int) -> PokerState:
    """The first hand, with these cards."""
    undealt = PokerState(0, 0, (0, 0), None, None, ("",), (1, 1), 0)
    return next(state for _, state in game.chance_outcomes(undealt) if state.cards == (one, two))


def played(game: Poker, state: PokerState, *moves: str, public: int | None = None) -> tuple[PokerState, Event]:
    """The state and the event after the last of these moves; the public card is laid when it is due."""
    event = Event(ply=0, seat=CHANCE)
    for move in moves:
        if game.to_move(state) == CHANCE:
            state = next(after for _, after in game.chance_outcomes(state) if after.public == public)
        state, event = game.apply(state, move, NO_DICE)
    return state, event


KUHN = load_game("kuhn", {"hands": 2})
LEDUC = load_game("leduc", {"hands": 2})


@pytest.mark.parametrize(
    ("moves", "chips", "result"),
    [
        (("check", "check"), (1, -1), {"won": 0, "chips": 1, "cards": [KING, QUEEN]}),
        (("bet", "call"), (2, -2), {"won": 0, "chips": 2, "cards": [KING, QUEEN]}),
        (("bet", "fold"), (1, -1), {"won": 0, "chips": 1}),
        (("check", "bet", "fold"), (-1, 1), {"won": 1, "chips": 1}),
        (("check", "bet", "call"), (2, -2), {"won": 0, "chips": 2, "cards": [KING, QUEEN]}),
    ],
)
def test_every_way_a_hand_of_kuhn_poker_goes(
    moves: tuple[str, ...], chips: tuple[int, int], result: dict[str, object]
) -> None:
    state, event = played(KUHN, dealt(KUHN, KING, QUEEN), *moves)
    assert state.chips == chips
    assert event.result == result
    assert KUHN.to_move(state) == CHANCE


def test_the_seats_take_turns_at_being_first() -> None:
    state, _ = played(KUHN, dealt(KUHN, KING, QUEEN), "check", "check")
    state, event = KUHN.apply_chance(state, Dice(bytes(32), state.at))
    assert KUHN.to_move(state) == 1
    assert event.seat == CHANCE
    state, _ = played(KUHN, state, "check", "check")
    assert KUHN.to_move(state) is None
    assert sum(KUHN.returns(state)) == 0


def test_all_cards_are_as_likely_to_be_dealt_and_never_the_same_twice() -> None:
    for game, cards in ((KUHN, 3), (LEDUC, 6)):
        outcomes = game.chance_outcomes(PokerState(0, 0, (0, 0), None, None, ("",), (1, 1), 0))
        assert {state.cards for _, state in outcomes} == {(a, b) for a in range(cards) for b in range(cards) if a != b}
        assert len({chance for chance, _ in outcomes}) == 1


@pytest.mark.parametrize(
    ("cards", "public", "won"),
    [((0, 4), 1, 0), ((0, 4), 2, 1), ((0, 4), 5, 1), ((2, 3), 0, None), ((2, 3), 5, None), ((2, 1), 4, 0)],
)
def test_in_leduc_a_pair_wins_then_the_higher_card(cards: tuple[int, int], public: int, won: int | None) -> None:
    state, event = played(LEDUC, dealt(LEDUC, *cards), "bet", "call", "bet", "call", public=public)
    assert event.result is not None
    assert event.result["won"] == won
    assert state.chips == {0: (7, -7), 1: (-7, 7), None: (0, 0)}[won]


def test_in_leduc_a_bet_is_raised_once_a_round_and_by_more_in_the_second() -> None:
    state, _ = played(LEDUC, dealt(LEDUC, 0, 4), "check", "bet", "raise")
    assert state.paid == (5, 3)
    assert LEDUC.legal_moves(state) == ["fold", "call"]
    state, _ = played(LEDUC, state, "call", "bet", "raise", public=2)
    assert state.paid == (9, 13)
    with pytest.raises(IllegalMove, match="raise is not possible now: one of fold, call"):
        LEDUC.apply(state, "raise", NO_DICE)
    folded, event = LEDUC.apply(state, "fold", NO_DICE)
    assert folded.chips == (-9, 9)
    assert event.result == {"won": 1, "chips": 9}


def test_the_same_seat_is_first_in_both_rounds_of_a_hand() -> None:
    state, _ = played(LEDUC, dealt(LEDUC, 0, 4), "check", "bet", "call")
    assert LEDUC.to_move(state) == CHANCE
    state = LEDUC.chance_outcomes(state)[0][1]
    assert LEDUC.to_move(state) == 0


def test_a_seat_sees_its_own_card_a_spectator_none_and_both_the_public_one() -> None:
    state, _ = played(LEDUC, dealt(LEDUC, 0, 4), "check", "check")
    state, event = LEDUC.apply_chance(state, Dice(bytes(32), state.at))
    wire = LEDUC.encode_state(state)
    assert [LEDUC.view(wire, seat)["cards"] for seat in (0, 1, None)] == [[0, None], [None, 4], [None, None]]
    assert {LEDUC.view(wire, seat)["public"] for seat in (0, 1, None)} == {state.public}
    assert LEDUC.view_event(event, None) == event
    assert LEDUC.draw_board(LEDUC.decode_state(LEDUC.view(wire, 0))).splitlines()[1].startswith("cards: J ?, public ")


def test_a_seat_can_tell_apart_neither_suits_nor_what_it_does_not_see() -> None:
    def known(*cards: int) -> object:
        return LEDUC.information_set(dealt(LEDUC, *cards), 0)

    assert known(0, 4) == known(1, 2) == known(0, 1)
    assert known(0, 4) != known(2, 4)


def test_moves_are_read_by_their_first_letters_and_a_wrong_one_is_answered_with_those_there_are() -> None:
    assert [KUHN.parse_move(letter) for letter in "fkcbr"] == ["fold", "check", "call", "bet", "raise"]
    with pytest.raises(MalformedMove, match="do is 'all in': it is one of fold, check, call, bet, raise"):
        KUHN.decode_move({"do": "all in"})

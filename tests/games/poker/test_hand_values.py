"""What decisions of poker gave away: exactly what a player loses against the equilibrium."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction

import pytest

from games.poker import grader as hand_values
from games.poker.grader import grader_of, hand_value_function, move_values
from games.poker.kuhn import Kuhn
from games.poker.rules import PokerState
from games.poker.strategies import equilibrium_of, knowledge_of, single_hand
from machine.exact.hand_solving import Knowledge, Number, best_response, strategy_value
from protocol.games.base import NO_DICE
from protocol.messages import CHANCE

Chances = Mapping[Knowledge, list[Fraction]]
JACK, QUEEN, KING = 0, 1, 2


def lots_of(game: str, seed: int) -> Chances:
    chance = random.Random(seed)
    found = {}
    for key, values in move_values(game).items():
        weights = [chance.randint(1, 9) for _ in values]
        found[key] = [Fraction(weight, sum(weights)) for weight in weights]
    return found


def given_away(game: str, strategy: Chances, seat: int) -> Number:
    """What the decisions of a seat with this strategy give away in a hand against the equilibrium, on average."""
    rules, start = single_hand(game)
    values, other = move_values(game), equilibrium_of(game)

    def walk(state: PokerState, chance: Number) -> Number:
        mover = rules.to_move(state)
        if mover is None:
            return 0
        if mover == CHANCE:
            return sum(walk(to, chance * share) for share, to in rules.chance_outcomes(state))
        key = knowledge_of(rules, state)
        total: Number = 0
        for at, move in enumerate(rules.legal_moves(state)):
            share = chance * (strategy if mover == seat else other)[key][at]
            if share:
                lost = max(values[key].values()) - values[key][move] if mover == seat else 0
                total += share * lost + walk(rules.apply(state, move, NO_DICE)[0], share)
        return total

    return walk(start, Fraction(1))


def won(game: str, strategy: Chances, seat: int) -> Number:
    rules, start = single_hand(game)
    both = {key: strategy[key] if key[0] == seat else chances for key, chances in equilibrium_of(game).items()}
    return strategy_value(rules, start, both) * (1, -1)[seat]


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("seed", range(5))
def test_what_decisions_of_kuhn_give_away_is_exactly_what_is_lost_to_the_equilibrium(seat: int, seed: int) -> None:
    strategy = lots_of("kuhn", seed)
    assert (Fraction(-1, 18), Fraction(1, 18))[seat] - won("kuhn", strategy, seat) == given_away("kuhn", strategy, seat)


@pytest.mark.parametrize("seat", [0, pytest.param(1, marks=pytest.mark.ci)])
def test_what_decisions_of_leduc_give_away_is_what_is_lost_to_its_table(seat: int) -> None:
    rules, start = single_hand("leduc")
    strategy = {key: [float(chance) for chance in chances] for key, chances in lots_of("leduc", seat).items()}
    best = best_response(rules, start, equilibrium_of("leduc"), seat)
    lost = float(best - won("leduc", strategy, seat))
    assert lost > 0.5
    assert lost == pytest.approx(float(given_away("leduc", strategy, seat)), rel=0.001)


@pytest.mark.parametrize(("game", "most"), [("kuhn", 0), ("leduc", 0.0001)])
def test_the_equilibrium_gives_nothing_away(game: str, most: float) -> None:
    strategy = {key: [Fraction(chance) for chance in chances] for key, chances in equilibrium_of(game).items()}
    assert 0 <= given_away(game, strategy, 0) <= most
    assert 0 <= given_away(game, strategy, 1) <= most


def kuhn(cards: tuple[int, int], bets: str, hand: int = 0) -> PokerState:
    paid = (2 if "b" in bets[::2] else 1, 2 if "b" in bets[1::2] else 1)
    seat = (hand + len(bets)) % 2
    if hand % 2:
        cards, paid = (cards[1], cards[0]), (paid[1], paid[0])
    return PokerState(3, hand, (0, 0), cards, None, (bets,), paid, seat)


@pytest.mark.parametrize("hand", [0, 1])
@pytest.mark.parametrize("other", [JACK, QUEEN])
def test_folding_a_king_gives_away_three_chips_whatever_the_other_holds_and_whoever_moves_first(
    hand: int, other: int
) -> None:
    found = grader_of(Kuhn({}))(kuhn((other, KING), "b", hand), "fold")
    assert (found.value, found.best, found.best_value) == (-1.0, "call", 2.0)


def test_a_bluff_as_good_as_a_check_is_no_mistake() -> None:
    found = grader_of(Kuhn({}))(kuhn((JACK, KING), ""), "bet")
    assert (found.value, found.best, found.best_value) == (-1.0, "bet", -1.0)


def test_cards_are_weighed_by_how_often_the_equilibrium_bets_with_them() -> None:
    # With a jack once in three times, with a king always.
    values = move_values("kuhn")[1, (QUEEN, None, ("b",))]
    assert values == {"fold": -1, "call": Fraction(1, 4) * 2 + Fraction(3, 4) * -2}


def test_a_bet_that_the_other_would_never_make_tells_nothing_of_its_card(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = {key: (Fraction(1), Fraction(0)) for key in equilibrium_of("kuhn") if key[1][2] == ("",)}  # type: ignore[index]
    monkeypatch.setattr(hand_values, "equilibrium_of", lambda game: {**equilibrium_of(game), **checks})
    values = move_values.__wrapped__("kuhn")[1, (QUEEN, None, ("b",))]
    assert values == {"fold": -1, "call": 0}


def test_every_decision_of_leduc_is_judged_also_where_the_equilibrium_never_leads() -> None:
    assert move_values("leduc").keys() == equilibrium_of("leduc").keys()
    assert len(move_values("leduc")) == 288


def test_a_hand_is_worth_as_much_to_who_moves_first_in_whatever_seat() -> None:
    worth = hand_value_function("kuhn")
    game = Kuhn({})
    first, second = game.state_before_deal(), game.state_before_deal()._replace(hand=1, seat=1)
    assert (worth(first), worth(second)) == (Fraction(-1, 18), Fraction(1, 18))
    assert worth(kuhn((KING, JACK), "k")) == -worth(kuhn((KING, JACK), "k", hand=1))

"""UCT by the rules alone finds what is worth most, in games with chance, hidden cards, rounds and three seats."""

from __future__ import annotations

import random
from typing import Any

import pytest

from bots.search.base import SearchLimit
from bots.search.uct import RulesTreeSearch, has_tree_search
from example_games import CONNECT_FOUR, ONE_CARD, PIG, TWENTY_ONE
from protocol.dice import Dice
from protocol.games import load_game
from protocol.games.base import NO_DICE, Game
from protocol.games.turn_game import TurnGame


def best_move(game: Game[Any, Any], state: Any, *, seat: int | None = None, sims: int = 300) -> Any:
    """Return the move that a search with a fixed seed finds."""
    below = random.Random(1).randrange
    return RulesTreeSearch(game).search(state, seat=seat, below=below, limit=SearchLimit(nodes=sims)).move


def played(game: Game[Any, Any], *moves: Any) -> Any:
    """Return the state after some moves, without chance."""
    state = game.initial(NO_DICE)[0]
    for move in moves:
        state = game.apply(state, move, NO_DICE)[0]
    return state


def test_it_wins_at_once_and_prevents_a_win() -> None:
    game = CONNECT_FOUR.rules({})
    assert best_move(game, played(game, 1, 7, 1, 7, 1, 6)) == 1, "the fourth disc on column 1"
    assert best_move(game, played(game, 1, 7, 1, 7, 3, 7), sims=600) == 7, "else the other has four"


def test_it_plays_nim_as_the_theory_says() -> None:
    game = load_game("nim", {"heaps": [1, 2]})
    after = game.apply(game.initial(NO_DICE)[0], best_move(game, game.initial(NO_DICE)[0], sims=800), NO_DICE)[0]
    assert sorted(heap for heap in game.encode_state(after)["heaps"] if heap) == [1, 1]


def test_chance_is_weighed_by_what_it_may_cost() -> None:
    game = PIG.rules({"target": 20})
    state = game.initial(NO_DICE)[0]
    wins = state._replace(state=state.state._replace(at_risk=20, scores=(0, 18)))
    assert best_move(game, wins) == "hold", "20 points win"
    lags = state._replace(state=state.state._replace(at_risk=19, scores=(0, 19)))
    assert best_move(game, lags) == "roll", "the other wins at its next turn, almost surely"


def test_a_seat_with_the_highest_card_never_folds() -> None:
    game = ONE_CARD.rules({})
    for seed in range(30):
        state = game.initial(Dice(bytes([seed]), 0))[0]
        if state.state.cards[1] != 2:
            continue
        seen = game.decode_state(game.view(game.encode_state(game.apply(state, "bet", NO_DICE)[0]), 1))
        assert seen.state.cards[0] is None
        assert best_move(game, seen) == "call"


def test_every_seat_of_three_plays_for_itself() -> None:
    game = TWENTY_ONE.rules({"last": 10})
    state = game.initial(NO_DICE)[0]
    at_eight = state._replace(state=state.state._replace(number=8))
    assert best_move(game, at_eight) == 1, "the next seat must say ten"


def test_in_a_round_a_seat_plays_its_dominant_move() -> None:
    game = load_game("dilemma", {"rounds": 1})
    state = game.initial(NO_DICE)[0]
    assert [game.notation(best_move(game, state, seat=seat, sims=1000)) for seat in (0, 1)] == ["defect", "defect"]


def test_equal_seeds_give_equal_searches() -> None:
    game = CONNECT_FOUR.rules({})
    found = [
        RulesTreeSearch(game).search(played(game, 4), below=random.Random(5).randrange, limit=SearchLimit(nodes=200))
        for _ in range(2)
    ]
    assert found[0] == found[1]


def test_a_won_position_is_estimated_as_won() -> None:
    game = CONNECT_FOUR.rules({})
    nearly_won = played(game, 1, 7, 2, 7, 3, 6)
    below = random.Random(1).randrange
    assert RulesTreeSearch(game).estimate_move(nearly_won, 4, 50, below) == 1
    assert RulesTreeSearch(game).estimate_move(nearly_won, 7, 200, below) < 0.8


def test_a_game_that_hides_something_and_cannot_draw_it_is_not_played() -> None:
    silent: Any = type("Silent", (ONE_CARD,), {"name": "silent", "guess": TurnGame.guess})
    with pytest.raises(ValueError, match="silent can't draw hidden information"):
        best_move(silent.rules({}), silent.rules({}).initial(Dice(b"", 0))[0])
    assert has_tree_search("kuhn")
    assert has_tree_search("nim")

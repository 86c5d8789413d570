"""Values of searches beside solvers that share no code with them: tic-tac-toe, and pig, where chance moves too."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, Literal, NamedTuple

import pytest

from bots.analysis import estimator
from bots.analysis.searches import CHANCELESS_SEARCHES, compare_searches
from bots.client.bot import Choice
from bots.evaluation.base import evaluate_as_draw
from bots.reference import search_bots
from bots.reference.search_bots import AlphaBeta, Greedy, Minimax
from bots.search import (
    WIN_VALUE,
    ChanceNotSupported,
    SearchLimit,
    TranspositionTable,
    alphabeta,
    deepen,
    expectiminimax,
    label_root,
    minimax,
    negamax,
    star1,
)
from bots.search.base import DealDue, SearchTree, has_deals, list_outcomes
from protocol.dice import Dice
from protocol.games import game_names, load_game
from protocol.games.base import NO_DICE, Game
from protocol.games.turn_game import CHANCE, TurnGame, TurnRules, TurnState, integer
from turns import turn

CHANCELESS = [minimax, negamax, alphabeta]
SEARCHES = [*CHANCELESS, expectiminimax, star1]
PIGS = [{}, {"dice": 2}, {"target": 4, "turns": 3}, {"target": 7, "dice": 2, "turns": 4}]
"""One die or two, each a deal of its own; without and with an end."""


Choosing = Literal["roll", "hold"]


class Throw(NamedTuple):
    """The scores, the seat whose turn it is, its pot, and of its throw the dice due and the sum of the others."""

    scores: tuple[int, int] = (0, 0)
    seat: int = 0
    pot: int = 0
    due: int = 0
    thrown: int = 0
    turns: int = 0


class Pig(TurnGame[Throw, Choosing]):
    """Add throws to your pot, or keep the pot and pass. A one in a throw loses the pot and the turn.

    Each of the `dice` is a deal of its own. Who would reach the target has to hold. After so many `turns` (0: no limit)
    the higher score wins.
    """

    name = "pig"
    target = integer(5, minimum=2, maximum=20)
    dice = integer(1, minimum=1, maximum=2)
    faces = integer(3, minimum=2, maximum=6)
    turns = integer(0, minimum=0, maximum=9)

    def start(self) -> Throw:
        return Throw()

    def turn(self, state: Throw) -> int | None:
        if max(state.scores) >= self.target or 0 < self.turns == state.turns:
            return None
        return CHANCE if state.due else state.seat

    def moves(self, state: Throw) -> list[Choosing]:
        if state.scores[state.seat] + state.pot >= self.target:
            return ["hold"]
        return ["roll", "hold"] if state.pot else ["roll"]

    def play(self, state: Throw, move: Choosing) -> Throw:
        return state._replace(due=self.dice, thrown=0) if move == "roll" else self.pass_turn(state, state.pot)

    def pass_turn(self, state: Throw, gained: int) -> Throw:
        one, two = (score + gained * (seat == state.seat) for seat, score in enumerate(state.scores))
        return Throw((one, two), 1 - state.seat, turns=state.turns + 1)

    def chances(self, state: Throw) -> list[tuple[int, Throw]]:
        return [(1, self.after_die(state, face)) for face in range(1, self.faces + 1)]

    def after_die(self, state: Throw, face: int) -> Throw:
        if face == 1:
            return self.pass_turn(state, 0)
        thrown, due = state.thrown + face, state.due - 1
        return state._replace(due=due, thrown=thrown) if due else state._replace(pot=state.pot + thrown, due=0)

    def winner(self, state: Throw) -> int | None:
        one, two = state.scores
        return None if one == two else int(two > one)

    def draw(self, state: Throw) -> str:
        return str(state)


PigRules = TurnRules[Throw, Choosing]


def positions(rules: Game[Any, Any], plies: Sequence[int], seed: int) -> list[Any]:
    """Unfinished positions in which a seat is to move, some random moves (and their deals) from the first."""
    draw, found = random.Random(seed), []
    for count in plies:
        state, left = rules.initial(NO_DICE)[0], count
        while left:
            state, left = rules.apply(state, draw.choice(rules.legal_moves(state)), NO_DICE)[0], left - 1
            while rules.to_move(state) == CHANCE:
                state = rules.apply_chance(state, Dice(draw.randbytes(8), 0))[0]
            if rules.to_move(state) is None:
                state, left = rules.initial(NO_DICE)[0], count
        found.append(state)
    return found


@cache
def tictactoe_value(board: str, mover: str, other: str) -> int:
    """A win of the mover after n plies is worth 10 - n, a draw 0, a loss n - 10."""
    lines = [board[:3], board[3:6], board[6:], board[::3], board[1::3], board[2::3], board[::4], board[2:7:2]]
    if other * 3 in lines:
        return -10
    values = [
        -tictactoe_value(board[:at] + mover + board[at + 1 :], other, mover) for at in range(9) if board[at] == "."
    ]
    return max((value - (value > 0) + (value < 0) for value in values), default=0)


def test_tic_tac_toe_is_worth_what_plain_recursion_says() -> None:
    rules = load_game("tictactoe")
    root = rules.initial(NO_DICE)[0]
    assert alphabeta(rules, root, table=TranspositionTable()).value == tictactoe_value("." * 9, "X", "O") == 0
    values = set()
    for state in positions(rules, (4, 4, 5, 5, 5, 6, 6, 6, 7, 7), 47):
        board = "".join(".XO"[cell] for cell in state.cells)
        value = tictactoe_value(board, *("XO" if rules.to_move(state) == 0 else "OX"))
        assert [search(rules, state).value for search in SEARCHES] == [value] * len(SEARCHES)
        assert label_root(rules, state).value == (value > 0) - (value < 0)
        values.add(value)
    assert len(values) > 3


def pig_value(rules: PigRules, state: TurnState, depth: int) -> float:
    """The value for the seat to move, `depth` moves deep, a draw at the horizon: backward over scores alone."""
    game, begun = rules.turn_game, state.state
    faces = list(product(range(1, game.faces + 1), repeat=game.dice))

    @cache
    def value(own: int, other: int, pot: int, turns: int, ply: int) -> Fraction:
        if max(own, other) >= game.target or turns == game.turns > 0:
            return ((own > other) - (own < other)) * (Fraction(WIN_VALUE) - ply)
        if ply == depth:
            return Fraction(0)
        hold = -value(other, own + pot, 0, turns + 1, ply + 1)
        if own + pot >= game.target:
            return hold
        roll = Fraction(0)
        for thrown in faces:
            if 1 in thrown:
                roll -= value(other, own, 0, turns + 1, ply + 1) / len(faces)
            else:
                roll += value(own, other, pot + sum(thrown), turns, ply + 1) / len(faces)
        return max(roll, hold) if pot else roll

    return float(value(begun.scores[begun.seat], begun.scores[1 - begun.seat], begun.pot, begun.turns, 0))


@pytest.mark.parametrize("config", PIGS, ids=str)
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_pig_is_worth_what_plain_recursion_says_though_chance_moves_between(config: Any, depth: int) -> None:
    rules = Pig.rules(config)
    for state in positions(rules, (0, 2, 3, 5), depth):
        value = pytest.approx(pig_value(rules, state, depth), abs=1e-6)
        assert expectiminimax(rules, state, depth=depth).value == value
        assert star1(rules, state, depth=depth).value == value
        assert star1(rules, state, depth=depth, table=TranspositionTable()).value == value
        deepened: Any = deepen(rules, state, star1, limit=SearchLimit(), max_depth=depth, table=TranspositionTable())
        assert deepened.value == value


def test_pig_with_an_end_is_searched_whole() -> None:
    rules = Pig.rules({"target": 4, "turns": 3})
    root = rules.initial(NO_DICE)[0]
    for search in (expectiminimax, star1):
        found = search(rules, root)
        assert found.complete
        assert found.value == pytest.approx(pig_value(rules, root, 100), abs=1e-6)


def iterate_pig(game: Pig) -> dict[tuple[int, ...], tuple[float, float]]:
    """The chances to win of rolling and of holding, by own score, other's, and pot: value iteration without an end."""
    target, faces = game.target, list(product(range(1, game.faces + 1), repeat=game.dice))
    found = {key: (0.0, 0.0) for key in product(range(target), repeat=3) if key[0] + key[2] < target}

    def best(own: int, other: int, pot: int) -> float:
        if own + pot >= target:
            return 1.0
        roll, hold = found[own, other, pot]
        return max(roll, hold) if pot else roll

    change = 1.0
    while change > 1e-9:
        change = 0.0
        for own, other, pot in found:
            thrown = [1 - best(other, own, 0) if 1 in dice else best(own, other, pot + sum(dice)) for dice in faces]
            now = sum(thrown) / len(faces), 1 - best(other, own + pot, 0)
            change = max(change, *(abs(one - two) for one, two in zip(now, found[own, other, pot], strict=True)))
            found[own, other, pot] = now
    return found


@pytest.fixture(scope="module", params=[{"target": 7, "faces": 2}, {"target": 11, "dice": 2}], ids=str)
def solved(
    request: pytest.FixtureRequest,
) -> tuple[PigRules, Callable[[TurnState], dict[str, float]]]:
    """Pig without an end, and the chance to win by each legal move of a position."""
    rules = Pig.rules(request.param)
    table = iterate_pig(rules.turn_game)

    def chances(state: TurnState) -> dict[str, float]:
        scores, seat, pot, *_ = state.state
        roll, hold = table.get((scores[seat], scores[1 - seat], pot), (0.0, 1.0))
        return {move: {"roll": roll, "hold": hold}[move] for move in rules.legal_moves(state)}

    return rules, chances


def opinion(chances: Callable[[TurnState], dict[str, float]], scale: float = WIN_VALUE) -> Any:
    """The solver as an evaluation, on the scale of wins. It has none for a position in which chance moves."""

    def evaluate(rules: Game[Any, Any], state: TurnState, seat: int) -> float:
        assert rules.to_move(state) in (0, 1)
        lead = 2 * max(chances(state).values()) - 1
        return scale * (lead if state.state.seat == seat else -lead)

    return evaluate


def decisions(rules: PigRules) -> list[TurnState]:
    """Some of the positions that have two moves."""
    target = rules.turn_game.target
    found = [
        TurnState(Throw((one, two), seat, pot), 0)
        for one, two, pot, seat in product(range(target), range(target), range(1, target), (0, 1))
    ]
    return random.Random(7).sample([state for state in found if len(rules.legal_moves(state)) == 2], 40)


@pytest.mark.parametrize("depth", [1, 3])
def test_with_the_values_of_value_iteration_at_the_horizon_searches_find_these_values(solved: Any, depth: int) -> None:
    rules, chances = solved
    evaluate = opinion(chances)
    best = set()
    for state in decisions(rules):
        worth = chances(state)
        best.add(max(worth, key=lambda move: worth[move]))
        for search in (expectiminimax, star1):
            found = search(rules, state, depth=depth, evaluate=evaluate)
            assert found.value == pytest.approx(WIN_VALUE * (2 * max(worth.values()) - 1), abs=depth + 0.1)
            assert worth[found.move] == pytest.approx(max(worth.values()), abs=1e-5)
    assert best == {"roll", "hold"}


def test_bots_play_pig_as_value_iteration_does(solved: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rules, chances = solved
    monkeypatch.setattr(search_bots, "load_evaluation_for", lambda game, name: opinion(chances))
    for state in decisions(rules):
        worth = chances(state)
        for bot in (Greedy("g"), Minimax("m", depth=2), AlphaBeta("a", depth=2)):
            chosen = bot.choose(turn(rules, state))
            assert isinstance(chosen, Choice)
            assert chosen.value == pytest.approx(WIN_VALUE * (2 * max(worth.values()) - 1), abs=2.1)
            assert worth[rules.decode_move(chosen.move)] == pytest.approx(max(worth.values()), abs=1e-5)


def test_estimates_go_on_from_positions_after_the_deals(solved: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rules, chances = solved
    evaluate = opinion(chances, 1.0)

    class Exact:
        def warm_up(self) -> None: ...

        def search(self, state: TurnState, **options: Any) -> Any:
            return expectiminimax(rules, state, depth=1, evaluate=evaluate)

        def estimate_wins(self, state: TurnState, seat: int, sims: int, below: Any) -> float:
            value: float = evaluate(rules, state, seat)
            return (1 + value) / 2

    monkeypatch.setattr(estimator, "uct_games", lambda: ("pig",))
    monkeypatch.setattr(estimator, "uct_for", lambda game: Exact())
    judge = estimator.UctMoveEvaluator(rules, 8 * 2 * 3**4, "s")
    for state in decisions(rules):
        for move, chance in chances(state).items():
            assert judge.evaluate_move(state, move, state.ply).value == pytest.approx(2 * chance - 1, abs=1e-6)


@pytest.mark.parametrize("config", PIGS, ids=str)
def test_a_comparison_of_searches_counts_deals_as_chance(config: Any) -> None:
    rules = Pig.rules(config)
    root = rules.initial(NO_DICE)[0]
    runs = compare_searches(rules, root, 3, evaluate_as_draw).searches
    assert {run.algorithm for run in runs} == {"expectiminimax", "star1", "star1+table", "deepening"}
    assert {run.algorithm for run in runs}.isdisjoint(CHANCELESS_SEARCHES)
    assert [run.value for run in runs] == pytest.approx([pig_value(rules, root, 3)] * len(runs), abs=1e-6)


def test_a_deal_after_a_deal_is_part_of_the_move_before_them() -> None:
    rules = Pig.rules({"dice": 2})
    root = rules.initial(NO_DICE)[0]
    outcomes = list_outcomes(rules, root, "roll")
    assert sum(chance for chance, _ in outcomes) == 1
    assert sorted((chance, after.state.seat, after.state.pot) for chance, after in outcomes) == sorted(
        [(Fraction(1, 9), 0, pot) for pot in (4, 5, 5, 6)] + [(Fraction(1, 9), 1, 0)] * 2 + [(Fraction(1, 3), 1, 0)]
    )


@pytest.mark.parametrize("search", [*CHANCELESS, label_root])
def test_a_search_for_games_without_chance_refuses_deals(search: Any) -> None:
    rules = Pig.rules({"turns": 2})
    with pytest.raises(ChanceNotSupported, match="pig has chance"):
        search(rules, rules.initial(NO_DICE)[0])


@pytest.mark.parametrize("search", [*SEARCHES, label_root])
def test_no_search_begins_with_a_deal(search: Any) -> None:
    rules = Pig.rules({})
    due = rules.apply(rules.initial(NO_DICE)[0], "roll", NO_DICE)[0]
    with pytest.raises(DealDue, match="pig: a deal comes before the next move"):
        search(rules, due)


def test_games_without_deals_pay_nothing_for_them() -> None:
    assert {name for name in game_names() if has_deals(load_game(name))} == {"kuhn", "leduc"}
    rules = load_game("tictactoe")
    assert SearchTree(rules, rules.initial(NO_DICE)[0]).outcomes == rules.outcomes

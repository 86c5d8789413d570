"""All searches agree on the value of every position; they differ in what they visit."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import pytest

from bots.evaluation import load_evaluation
from bots.search import (
    WIN_VALUE,
    ChanceNotSupported,
    LimitReached,
    SearchLimit,
    SearchResult,
    TranspositionTable,
    alphabeta,
    deepen,
    expectiminimax,
    label_root,
    minimax,
    negamax,
    star1,
)
from games.nim.rules import Position
from games.tictactoe.evaluation import open_line_difference
from games.tictactoe.rules import Grid
from protocol.dice import Dice
from protocol.errors import UsageFault
from protocol.games import load_game
from protocol.games.base import NO_DICE, Game
from protocol.messages import Event

PLAIN = [minimax, negamax, expectiminimax, alphabeta, star1]
PRUNING = [alphabeta, star1]


class Race(NamedTuple):
    """How far each seat has come, and the ply."""

    squares: tuple[int, ...]
    at: int


class DiceRace(Game[Race, int]):
    """A game with chance, small enough to search whole: roll carefully (1) or boldly (0 to 3); first at `goal` wins.

    After `plies` the seat that is ahead wins, an equal distance is a draw.
    """

    name = "race"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    draw_probability = 0.1

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = {"goal": 4, "plies": 5, "seats": 2, **config}
        self.seats = int(self.config["seats"])

    def initial(self, dice: Dice) -> tuple[Race, None]:
        return Race((0,) * self.seats, 0), None

    def to_move(self, state: Race) -> int | None:
        over = max(state.squares) >= self.config["goal"] or state.at >= self.config["plies"]
        return None if over else state.at % self.seats

    def ply(self, state: Race) -> int:
        return state.at

    def key(self, state: Race) -> tuple[tuple[int, ...], int, int]:
        left = self.config["plies"] - state.at
        return state.squares, state.at % self.seats, left

    def legal_moves(self, state: Race) -> list[int]:
        return [0, 1, 2]

    def _step(self, state: Race, squares: int) -> Race:
        seat = state.at % self.seats
        gone = [there + squares * (i == seat) for i, there in enumerate(state.squares)]
        if squares == 3:
            gone = [max(0, there - (i != seat)) for i, there in enumerate(gone)]
        return Race(tuple(gone), state.at + 1)

    def outcomes(self, state: Race, move: int) -> Sequence[tuple[Fraction, Race]]:
        if move == 1:
            return ((Fraction(1), self._step(state, 1)),)
        odds = {0: (Fraction(1, 2), 0), 2: (Fraction(1, 3), 2), 3: (Fraction(1, 6), 3)}
        if move == 2:
            return tuple((chance, self._step(state, squares)) for chance, squares in odds.values())
        return ((Fraction(3, 4), self._step(state, 2)), (Fraction(1, 4), self._step(state, 0)))

    def apply(self, state: Race, move: int, dice: Dice) -> tuple[Race, Event]:
        raise AssertionError("searches ask for outcomes")

    def ranks(self, state: Race) -> tuple[int, ...]:
        return tuple(1 + sum(other > own for other in state.squares) for own in state.squares)

    def encode_state(self, state: Race) -> dict[str, Any]:
        return {"squares": state.squares}

    def decode_state(self, wire: Mapping[str, Any]) -> Race:
        return Race(tuple(wire["squares"]), wire["ply"])

    def encode_move(self, move: int) -> dict[str, Any]:
        return {"roll": move}

    def decode_move(self, wire: Any) -> int:
        return int(wire["roll"])

    def draw_board(self, state: Race) -> str:
        return str(state.squares)

    def notation(self, move: int) -> str:
        return str(move)


def race_lead(rules: Game[Any, Any], state: Any, seat: int) -> float:
    ahead: int = state.squares[seat] - max(there for i, there in enumerate(state.squares) if i != seat)
    return ahead / 10


def walk(rules: Game[Any, Any], plies: int, chance: random.Random) -> Any:
    """A state some random moves into the game, not finished."""
    state = rules.initial(NO_DICE)[0]
    for _ in range(plies):
        following = chance.choice(rules.outcomes(state, chance.choice(rules.legal_moves(state))))[1]
        if rules.to_move(following) is None:
            break
        state = following
    return state


GAMES = [
    ("tictactoe", {}, 4),
    ("nim", {"heaps": [3, 3, 2]}, 1),
    ("nim", {"heaps": [4, 5], "take": [1, 2, 3], "misere": True}, 1),
    ("grundy", {"heaps": [7, 6]}, 2),
]


@pytest.mark.parametrize(("game", "config", "plies"), GAMES)
def test_all_searches_agree_on_the_value_of_random_positions(game: str, config: dict[str, Any], plies: int) -> None:
    rules, chance = load_game(game, config), random.Random(1)
    for _ in range(8):
        state = walk(rules, plies + chance.randrange(3), chance)
        expected = minimax(rules, state).value
        for search in PLAIN:
            found = search(rules, state)
            assert found.value == expected
            assert found.complete
        assert alphabeta(rules, state, table=TranspositionTable()).value == expected
        assert deepen(rules, state, star1, limit=SearchLimit(), table=TranspositionTable()).value == expected
        assert label_root(rules, state).value == (expected > 0) - (expected < 0)


@pytest.mark.parametrize(("game", "config", "plies"), GAMES)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_all_searches_agree_at_a_fixed_depth(game: str, config: dict[str, Any], plies: int, depth: int) -> None:
    rules, chance = load_game(game, config), random.Random(depth)
    evaluate = load_evaluation(game)
    table = TranspositionTable()
    for _ in range(6):
        state = walk(rules, chance.randrange(3), chance)
        expected = minimax(rules, state, depth=depth, evaluate=evaluate).value
        for search in PLAIN:
            assert search(rules, state, depth=depth, evaluate=evaluate).value == expected
        if rules.to_move(state) == 0:
            assert alphabeta(rules, state, depth=depth, evaluate=evaluate, table=table).value == expected


@pytest.mark.parametrize("seats", [2, 3])
@pytest.mark.parametrize("depth", [2, 3, 4, 100])
def test_star1_agrees_with_expectiminimax_under_chance(depth: int, seats: int) -> None:
    rules, chance = DiceRace({"seats": seats}), random.Random(depth)
    fewer = 0
    for _ in range(5):
        state = walk(rules, chance.randrange(3), chance)
        plain = expectiminimax(rules, state, depth=depth, evaluate=race_lead)
        pruned = star1(rules, state, depth=depth, evaluate=race_lead)
        tabled = star1(rules, state, depth=depth, evaluate=race_lead, table=TranspositionTable())
        assert pruned.value == pytest.approx(plain.value)
        assert tabled.value == pytest.approx(plain.value)
        assert pruned.nodes <= plain.nodes
        fewer += pruned.nodes < plain.nodes
    assert fewer or depth == 2


def test_a_table_kept_between_moves_does_not_change_values_under_chance() -> None:
    rules, chance, table = DiceRace({}), random.Random(5), TranspositionTable()
    for plies in (0, 2, 4):
        state = Race((plies // 2, 1), plies) if plies < 4 else walk(rules, 0, chance)
        found = deepen(rules, state, star1, limit=SearchLimit(), max_depth=5, evaluate=race_lead, table=table)
        assert found.value == pytest.approx(expectiminimax(rules, state, depth=5, evaluate=race_lead).value)


@pytest.mark.parametrize("search", [minimax, negamax, alphabeta, label_root])
def test_a_search_for_games_without_chance_refuses_a_game_with_chance(search: Any) -> None:
    rules = DiceRace({})
    with pytest.raises(ChanceNotSupported, match="race has chance"):
        search(rules, rules.initial(NO_DICE)[0])


def visited(rules: Any, state: Any) -> int:
    return 1 + sum(visited(rules, rules.outcomes(state, move)[0][1]) for move in rules.legal_moves(state))


def test_minimax_visits_every_course_of_tic_tac_toe_from_a_position() -> None:
    rules = load_game("tictactoe")
    state = rules.initial(NO_DICE)[0]
    for move in (0, 4):
        state = rules.outcomes(state, rules.legal_moves(state)[move])[0][1]
    found = minimax(rules, state)
    assert found.nodes == visited(rules, state)
    assert found.max_ply == 7


@pytest.mark.nightly
def test_minimax_visits_all_549946_positions_of_tic_tac_toe() -> None:
    rules = load_game("tictactoe")
    found = minimax(rules, rules.initial(NO_DICE)[0])
    assert (found.nodes, found.leaves, found.value, found.max_ply) == (549946, 255168, 0, 9)


@pytest.mark.parametrize("search", PRUNING)
def test_alphabeta_visits_under_four_percent_of_that(search: Any) -> None:
    rules = load_game("tictactoe")
    root = rules.initial(NO_DICE)[0]
    plain, tabled = search(rules, root), search(rules, root, table=TranspositionTable())
    assert plain.value == tabled.value == 0
    assert plain.nodes < 0.04 * 549946
    assert tabled.nodes < plain.nodes


@pytest.mark.parametrize("search", PLAIN)
def test_the_quicker_of_two_wins_is_chosen(search: Any) -> None:
    rules = load_game("tictactoe")
    found = search(rules, Grid((1, 1, 0, 2, 2, 0, 0, 0, 0)))
    assert (found.move, found.value, found.line) == (2, 9, (2,))


@pytest.mark.parametrize("search", PLAIN)
def test_a_loss_is_put_off_as_long_as_it_can_be(search: Any) -> None:
    rules = load_game("nim", {"heaps": [1, 2, 3]})
    found = search(rules, Position((1, 2, 3), 0, 0))
    assert found.value == 6 - WIN_VALUE
    assert len(found.line) == 6


@pytest.mark.parametrize("search", PLAIN)
def test_the_principal_variation_is_legal_and_leads_to_the_value(search: Any) -> None:
    rules = load_game("grundy", {"heaps": [8]})
    state = root = rules.initial(NO_DICE)[0]
    found = search(rules, root)
    for move in found.line:
        assert move in rules.legal_moves(state)
        state = rules.outcomes(state, move)[0][1]
    assert rules.to_move(state) is None
    assert found.move == found.line[0]
    sign = 1 if rules.ranks(state)[0] == 1 else -1
    assert found.value == sign * (WIN_VALUE - len(found.line))


@pytest.mark.parametrize("search", PLAIN)
def test_a_finished_game_has_no_move(search: Any) -> None:
    rules = load_game("nim", {"heaps": [0]})
    found = search(rules, rules.initial(NO_DICE)[0])
    assert (found.move, found.nodes, found.leaves) == (None, 1, 1)


@pytest.mark.parametrize(
    ("game", "config", "label"), [("nim", {"heaps": [2, 3, 3]}, "won"), ("tictactoe", {}, "drawn")]
)
def test_the_strategy_of_a_position_keeps_its_value_against_every_reply(
    game: str, config: dict[str, Any], label: str
) -> None:
    rules = load_game(game, config)
    root = rules.initial(NO_DICE)[0]
    found = label_root(rules, root)
    assert found.label == label
    waiting, games = [root], 0
    while waiting:
        state = waiting.pop()
        if rules.to_move(state) is None:
            assert rules.ranks(state)[0] == 1
            games += 1
            continue
        mine = rules.to_move(state) == 0
        moves = [found.strategy[rules.key(state)]] if mine else rules.legal_moves(state)
        waiting += [rules.outcomes(state, move)[0][1] for move in moves]
    assert games > 5


def test_there_is_no_strategy_for_a_lost_position() -> None:
    rules = load_game("grundy", {"heaps": [7]})
    found = label_root(rules, rules.initial(NO_DICE)[0])
    assert (found.label, found.strategy) == ("lost", {})


def test_deepening_finds_what_the_deepest_finished_search_finds() -> None:
    rules = load_game("nim")
    root = rules.initial(NO_DICE)[0]
    found: SearchResult[Any] = deepen(
        rules, root, minimax, limit=SearchLimit(), max_depth=3, evaluate=load_evaluation("nim")
    )
    plain = minimax(rules, root, depth=3, evaluate=load_evaluation("nim"))
    assert (found.value, found.move, found.depth) == (plain.value, plain.move, 3)
    assert found.nodes > plain.nodes


def test_deepening_has_a_legal_answer_when_nothing_could_be_searched() -> None:
    rules = load_game("nim")
    root = rules.initial(NO_DICE)[0]
    found: SearchResult[Any] = deepen(rules, root, star1, limit=SearchLimit(nodes=1))
    assert found.move in rules.legal_moves(root)
    assert found.depth == 0


def test_deepening_ends_at_its_deadline() -> None:
    rules = load_game("nim", {"preset": "min-nim"})
    ticks = iter(range(10_000))
    limit = SearchLimit(deadline=50, clock=lambda: float(next(ticks)))
    found: SearchResult[Any] = deepen(rules, rules.initial(NO_DICE)[0], star1, limit=limit)
    assert found.depth >= 1
    assert next(ticks) == 51


def test_deepening_stops_when_the_end_is_forced() -> None:
    rules = load_game("tictactoe")
    found: SearchResult[Any] = deepen(rules, Grid((1, 1, 0, 2, 2, 0, 0, 0, 0)), star1, limit=SearchLimit())
    assert (found.move, found.depth) == (2, 1)


def test_deepening_counts_the_nodes_of_the_depth_it_did_not_finish() -> None:
    rules = load_game("nim")
    found: SearchResult[Any] = deepen(rules, rules.initial(NO_DICE)[0], star1, limit=SearchLimit(nodes=500))
    assert found.nodes == 501


def test_a_search_stops_when_its_nodes_are_spent() -> None:
    rules = load_game("nim")
    with pytest.raises(LimitReached):
        minimax(rules, rules.initial(NO_DICE)[0], limit=SearchLimit(nodes=100))


def test_a_full_table_begins_anew() -> None:
    rules = load_game("tictactoe")
    table = TranspositionTable(max_entries=100)
    assert alphabeta(rules, rules.initial(NO_DICE)[0], table=table).value == 0
    assert len(table) <= 100


def test_lines_are_the_open_lines_of_one_side_less_those_of_the_other() -> None:
    corner = Grid((1, 0, 0, 0, 2, 0, 0, 0, 0))
    assert open_line_difference(corner, 0) == 4 - 5
    assert open_line_difference(corner, 1) == -open_line_difference(corner, 0)


@pytest.mark.parametrize("game", ["nim", "grundy", "tictactoe"])
def test_an_evaluation_lies_between_a_loss_and_a_win(game: str) -> None:
    rules, chance = load_game(game), random.Random(2)
    for plies in range(6):
        state = walk(rules, plies, chance)
        assert all(-1 < load_evaluation(game)(rules, state, seat) < 1 for seat in (0, 1))


def test_an_unknown_evaluation_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageFault, match="nim has no evaluation 'lines': one of parity, none"):
        load_evaluation("nim", "lines")

"""The search of bounded Risk on flat arrays finds what the rules and the generic search find."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from bots.evaluation import load_evaluation
from bots.search import WIN_VALUE, SearchLimit, expectiminimax
from exact_boards import PAIR, board
from games.risk.evaluation import features
from games.risk.rules.duel import Action, Duel, Position
from games.risk.search import duel_search as flat
from games.risk.search import flat_position
from games.risk.search.duel_search import DuelSearch
from games.risk.search.flat_duel import duel_board
from games.risk.search.flat_position import FEATURES, MODES, cell_of, evaluate, make_state, scale_values
from games.risk.search.work_buffers import STOP, make_random_numbers, reset_counts
from kept_code import kept
from machine.compiled import floats, ints
from protocol.games.base import NO_DICE
from risk_positions import SMALL, count_paths, duel_position, duel_search, duel_searches
from volumes import examples

peek, put = kept(flat_position.evaluate_change), kept(flat_position.set_cell)
EVALUATIONS = ("features", "unam", "none")
LAND = board(PAIR).encoded


@pytest.mark.parametrize("name", EVALUATIONS)
def test_expectiminimax_finds_and_counts_what_the_generic_search_does(name: str) -> None:
    evaluate = load_evaluation("risk-duel", name)
    for i, (search, position) in enumerate(duel_searches(examples(50, nightly=100), SMALL[:4], seed=1)):
        depth = 1 + i % 3
        found = search.search(position, depth=depth, algorithm="expectiminimax", evaluation=name, limit=SearchLimit())
        generic = [
            expectiminimax(search.rules, position, depth=at, evaluate=evaluate) for at in range(1, found.depth + 1)
        ]
        assert found.value == pytest.approx(generic[-1].value, rel=1e-6, abs=1e-2)
        assert found.nodes == sum(each.nodes for each in generic)
        assert found.leaves == sum(each.leaves for each in generic)
        assert (found.max_ply, found.complete) == (generic[-1].max_ply, generic[-1].complete)
        assert found.depth == depth or found.complete or abs(found.value) > 0.95e6


def test_alphabeta_finds_the_value_of_expectiminimax() -> None:
    for i, (search, position) in enumerate(
        duel_searches(examples(250, nightly=1000), ("south-america", "africa", "europe"), seed=2)
    ):
        depth, name = 1 + i % (4 if search.rules.map.name == "europe" else 5), EVALUATIONS[i % 3]
        plain = search.search(position, depth=depth, algorithm="expectiminimax", evaluation=name, limit=SearchLimit())
        pruned = search.search(position, depth=depth, algorithm="alphabeta", evaluation=name, limit=SearchLimit())
        assert pruned.value == pytest.approx(plain.value, rel=1e-9, abs=1e-6), (position, depth, name)


def test_alphabeta_plays_a_move_of_the_greatest_value() -> None:
    for search, position in duel_searches(50, ("africa",), seed=3):
        found = search.search(position, depth=3, algorithm="alphabeta", limit=SearchLimit())
        if found.depth == 3:
            assert found.move is not None
            assert after_move(search, position, found.move, depth=2) == pytest.approx(found.value, rel=1e-6, abs=2)


def after_move(search: DuelSearch, position: Position, move: Action, depth: int) -> float:
    """What the move is worth by the generic search; a win is one ply nearer than from the position."""

    def evaluate(rules: Any, state: Any, seat: int) -> float:
        return -features(rules, state, 1 - seat)

    def value(result: Position) -> float:
        if search.rules.to_move(result) is None:
            return (
                WIN_VALUE
                if search.rules.ranks(result)[position.seat] < search.rules.ranks(result)[result.seat]
                else 0.0
            )
        return -expectiminimax(search.rules, result, depth=depth, evaluate=evaluate).value

    return sum(float(chance) * value(result) for chance, result in search.rules.outcomes(position, move))


@pytest.mark.parametrize("plies", [0, 10, 14, *(pytest.param(plies, marks=pytest.mark.ci) for plies in (8, 12, 16))])
def test_alphabeta_visits_at_most_a_tenth_six_plies_deep_on_africa(plies: int) -> None:
    search = duel_search("africa")
    position = duel_position(search.rules, random.Random(plies), plies)
    nodes = {
        algorithm: [
            search.search(position, depth=depth, algorithm=algorithm, limit=SearchLimit()).nodes for depth in (5, 6)
        ]
        for algorithm in ("expectiminimax", "alphabeta")
    }
    plain, pruned = (before_last[1] - before_last[0] for before_last in nodes.values())
    assert pruned * 10 <= plain


@pytest.mark.parametrize(
    ("map_", "depth"),
    [
        *((name, 4) for name in ("south-america", "africa")),
        ("grid-6x6", 2),
        *(
            pytest.param(name, 4, marks=pytest.mark.nightly)
            for name in ("australia", "europe", "north-america", "asia")
        ),
        *(pytest.param(name, 2, marks=pytest.mark.nightly) for name in ("world", "grid-10x10")),
    ],
)
def test_the_kernel_and_the_rules_agree_on_the_number_of_paths(map_: str, depth: int) -> None:
    search = duel_search(map_)
    rng = random.Random(4)
    plies = [rng.randrange(len(search.rules.map), 2 * len(search.rules.map) + 20) for _ in range(10)]
    for position in [search.rules.initial(NO_DICE)[0], *(duel_position(search.rules, rng, at) for at in plies)]:
        assert search.perft(position, depth) == count_paths(search.rules, position, depth, {})


def test_the_number_of_paths_ends_with_the_game() -> None:
    search = DuelSearch(Duel({"map": LAND, "max_plies": 6}))
    start = search.rules.initial(NO_DICE)[0]
    assert [search.perft(start, depth) for depth in range(4)] == [1, 2, 2, 2 * 3]
    for depth in range(4, 9):
        assert search.perft(start, depth) == count_paths(search.rules, start, depth, {})
    assert search.perft(start, 6) > 0 == search.perft(start, 7)


@pytest.mark.parametrize("algorithm", ["expectiminimax", "alphabeta"])
def test_a_won_game_is_worth_a_win_in_as_many_plies_and_looked_at_no_deeper(algorithm: Any) -> None:
    search = DuelSearch(Duel({"map": LAND}))
    position = Position((0, -1), (3, 0), 0, 5)
    found = search.search(position, depth=6, algorithm=algorithm, limit=SearchLimit())
    assert (found.value, found.depth, found.complete) == (999_999.0, 1, True)
    assert found.move == search.rules.legal_moves(position)[0]


@pytest.mark.parametrize("algorithm", ["expectiminimax", "alphabeta"])
def test_the_ply_limit_is_a_draw(algorithm: Any) -> None:
    search = duel_search("africa", 10, 13)
    found = search.search(
        duel_position(search.rules, random.Random(5), 12), depth=9, algorithm=algorithm, limit=SearchLimit()
    )
    assert (found.value, found.depth, found.complete) == (0.0, 1, True)


def test_a_finished_game_has_no_move() -> None:
    search = DuelSearch(Duel({"map": LAND}))
    found = search.search(Position((0, 0), (3, 1), 1, 7), depth=3, algorithm="alphabeta", limit=SearchLimit())
    assert (found.move, found.value) == (None, 0.0)


@pytest.mark.parametrize("algorithm", ["expectiminimax", "alphabeta"])
@pytest.mark.parametrize("nodes", [0, 1, 100, 5000])
def test_a_search_out_of_nodes_answers_with_a_lesser_depth(algorithm: Any, nodes: int) -> None:
    search = duel_search("europe")
    position = duel_position(search.rules, random.Random(6), 15)
    limit = SearchLimit(nodes=nodes)
    found = search.search(position, depth=1000, algorithm=algorithm, limit=limit)
    assert found.move in search.rules.legal_moves(position)
    assert found.depth < 1000
    assert found.nodes == limit.nodes_spent < nodes + 60
    full = search.search(position, depth=max(found.depth, 1), algorithm=algorithm, limit=SearchLimit())
    assert found.depth == 0 or (found.value, found.line) == (full.value, full.line)


@pytest.mark.parametrize("algorithm", ["expectiminimax", "alphabeta"])
def test_a_search_out_of_time_answers_with_a_lesser_depth(algorithm: Any) -> None:
    search = duel_search("world")
    position = duel_position(search.rules, random.Random(7), 60)
    for seconds in (-1.0, 0.0, 0.1):
        limit = SearchLimit(deadline=time.monotonic() + seconds)
        found = search.search(position, depth=60, algorithm=algorithm, limit=limit)
        assert found.move in search.rules.legal_moves(position)


def test_the_line_is_played_by_the_rules_up_to_the_first_throw() -> None:
    for search, position in duel_searches(60, SMALL[:4], seed=8):
        state = position
        for algorithm in ("expectiminimax", "alphabeta"):
            found = search.search(position, depth=4, algorithm=algorithm, limit=SearchLimit())
            state = position
            for i, move in enumerate(found.line):
                assert move in search.rules.legal_moves(state)
                assert i == len(found.line) - 1 or move.do != "attack"
                state = search.rules.outcomes(state, move)[0][1]


def test_a_stopped_search_leaves_its_position_as_it_was() -> None:
    search = duel_search("europe")
    board = ints(duel_board(search.rules))
    count = len(search.rules.map)
    position = Position(tuple(at % 2 for at in range(count)), (3,) * count, 0, 0)
    state = make_state(board, position, 0, FEATURES)
    before = list(state)
    work = flat.make_work_array(duel_board(search.rules), 8, 0)
    reset_counts(work, 1000)
    flat.search_expectiminimax(
        board, state, floats([*scale_values(search.rules.map, (1, 1, 1, 1), 1.0), 1.0]), work, 8, 0
    )
    assert work[STOP] == 1
    assert list(state) == before


@pytest.mark.parametrize("name", ["features", "unam"])
def test_a_position_that_is_only_looked_at_is_worth_what_it_is_when_entered(name: str) -> None:
    rng = random.Random(9)
    rules = Duel({"map": "africa"})
    map_, board = rules.map, ints(duel_board(rules))
    scale = floats(scale_values(map_, (1, 2, 3, 4), 1.0, 10))
    state = make_state(board, rules.initial(NO_DICE)[0], 2, MODES[name])
    for _ in range(500):
        at, owner = cell_of(rng.randrange(len(map_))), rng.randrange(-1, 4)
        troops = rng.randint(1, 10) if owner >= 0 else 0
        looked, before = peek(board, state, scale, at, owner, troops), list(state)
        put(board, state, at, owner, troops)
        assert evaluate(board, state, scale) == looked
        if rng.random() < 0.3:
            put(board, state, at, before[at], before[at + 1])
            assert list(state) == before


def test_the_random_numbers_of_the_table_are_those_of_splitmix64() -> None:
    assert [number % 2**64 for number in make_random_numbers(2)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]

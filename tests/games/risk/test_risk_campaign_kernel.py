"""The search of the campaign on flat arrays does what the rules and a plain search over them do."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from bots.search import WIN_VALUE, SearchLimit
from bots.search.base import evaluation_scale
from bots.search.kernels import Algorithm
from games.risk.evaluation import features, unam_bound, unam_score
from games.risk.rules.battle import battle_odds
from games.risk.rules.campaign import Attack, Campaign, Draft, EndTurn, Move, Position
from games.risk.search import campaign_nodes
from games.risk.search.campaign_search import MAX_PLIES, CampaignSearch
from games.risk.search.flat_campaign import make_campaign_state
from games.risk.search.flat_position import FEATURES, scale_values
from games.risk.search.settings import CampaignSettings, Horizon
from games.risk.search.work_buffers import reset_counts
from kept_code import kept
from machine.compiled import HAS_NUMBA, floats, zeros
from protocol.dice import Dice
from protocol.errors import IllegalMove
from protocol.games.base import NO_DICE
from risk_positions import (
    LARGE,
    SMALL,
    campaign_position,
    campaign_searches,
    count_paths,
    drafted,
    eager_move,
    make_search,
    options,
)
from timeouts import WITHIN
from volumes import examples

size_of = kept(campaign_nodes.attack_size)
EXEMPLARY = ("south-america", "africa", "world")
"""Maps on which most of what goes wrong on any does."""
ALGORITHMS = ("expectiminimax", "alphabeta")
PLIES = CampaignSettings(horizon="plies")


@pytest.mark.parametrize("battle", ["dice", "deterministic"])
@pytest.mark.parametrize(
    "map_", [pytest.param(name, marks=[] if name in EXEMPLARY else [pytest.mark.nightly]) for name in (*SMALL, *LARGE)]
)
def test_the_paths_from_any_position_are_those_of_the_rules(map_: str, battle: str) -> None:
    rng = random.Random(map_ + battle)
    small = map_ in SMALL
    known: dict[Any, int] = {}
    for players in range(2, 4 if map_ in SMALL[:2] else examples(4, nightly=7)):
        draft, rounds = rng.choice(("territories", "classic")), rng.randint(1, 4)
        search = make_search(
            map=map_,
            players=players,
            battle=battle,
            draft=draft,
            max_rounds=rounds,
            initial_units=2,
            turn_order="snake" if players in (2, 5) else "fixed",
        )
        starts = [search.rules.initial(Dice(rng.randbytes(32), 0))[0]]
        starts += [
            campaign_position(search.rules, rng, 10 if small else 15, eager_move) for _ in range(2 if small else 1)
        ]
        for state in starts:
            for depth in range(5 if small else 3):
                assert search.perft(state, depth) == count_paths(search.rules, state, depth, known), (
                    players,
                    depth,
                    state,
                )
        known.clear()


class Plain:
    """The search tree over the rules themselves: a bigger army is sure to win, or battles have two or all results."""

    def __init__(
        self,
        rules: Campaign,
        *,
        battles: str,
        horizon: str,
        candidates: bool,
        evaluation: str,
    ) -> None:
        self.rules = Campaign({**rules.config, "battle": "deterministic"}) if battles == "sure" else rules
        self.horizon, self.means = horizon, battles == "means" and rules.battle == "dice"
        self.certain = Campaign({**rules.config, "battle": "deterministic"})
        self.candidates, self.evaluation = candidates, evaluation
        self.attacks = min(3, rules.max_attacks) if candidates else rules.max_attacks
        self.ends: Counter[str] = Counter()

    def search(self, state: Position, depth: int) -> float:
        self.seat = state.seat
        income = len(state.owner) + 3 + sum(continent.bonus for continent in self.rules.map.continents)
        units = sum(state.troops) + MAX_PLIES * income
        self.bound = unam_bound(self.rules.map, units // len(state.owner) + 1)
        return self.value(state, min(self.attacks, state.attacks_left), depth, 0)

    def value(self, state: Position, attacks: int, depth: int, ply: int) -> float:
        if (over := self.over(state, ply)) is not None:
            return over
        if attacks == 0 and state.phase == "attack":
            state = self.rules.outcomes(state, EndTurn())[0][1]
            if (over := self.over(state, ply)) is not None:
                return over
        if state.phase == "draft":
            state, attacks = drafted(self.rules, state), self.attacks
        if depth == 0:
            return self.calm(state, min(3, attacks) if self.horizon == "calm" else 0, ply)
        best = max if state.seat == self.seat else min
        found = []
        moves: list[Move] = [*self.attacks_of(state, self.candidates), EndTurn()]
        for move in moves:
            mean = 0.0
            for chance, after in self.results(state, move):
                over = (after.seat, after.round) != (state.seat, state.round) or attacks == 1
                deeper = self.horizon != "turns" or over
                mean += chance * self.value(after, attacks - 1, depth - deeper, ply + 1)
            found.append(mean)
        return best(found)

    def results(self, state: Position, move: Move) -> list[tuple[float, Position]]:
        outcomes = [(float(chance), after) for chance, after in self.rules.outcomes(state, move)]
        if not self.means or not isinstance(move, Attack):
            return outcomes
        by_side: dict[bool, list[tuple[float, Position]]] = {}
        for chance, after in outcomes:
            by_side.setdefault(after.owner[move.to] == state.seat, []).append((chance, after))
        found = []
        for results in by_side.values():
            total = sum(chance for chance, _ in results)
            left = int(sum(chance * after.troops[move.to] for chance, after in results) / total + 0.5)
            found += [(total, after) for _, after in results if after.troops[move.to] == left]
        return found

    def attacks_of(self, state: Position, candidates: bool) -> Iterator[Attack]:
        for move in self.rules.legal_moves(state):
            if isinstance(move, Attack):
                own, enemies = move.units + 1, state.troops[move.to]
                if not candidates:
                    yield move
                elif own >= enemies + 2:
                    yield move._replace(units=-(-(own + enemies) // 2))

    def over(self, state: Position, ply: int) -> float | None:
        if self.seat in state.out:
            self.ends["out"] += 1
            return ply - WIN_VALUE
        if self.rules.to_move(state) is not None:
            return None
        ranks = self.rules.ranks(state)
        shared = ranks.count(1) > 1
        self.ends["draw" if shared and ranks[self.seat] == 1 else f"rank {ranks[self.seat]}"] += 1
        return ply - WIN_VALUE if ranks[self.seat] > 1 else 0.0 if shared else WIN_VALUE - ply

    def calm(self, state: Position, more: int, ply: int) -> float:
        found = [self.estimate(state)]
        state = state._replace(attacks_left=20)
        for move in self.attacks_of(state, True) if more else ():
            after = self.certain.outcomes(state, move)[0][1]
            over = self.over(after, ply + 1)
            found.append(self.calm(after, more - 1, ply + 1) if over is None else over)
        return max(found) if state.seat == self.seat else min(found)

    def estimate(self, state: Position) -> float:
        share = 0.0
        if self.evaluation == "features":
            share = features(self.rules, state, self.seat, (1, 2, 3, 4))
        elif self.evaluation == "unam":
            share = unam_score(self.rules, state, self.seat) / self.bound
        return evaluation_scale(self.rules) * share


def test_the_tree_is_that_of_the_rules() -> None:
    ends: Counter[str] = Counter()
    for i, (search, state, how) in enumerate(campaign_searches(1, 150, SMALL[:4])):
        thrown = how["battles"] != "sure" and search.rules.battle == "dice"
        depth = 2 if thrown or not how["candidates"] else 2 + i % 2
        if how["horizon"] == "turns":
            how |= {"candidates": True, "battles": "sure" if how["battles"] == "dice" else how["battles"]}
            depth = 1
        found = search.search(
            state,
            depth=depth,
            algorithm="expectiminimax",
            weights=(1, 2, 3, 4),
            limit=SearchLimit(),
            **options(how),
        )
        plain = Plain(search.rules, **how)
        assert found.value == pytest.approx(plain.search(state, found.depth), rel=1e-6, abs=1e-1), (state, how)
        assert found.depth == depth or found.complete or abs(found.value) > WIN_VALUE - 9
        ends += plain.ends
    assert min(ends[end] for end in ("out", "draw", "rank 1", "rank 2")) > 5, "every way to end was met"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("horizon", get_args(Horizon))
def test_the_deepest_search_of_six_seats_on_a_hundred_territories_is_that_of_the_rules(
    horizon: Any, algorithm: Any
) -> None:
    search = make_search(map="grid-10x10", players=6, max_attacks=1, battle="deterministic")
    out = [at % 4 + 2 for at in range(98)]  # seat 0 can take the first territory of these, now or later; no other
    state = Position((0, *out, 1), (3, 1, *[200] * 97, 1), "attack", 0, 1, 1, (2, 3, 4, 5), 0, 9)
    found = search.search(
        state,
        depth=MAX_PLIES,
        algorithm=algorithm,
        weights=(1, 2, 3, 4),
        settings=CampaignSettings(horizon=horizon),
        limit=SearchLimit(),
    )
    plain = Plain(search.rules, battles="means", horizon=horizon, candidates=True, evaluation="features")
    assert found.value == pytest.approx(plain.search(state, MAX_PLIES), rel=1e-6, abs=1e-1)
    assert (found.depth, found.max_ply) == (MAX_PLIES, MAX_PLIES)


@pytest.mark.parametrize(
    ("maps", "seed", "deep"), [(SMALL, 2, 3), pytest.param(LARGE[:2], 3, 2, marks=pytest.mark.nightly)]
)
def test_alphabeta_has_the_value_of_expectiminimax(maps: tuple[str, ...], seed: int, deep: int) -> None:
    for i, (search, state, how) in enumerate(campaign_searches(seed, examples(150, nightly=500), maps)):
        depth = 1 + i % deep if how["candidates"] else 1 + i % 2
        whole = search.search(
            state, depth=depth, algorithm="expectiminimax", limit=SearchLimit(nodes=100_000), **options(how)
        )
        pruned = search.search(state, depth=whole.depth, algorithm="alphabeta", limit=SearchLimit(), **options(how))
        assert pruned.value == pytest.approx(whole.value, rel=1e-9, abs=1e-3), (state, how)
        assert pruned.depth == whole.depth


def test_positions_that_differ_by_thousands_of_units_are_told_apart() -> None:
    search = make_search(map="south-america", battle="deterministic")
    state = Position((1, 1, 1, 0), (1, 3, 1, 16_383), "attack", 0, 3, 1, (), 0, 9)
    values = [  # to 1 and then to 2, and the other way round: 4,096 units more on one, and fewer on the other
        search.search(
            state, depth=2, algorithm=algorithm, settings=PLIES, weights=(0, 1, 5, 0), limit=SearchLimit()
        ).value
        for algorithm in get_args(Algorithm)
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-3)


def test_a_narrow_window_gives_the_value_or_a_sound_bound() -> None:
    rng = random.Random(6)
    for search, state, how in campaign_searches(6, examples(100, nightly=200), SMALL[:4]):
        how |= {"evaluation": "features", "battles": "dice", "horizon": rng.choice(("plies", "calm"))}
        whole = search.search(
            state, depth=2, algorithm="expectiminimax", limit=SearchLimit(nodes=30_000), **options(how)
        )
        value, depth = whole.value, whole.depth
        for _ in range(5):
            alpha = value + rng.uniform(-2e5, 2e5)
            beta = alpha + rng.uniform(1, 1e5)
            found = pruned(search, state, depth, alpha, beta, how)
            if found <= alpha:
                assert value <= found + 1e-3
            elif found >= beta:
                assert value >= found - 1e-3
            else:
                assert found == pytest.approx(value)


def pruned(
    search: CampaignSearch, state: Position, depth: int, alpha: float, beta: float, how: dict[str, Any]
) -> float:
    work = search._make_work_array(state, depth, CampaignSettings(how["battles"], how["horizon"]), how["candidates"])
    work[campaign_nodes.SEARCH_NUMBER] = search._searches
    reset_counts(work, None)
    scale = floats(scale_values(search.rules.map, (1, 1, 1, 1), evaluation_scale(search.rules)))
    arrays = (
        search._board,
        make_campaign_state(search._board, state, seat=state.seat, mode=FEATURES),
        work,
        scale,
        zeros(10_000, float),
    )
    return float(campaign_nodes.search_node(*arrays, *search._table, len(state.owner), depth, 0, alpha, beta))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_line_is_legal_and_begins_with_the_move(algorithm: Any) -> None:
    for search, state, how in campaign_searches(4, 60, (*SMALL, "world")):
        found = search.search(state, depth=3, algorithm=algorithm, limit=SearchLimit(nodes=20_000), **options(how))
        assert found.line[0] == found.move
        for move in found.line:
            assert search.rules.to_move(state) is not None
            state = search.rules.apply(state, move, Dice(bytes(32), 0))[0]


def test_a_draft_is_answered_by_the_rule_at_once() -> None:
    search = make_search(map="grid-6x6")
    state = search.rules.initial(Dice(bytes(32), 0))[0]
    limit = SearchLimit(nodes=10)
    found = search.search(state, depth=9, algorithm="alphabeta", limit=limit)
    assert isinstance(found.move, Draft)
    assert [found.move] == list(search.rules.legal_moves(state))
    assert limit.nodes_spent == found.nodes == 1


def test_a_finished_game_has_no_move() -> None:
    search = make_search(map="south-america")
    for state in (
        Position((0, 0, 0, 0), (1, 1, 1, 1), "attack", 0, 2, 3, (1,), 0, 9),
        Position((0, 0, 1, 1), (1, 1, 1, 1), "draft", 2, 3, 101, (), 0, 400),
    ):
        assert search.search(state, depth=3, algorithm="alphabeta", limit=SearchLimit()).move is None
        assert [search.perft(state, depth) for depth in range(3)] == [1, 0, 0]


@pytest.mark.parametrize("limit", [{"nodes": 0}, {"nodes": 5}, {"nodes": 50}, {"deadline": 0.0}], ids=str)
def test_a_search_without_time_or_nodes_still_has_a_legal_move(limit: dict[str, Any]) -> None:
    search = make_search(map="grid-6x6", initial_units=3)
    state = drafted(search.rules, search.rules.initial(Dice(bytes(32), 0))[0])
    found = search.search(state, depth=9, algorithm="alphabeta", limit=SearchLimit(**limit))
    assert found.depth < 9
    assert legal(search.rules, state, found.move)


def legal(rules: Campaign, state: Position, move: Move | None) -> bool:
    """Whether the rules take it; their own list has the attacks with the most units only."""
    assert move is not None
    try:
        rules.apply(state, move, Dice(bytes(32), 0))
    except IllegalMove:
        return False
    return True


def test_a_deadline_ends_a_search_and_keeps_what_was_found() -> None:
    search = make_search(map="grid-6x6", initial_units=3)
    state = drafted(search.rules, search.rules.initial(Dice(bytes(32), 0))[0])
    search.search(state, depth=1, algorithm="expectiminimax", limit=SearchLimit())
    limit = SearchLimit(deadline=time.monotonic() + 0.2)
    found = search.search(
        state, depth=MAX_PLIES, algorithm="expectiminimax", settings=CampaignSettings("dice"), limit=limit
    )
    assert found.depth < MAX_PLIES
    assert found.nodes == limit.nodes_spent > 0
    assert legal(search.rules, state, found.move)


def test_a_search_that_ends_before_its_deadline_leaves_no_thread() -> None:
    search = make_search(map="south-america")
    state = drafted(search.rules, search.rules.initial(Dice(bytes(32), 0))[0])
    before = set(threading.enumerate())
    search.search(state, depth=1, algorithm="alphabeta", limit=SearchLimit(deadline=time.monotonic() + 1000))
    for thread in set(threading.enumerate()) - before:
        thread.join(WITHIN)
        assert not thread.is_alive()


def test_a_node_budget_gives_the_same_answer_every_time() -> None:
    first, second = CampaignSearch(Campaign({})), CampaignSearch(Campaign({}))
    state = drafted(first.rules, first.rules.initial(Dice(bytes(32), 0))[0])
    answers = [
        search.search(state, depth=60, algorithm="alphabeta", limit=SearchLimit(nodes=5_000))
        for search in (first, second, first)
    ]
    assert answers[0] == answers[1] == answers[2]


def test_a_win_is_seen_and_taken() -> None:
    search = make_search(map="south-america", battle="deterministic", max_attacks=3)
    start = Position((0, 0, 1, 1), (9, 2, 1, 2), "attack", 0, 3, 1, (), 0, 2)
    for algorithm in ALGORITHMS:
        found = search.search(start, depth=4, algorithm=algorithm, limit=SearchLimit())  # type: ignore[arg-type]
        assert found.value == WIN_VALUE - 2
        state = start
        for move in found.line:
            state = search.rules.apply(state, move, NO_DICE)[0]
        assert search.rules.to_move(state) is None


def test_every_candidate_has_the_odds_in_its_favour() -> None:
    for defenders in range(1, 40):
        for troops in range(defenders + 2, defenders + 12):
            size = size_of(troops, defenders, 0)
            assert defenders < size < troops
            assert sum(chance for chance, attackers, _ in battle_odds(size, defenders) if attackers) > 0.5


@pytest.mark.skipif(not HAS_NUMBA, reason="nothing is compiled")
def test_a_recursive_kernel_has_one_signature() -> None:
    """Numba keeps on disk a call to another signature of the same function as an address that is gone on loading."""
    search = make_search(map="south-america")
    search.warm_up()
    search.perft(search.rules.initial(Dice(bytes(32), 0))[0], 3)
    searches: tuple[Any, ...] = (
        campaign_nodes.search_node,
        campaign_nodes.search_quiescence,
        campaign_nodes.perft,
    )
    for function in searches:
        assert len(function.signatures) <= 1, function.__name__

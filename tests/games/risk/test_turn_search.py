"""The campaign's search by turns: what it values, looks at and plays, against a plain search over the rules."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from bots.evaluation.base import EQUAL_WEIGHTS, WIN_VALUE
from bots.search import SearchLimit
from bots.search.base import SearchResult, evaluation_scale
from games.risk.evaluation import DEFAULT_OUTLOOK_WEIGHTS, FEATURES_BOUND, features, outlook
from games.risk.rules.campaign import Attack, Campaign, Draft, EndTurn, Move, Position
from games.risk.search import battle_odds as table
from games.risk.search import campaign_evaluation
from games.risk.search import turn_search as kernel
from games.risk.search.battle_odds import odds_table
from games.risk.search.campaign_kernel import CampaignKernel
from games.risk.search.campaign_search import CampaignSearch
from games.risk.search.flat_campaign import campaign_board, make_campaign_state
from games.risk.search.flat_position import FEATURES, NO_EVALUATION, OUTLOOK
from games.risk.search.settings import CampaignSettings
from games.risk.search.turn_search import DEFAULT_WIDTH as USUAL_WIDTH
from games.risk.search.turn_search import FULL_WIDTH, SearchWidth, TurnSearch
from kept_code import kept
from machine.compiled import HAS_NUMBA, floats, ints, zeros
from protocol.dice import Dice
from risk_positions import SMALL, campaign_positions
from volumes import examples

enough, judge, odds_of = kept(table.find_sufficient), kept(campaign_evaluation.evaluate), kept(table.look_up_odds)
ALGORITHMS = ("expectiminimax", "alphabeta")


class Plain:
    """The same tree over the rules themselves, as wide as it gets, without drafts in halves."""

    def __init__(self, rules: Campaign, state: Position) -> None:
        self.rules, self.seat = rules, state.seat
        self.odds = odds_table(rules.battle == "dice")

    def value(self, state: Position, attacks: int, turns: int, ply: int) -> float:
        rules = self.rules
        if rules.to_move(state) is None or self.seat in state.out:
            ranks = rules.ranks(state)
            first = self.seat not in state.out and ranks[self.seat] == 1
            return (WIN_VALUE - ply if ranks.count(1) == 1 else 0.0) if first else ply - WIN_VALUE
        if turns == 0:
            return evaluation_scale(rules) * outlook(rules, state, self.seat)
        best = max if state.seat == self.seat else min
        return best(self.mean(state, move, attacks, turns, ply) for move in self.moves(state, ply))

    def mean(self, state: Position, move: Move, attacks: int, turns: int, ply: int) -> float:
        results = self.results(state, move)
        return sum(chance * self.after(state, move, after, attacks, turns, ply) for chance, after in results)

    def after(self, state: Position, move: Move, after: Position, attacks: int, turns: int, ply: int) -> float:
        attacks -= isinstance(move, Attack)
        if (
            attacks == 0
            and self.rules.to_move(after) is not None
            and (after.seat, after.round) == (state.seat, state.round)
        ):
            after = self.rules.outcomes(after, EndTurn())[0][1]
        over = (after.seat, after.round) != (state.seat, state.round)
        attacks = min(3, self.rules.max_attacks) if over else attacks
        return self.value(after, attacks, turns - over, ply + 1)

    def moves(self, state: Position, ply: int) -> Iterator[Move]:
        owner, troops, neighbours = state.owner, state.troops, self.rules.map.neighbours
        own = [at for at, held in enumerate(owner) if held == state.seat]
        fronts = [at for at in own if any(owner[to] != state.seat for to in neighbours[at])]
        if state.phase == "draft":
            yield from (Draft(((at, state.units),)) for at in fronts)
            if ply == 0:
                yield self.rules.legal_moves(state)[0]
            return
        for at in fronts:
            for to in neighbours[at]:
                most = troops[at] - 1
                if owner[to] != state.seat and most and 3 * most >= 2 * troops[to]:
                    few = enough(self.odds, most, troops[to])
                    yield from (Attack(to, at, units) for units in ([most, few] if few < most - 1 else [most]))
        yield EndTurn()

    def results(self, state: Position, move: Move) -> list[tuple[float, Position]]:
        """A battle has two, with what is left on average."""
        if not isinstance(move, Attack):
            return [(1.0, self.rules.outcomes(state, move)[0][1])]
        chance, spared, held = odds_of(self.odds, move.units, state.troops[move.to])
        chance = 1.0 if chance > 0.999 else 0.0 if chance < 0.001 else chance
        won = self.rules._after_battle(state, move, max(1, int(spared + 0.5)), 0)
        lost = self.rules._after_battle(state, move, 0, max(1, int(held + 0.5)))
        return [(share, after) for share, after in ((chance, won), (1.0 - chance, lost)) if share]


WIDE = FULL_WIDTH._replace(splits=0)


def found(rules: Campaign, state: Position, algorithm: Any, turns: int, **options: Any) -> SearchResult[Move]:
    limit = SearchLimit()
    given = {"evaluation": "outlook", "weights": DEFAULT_OUTLOOK_WEIGHTS, "width": WIDE, "limit": limit, **options}
    best = TurnSearch(rules).search(state, depth=turns, algorithm=algorithm, **given)
    assert best is not None
    return best


def test_the_flat_arrays_evaluate_as_the_readable_functions_do() -> None:
    rng = random.Random(3)
    for rules, state in campaign_positions(1, examples(16, nightly=40), (*SMALL[:4], "world", "grid-6x6")):
        board, strong = ints(campaign_board(rules)), zeros(6, float)
        arrays = make_campaign_state(board, state)
        six, four = [rng.uniform(0, 10) for _ in DEFAULT_OUTLOOK_WEIGHTS], [rng.uniform(0, 10) for _ in EQUAL_WEIGHTS]
        for seat in range(rules.seats):
            flat = judge(board, arrays, floats(six), strong, seat, OUTLOOK)
            assert flat == pytest.approx(outlook(rules, state, seat, six), rel=1e-9, abs=1e-12)
            flat = judge(board, arrays, floats(four), strong, seat, FEATURES)
            assert flat == pytest.approx(features(rules, state, seat, four), rel=1e-9, abs=1e-12)
            assert judge(board, arrays, floats(four), strong, seat, NO_EVALUATION) == 0.0


def test_a_seat_that_is_out_has_no_outlook_and_one_alone_has_all() -> None:
    rules = Campaign({"map": "south-america", "players": 3})
    state = rules.remove_seat(rules.initial(Dice(bytes(32), 0))[0], 1)
    assert outlook(rules, state, 1) == -FEATURES_BOUND
    assert outlook(rules, rules.remove_seat(state, 2), 0) == FEATURES_BOUND


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_turn_is_worth_what_a_plain_search_over_the_rules_says(algorithm: str) -> None:
    for rules, state in campaign_positions(2, 12, ("south-america", "australia")):
        expected = Plain(rules, state).value(state, min(3, state.attacks_left), 1, 0)
        assert found(rules, state, algorithm, 1).value == pytest.approx(expected, rel=1e-9), state


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_turns_of_others_are_worth_what_a_plain_search_over_the_rules_says(algorithm: str) -> None:
    for turn_order in ("fixed", "snake"):
        for rules, state in campaign_positions(4, 4, ("south-america",), max_attacks=1, turn_order=turn_order):
            expected = Plain(rules, state).value(state, 1, 2, 0)
            assert found(rules, state, algorithm, 2).value == pytest.approx(expected, rel=1e-9), state


def test_pruning_visits_less_for_the_same_value() -> None:
    visited = {"whole": 0, "pruned": 0}
    for rules, state in campaign_positions(5, 6):
        whole, pruned = (found(rules, state, algorithm, 2, width=USUAL_WIDTH) for algorithm in ALGORITHMS)
        assert pruned.value == pytest.approx(whole.value, rel=1e-9)
        visited["whole"] += whole.nodes
        visited["pruned"] += pruned.nodes
    assert visited["pruned"] < 0.8 * visited["whole"]


@pytest.mark.parametrize("evaluation", ["outlook", "features", "none"])
def test_whatever_it_is_asked_the_move_is_legal_and_nodes_are_kept(evaluation: str) -> None:
    settings = CampaignSettings()
    for rules, state in campaign_positions(6, 12, (*SMALL[:4], "world", "grid-6x6")):
        weights = DEFAULT_OUTLOOK_WEIGHTS if evaluation == "outlook" else EQUAL_WEIGHTS
        for algorithm in ALGORITHMS:
            for nodes in (1, 49, 300):
                limit = SearchLimit(nodes=nodes)
                options: dict[str, Any] = {"evaluation": evaluation, "weights": weights, "settings": settings}
                best = CampaignKernel(rules).search(state, depth=3, algorithm=algorithm, limit=limit, **options)  # type: ignore[arg-type]
                assert best.move is not None
                rules.apply(state, best.move, Dice(bytes(32), 0))
                assert best.nodes <= nodes + 2, "a game that is over is looked at, too"


def test_a_draft_in_halves_is_one_move_with_all_units() -> None:
    halved = 0
    width = SearchWidth((3, 3, 3, 3), (3, 3, 3, 3), 2)
    for rules, state in campaign_positions(9, 60, ("africa", "europe", "grid-6x6")):
        if state.phase == "draft":
            move = found(rules, state, "alphabeta", 1, width=width).move
            assert isinstance(move, Draft)
            assert sum(units for _, units in move.units) == state.units
            halved += len(move.units) == 2
    assert halved


def test_with_the_rule_and_features_the_search_before_answers() -> None:
    rules = Campaign({"deal": "1" * 32})
    start = rules.initial(Dice(bytes(32), 0))[0]
    state = rules.outcomes(start, rules.legal_moves(start)[0])[0][1]
    options: dict[str, Any] = {"depth": 1, "algorithm": "alphabeta", "settings": CampaignSettings(draft="rule")}
    new, old = CampaignKernel(rules), CampaignSearch(rules)
    for position in (start, state):
        before, after = (search.search(position, limit=SearchLimit(nodes=500), **options) for search in (old, new))
        assert before == after
    drafted = new.search(start, evaluation="outlook", weights=DEFAULT_OUTLOOK_WEIGHTS, limit=SearchLimit(), **options)
    assert drafted.move == rules.legal_moves(start)[0]


def test_with_no_time_left_a_move_is_made_at_once() -> None:
    for rules, state in campaign_positions(7, 4, ("world", "grid-6x6")):
        begin = CampaignKernel(rules)
        best = begin.search(
            state,
            depth=6,
            algorithm="alphabeta",
            evaluation="outlook",
            weights=DEFAULT_OUTLOOK_WEIGHTS,
            limit=SearchLimit(deadline=0.0),
        )
        assert best.move is not None
        rules.apply(state, best.move, Dice(bytes(32), 0))


@pytest.mark.skipif(not HAS_NUMBA, reason="nothing is compiled")
def test_the_recursive_kernel_has_one_signature() -> None:
    """Numba keeps on disk a call to another signature of the same function as an address that is gone on loading."""
    CampaignKernel(Campaign({"map": "south-america"})).warm_up()
    assert len(kernel.search_node.signatures) <= 1  # type: ignore[attr-defined]

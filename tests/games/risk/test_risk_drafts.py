"""What a search does at its own draft: each way to place the units, against a plain one over the rules."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, get_args

import pytest

from bots.evaluation.base import EQUAL_WEIGHTS
from bots.search import SearchLimit
from bots.search.base import evaluation_scale
from exact_boards import board
from games.risk.evaluation import features
from games.risk.rules.campaign import Attack, Campaign, Draft, EndTurn, Move, Position
from games.risk.search.campaign_search import CampaignSearch
from games.risk.search.settings import CampaignSettings, DraftMode
from protocol.games.base import NO_DICE
from risk_positions import campaign_positions

DRAFTS = get_args(DraftMode)


def drafts(seed: int, count: int) -> Iterator[tuple[CampaignSearch, Position, tuple[float, ...]]]:
    """Searches of mixed configs, positions of random games at a draft, and weights."""
    rng = random.Random(seed)
    for rules, state in campaign_positions(seed, count, ("south-america", "africa", "world", "grid-6x6"), moves=60):
        if state.phase == "attack":
            state = rules.outcomes(state, EndTurn())[0][1]
        if rules.to_move(state) is not None:
            yield CampaignSearch(rules), state, tuple(round(rng.uniform(0, 10), 3) for _ in range(4))


def draft(search: CampaignSearch, state: Position, how: Any, weights: Sequence[float] = EQUAL_WEIGHTS) -> Move:
    below = random.Random(7).randrange
    limit = SearchLimit(nodes=10)
    settings = CampaignSettings(draft=how)
    options: dict[str, Any] = {"weights": weights, "settings": settings, "below": below}
    found = search.search(state, depth=1, algorithm="alphabeta", limit=limit, **options)
    assert found.move is not None
    return found.move


def after(rules: Campaign, state: Position, move: Move) -> Position:
    """Raises `IllegalMove` for a draft that the rules forbid."""
    return rules.apply(state, move, NO_DICE)[0]


@pytest.mark.parametrize("how", DRAFTS)
def test_a_draft_is_legal_and_told_with_what_the_position_after_it_looks_like(how: Any) -> None:
    for search, state, weights in drafts(1, 20):
        limit = SearchLimit(nodes=10)
        found = search.search(
            state,
            depth=9,
            algorithm="expectiminimax",
            weights=weights,
            settings=CampaignSettings(draft=how),
            below=random.Random(1).randrange,
            limit=limit,
        )
        assert found.move is not None
        looks = features(search.rules, after(search.rules, state, found.move), state.seat, weights)
        assert found.value == pytest.approx(evaluation_scale(search.rules) * looks, abs=1)
        assert (found.line, found.nodes, limit.nodes_spent) == ((found.move,), 1, 1)


def test_by_the_rule_it_is_the_draft_rules() -> None:
    for search, state, _ in drafts(2, 8):
        assert [draft(search, state, "rule")] == list(search.rules.legal_moves(state))


def test_a_random_draft_is_drawn_as_the_rules_draw_one() -> None:
    for search, state, _ in drafts(3, 8):
        assert draft(search, state, "random") == search.rules.sample_move(state, random.Random(7).randrange)


def test_a_random_draft_without_anything_to_draw_it_with_is_an_error() -> None:
    search, state, _ = next(drafts(4, 1))
    settings = CampaignSettings(draft="random")
    with pytest.raises(ValueError, match="a random draft needs `below`"):
        search.search(state, depth=1, algorithm="alphabeta", settings=settings, limit=SearchLimit())


def test_a_greedy_draft_puts_every_unit_where_the_evaluation_gains_most() -> None:
    placed = set()
    for search, state, weights in drafts(5, 40):
        found = draft(search, state, "greedy", weights)
        assert found == unit_by_unit(search.rules, state, weights), (search.rules.config["map"]["name"], state, weights)
        assert isinstance(found, Draft)
        placed.add(len(found.units))
    assert len(placed) > 3, "some went to one territory, some to several"


def unit_by_unit(rules: Campaign, state: Position, weights: Sequence[float]) -> Draft:
    """The greedy draft over the features as they are written to be read."""
    counts = dict.fromkeys((at for at, holder in enumerate(state.owner) if holder == state.seat), 0)
    troops = list(state.troops)
    for _ in range(state.units):
        worth = {}
        for at in counts:
            troops[at] += 1
            worth[at] = features(rules, state._replace(troops=tuple(troops)), state.seat, weights)
            troops[at] -= 1
        best = next(at for at in counts if worth[at] > max(worth.values()) - 1e-7)
        counts[best] += 1
        troops[best] += 1
    return Draft(tuple((at, count) for at, count in counts.items() if count))


def test_without_an_evaluation_all_greedy_drafts_are_equal_and_the_first_territory_gets_the_units() -> None:
    search, state, _ = next(drafts(6, 1))
    options: dict[str, Any] = {"evaluation": "none", "settings": CampaignSettings(draft="greedy")}
    found = search.search(state, depth=1, algorithm="alphabeta", limit=SearchLimit(nodes=10), **options)
    assert found.move == Draft(((state.owner.index(state.seat), state.units),))


@pytest.mark.parametrize(
    ("troops", "front"),
    [
        ((3, 2, 6, 1), 0),  # 0 has 8 enemies to 3, 3 has 2 to 1
        ((4, 2, 6, 1), 0),  # 0 has 8 enemies to 4, as many to one as 3 has
        ((5, 2, 6, 1), 3),
    ],
)
def test_to_the_front_all_units_go_to_the_territory_under_most_pressure(troops: Any, front: int) -> None:
    search = CampaignSearch(Campaign({"map": board([(0, 1), (0, 2), (1, 3)]).encoded}))
    state = Position((0, 1, 1, 0), troops, "draft", 2, 3, 1, (), 0, 0)
    assert draft(search, state, "front") == Draft(((front, 2),))


def test_how_the_own_draft_is_placed_changes_nothing_in_the_tree() -> None:
    for search, state, _ in drafts(8, 4):
        attacking = after(search.rules, state, search.rules.legal_moves(state)[0])
        found = [
            search.search(attacking, depth=3, algorithm="alphabeta", settings=settings, limit=SearchLimit(nodes=900))
            for settings in (CampaignSettings(horizon="plies", draft=how) for how in DRAFTS)
        ]
        assert found == [found[0]] * len(DRAFTS)
        assert any(isinstance(move, (Attack, Draft)) for move in found[0].line)

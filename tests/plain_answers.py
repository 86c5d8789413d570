"""What searches of Risk and the solver of poker find, for the same in another process."""

from __future__ import annotations

import random
from typing import Any

from bots.search import SearchLimit
from games.poker.strategies import single_hand
from games.risk.evaluation import DEFAULT_OUTLOOK_WEIGHTS
from games.risk.rules.campaign import Campaign, Position
from games.risk.rules.duel import Duel
from games.risk.search.campaign_kernel import CampaignKernel
from games.risk.search.campaign_search import CampaignSearch
from games.risk.search.campaign_uct import CampaignUct
from games.risk.search.duel_uct import DuelUct
from games.risk.search.settings import CampaignSettings
from machine.exact.hand_solving import Solver, exploitability
from protocol.dice import Dice
from protocol.games.base import Game
from risk_positions import SMALL, campaign_positions, campaign_searches, duel_searches, make_search, options
from volumes import examples

ALGORITHMS: Any = ("expectiminimax", "alphabeta")
UCT_CONFIGS: list[dict[str, Any]] = [
    {},
    {"map": "world", "players": 6, "draft": "classic", "max_attacks": 20},
    {"map": "africa", "players": 4, "battle": "deterministic", "initial_units": 9},
    {"map": "africa", "players": 5, "max_attacks": 1, "initial_units": 2},
]


def answers() -> dict[str, Any]:
    return {
        "duel": duel_answers(),
        "campaign": campaign_answers(),
        "turns": turn_answers(),
        "greedy drafts": greedy_drafts(),
        "duel uct": duel_uct_moves(),
        "campaign uct": campaign_uct_moves(),
        "kuhn": round(kuhn_exploitability(), 9),
    }


def duel_answers() -> list[Any]:
    found = []
    for i, (search, position) in enumerate(duel_searches(6, ("south-america", "africa"), seed=10)):
        options: dict[str, Any] = {"evaluation": ("features", "unam", "none")[i % 3], "weights": (1, 2, 4, 8)}
        for algorithm in ALGORITHMS:
            result = search.search(position, depth=3, algorithm=algorithm, limit=SearchLimit(), **options)
            found.append([result.value.hex(), list(map(list, result.line)), result.nodes, result.leaves])
        found.append(search.perft(position, 3))
    return found


def campaign_answers() -> list[Any]:
    found: list[Any] = []
    for search, state, how in campaign_searches(5, examples(10, nightly=40), (*SMALL, "world")):
        for algorithm in ALGORITHMS:
            limit = SearchLimit(nodes=3_000)
            result = search.search(state, depth=2, algorithm=algorithm, limit=limit, **options(how))
            found.append([result.value, repr(result.line), result.nodes, result.leaves])
        found.append(search.perft(state, 2))
    search = make_search(map="south-america")
    state = Position((0, 0, 1, 1), (2000, 1, 1, 1), "attack", 0, 3, 1, (), 0, 9)
    found.append(search.search(state, depth=1, algorithm="alphabeta", limit=SearchLimit(nodes=100)).value)
    return found


def turn_answers() -> list[Any]:
    told: list[Any] = []
    options: dict[str, Any] = {"evaluation": "outlook", "weights": DEFAULT_OUTLOOK_WEIGHTS}
    for rules, state in campaign_positions(8, 4):
        for algorithm in ALGORITHMS:
            limit = SearchLimit(nodes=120)
            best = CampaignKernel(rules).search(state, depth=3, algorithm=algorithm, limit=limit, **options)
            told.append([str(best.move), best.value, best.nodes, best.depth])
        once = CampaignKernel(rules).search_one_ply(state, evaluation="outlook", limit=SearchLimit())
        told.append([str(once.move), once.value, once.nodes])
    return told


def greedy_drafts() -> list[str]:
    settings = CampaignSettings(draft="greedy")
    return [
        str(
            CampaignSearch(rules)
            .search(state, depth=1, algorithm="alphabeta", settings=settings, limit=SearchLimit(nodes=10))
            .move
        )
        for rules, state in campaign_positions(9, 12, (*SMALL[::2], "world", "grid-6x6"))
        if state.phase == "draft"
    ]


def duel_uct_moves() -> list[list[str]]:
    games = [Duel({"map": map_}) for map_ in ("south-america", "europe")]
    return [_uct_moves(rules, DuelUct(rules), sims=20, count=10) for rules in games]


def campaign_uct_moves() -> list[list[str]]:
    games = map(Campaign, UCT_CONFIGS)
    return [_uct_moves(rules, CampaignUct(rules), sims=15, count=4) for rules in games]


def _uct_moves(rules: Game[Any, Any], search: Any, sims: int, count: int) -> list[str]:
    """What a tree search plays from the start, for every seat."""
    state = rules.initial(Dice(bytes(32), 0))[0]
    moves = []
    for ply in range(count):
        move = search.search(state, below=random.Random(ply).randrange, limit=SearchLimit(nodes=sims)).move
        moves.append(rules.notation(move))
        state = rules.apply(state, move, Dice(bytes(32), rules.ply(state)))[0]
    return moves


def kuhn_exploitability() -> float:
    rules, start = single_hand("kuhn")
    solver = Solver(rules, start)
    solver.run(20)
    return float(exploitability(rules, start, solver.strategy()))

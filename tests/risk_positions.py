"""Positions of both games of Risk from random games under mixed configs, and the searches to be run from them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import cycle, islice
from typing import Any

from games.risk.rules.campaign import Attack, Campaign, Move
from games.risk.rules.campaign import Position as CampaignPosition
from games.risk.rules.duel import Duel, Position
from games.risk.search.campaign_search import CampaignSearch
from games.risk.search.duel_search import DuelSearch
from games.risk.search.settings import CampaignSettings
from protocol.dice import Dice
from protocol.games.base import NO_DICE, Game

SMALL = ("south-america", "australia", "africa", "europe", "north-america", "asia")
LARGE = ("world", "grid-6x6", "grid-10x10")


def count_paths(rules: Game[Any, Any], state: Any, depth: int, known: dict[Any, int]) -> int:
    """Perft over the rules."""
    key = rules.key(state), depth
    if key not in known:
        known[key] = depth == 0 or sum(
            count_paths(rules, after, depth - 1, known)
            for move in rules.legal_moves(state)
            for _, after in rules.outcomes(state, move)
        )
    return known[key]


# The duel


@cache
def duel_search(map_: str, max_troops: int = 10, max_plies: int = 400, armies: tuple[int, ...] = ()) -> DuelSearch:
    return DuelSearch(Duel({"map": map_, "max_troops": max_troops, "max_plies": max_plies, "armies": armies}))


def duel_position(rules: Duel, rng: random.Random, plies: int) -> Position:
    """An unfinished position, `plies` random plies from the start."""
    while True:
        state = rules.initial(NO_DICE)[0]
        for _ in range(plies):
            if rules.to_move(state) is None:
                break
            results = rules.outcomes(state, rng.choice(rules.legal_moves(state)))
            chances = [float(chance) for chance, _ in results]
            state = rng.choices([result for _, result in results], chances)[0]
        if rules.to_move(state) is not None:
            return state


def duel_searches(count: int, maps: tuple[str, ...], seed: int) -> list[tuple[DuelSearch, Position]]:
    """Searches of mixed configs, some near the ply limit, each with a position."""
    rng = random.Random(seed)
    chosen = []
    for _ in range(count):
        plies = rng.randrange(30)
        armies = (3, 2, 1) if plies % 3 == 0 else ()
        search = duel_search(rng.choice(maps), rng.choice([3, 6, 10]), rng.choice([31, 400]), armies)
        chosen.append((search, duel_position(search.rules, rng, plies)))
    return chosen


# The campaign


@cache
def make_search(**config: Any) -> CampaignSearch:
    return CampaignSearch(Campaign(config))


def eager_move(rules: Campaign, state: CampaignPosition, rng: random.Random) -> Move:
    """A listed move, most often an attack on fewer units if there is one."""
    moves = rules.legal_moves(state)
    wins = [move for move in moves if isinstance(move, Attack) and move.units > state.troops[move.to]]
    return rng.choice(wins if wins and rng.random() < 0.8 else moves)


def any_move(rules: Campaign, state: CampaignPosition, rng: random.Random) -> Move:
    return rules.sample_move(state, rng.randrange)


def campaign_position(rules: Campaign, rng: random.Random, moves: int, choose: Any = any_move) -> CampaignPosition:
    """An unfinished position of a random game, fewer than `moves` moves from the start. Perhaps a seat has left."""
    state = rules.initial(Dice(rng.randbytes(32), 0))[0]
    for _ in range(rng.randrange(moves)):
        after = rules.apply(state, choose(rules, state, rng), Dice(rng.randbytes(32), 0))[0]
        if rules.to_move(after) is None:
            break
        state = after
    if rng.random() < 0.3 and len(state.out) < rules.seats - 2:
        after = rules.remove_seat(state, rng.choice([seat for seat in range(rules.seats) if seat not in state.out]))
        return state if rules.to_move(after) is None else after
    return state


def campaign_positions(
    seed: int, count: int, maps: tuple[str, ...] = SMALL[:4], moves: int = 40, **more: Any
) -> Iterator[tuple[Campaign, CampaignPosition]]:
    """Positions of random games under mixed configs."""
    rng = random.Random(seed)
    for _ in range(count):
        config: dict[str, Any] = {"map": rng.choice(maps), "players": rng.randint(2, 4), **more}
        config["draft"] = rng.choice(("territories", "classic"))
        config["battle"] = rng.choice(("dice", "deterministic"))
        rules = Campaign({**config, "initial_units": rng.randint(1, 4)})
        yield rules, campaign_position(rules, rng, moves)


def drafted(rules: Campaign, state: CampaignPosition) -> CampaignPosition:
    """The position in its attack phase."""
    if state.phase == "draft" and rules.to_move(state) is not None:
        return rules.outcomes(state, rules.legal_moves(state)[0])[0][1]
    return state


def campaign_searches(
    seed: int, count: int, maps: tuple[str, ...]
) -> Iterator[tuple[CampaignSearch, CampaignPosition, dict[str, Any]]]:
    """Searches of mixed configs, positions in the attack phase, and ways to search them."""
    rng = random.Random(seed)
    for turn_order in islice(cycle(("fixed", "snake")), count):
        map_ = rng.choice(maps)
        search = make_search(
            map=map_,
            players=rng.randint(2, 4 if map_ in SMALL[:2] else 6),
            draft=rng.choice(("territories", "classic")),
            battle=rng.choice(("dice", "dice", "deterministic")),
            max_attacks=rng.choice((1, 2, 3, 5)),
            max_rounds=rng.choice((2, 4, 30)),
            initial_units=rng.choice((1, 3)),
            turn_order=turn_order,
        )
        state = drafted(search.rules, campaign_position(search.rules, rng, 40, eager_move))
        how = {
            "battles": rng.choice(("sure", "means", "dice")),
            "horizon": rng.choice(("turns", "plies", "calm", "calm")),
            "candidates": rng.random() < 0.7,
            "evaluation": rng.choice(("features", "features", "unam", "none")),
        }
        yield search, state, how


def options(how: dict[str, Any]) -> dict[str, Any]:
    """These ways to search as `CampaignSearch.search` takes them."""
    return {
        "settings": CampaignSettings(how["battles"], how["horizon"]),
        "candidates": how["candidates"],
        "evaluation": how["evaluation"],
    }

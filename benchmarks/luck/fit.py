"""Fit the coefficients in `games/risk/measuring/coefficients` to games of bots with random evaluation weights, each
against itself.

A logistic regression fits the odds of a win to the position, and a linear regression fits the points to the luck. Needs
numpy.

`python benchmarks/luck/fit.py GAME MAP [--starts N] [--nodes N] [--jobs N]`
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from pairs import DIGITS, GamePair, PlayedGame, play_pair, write_coefficients

from games.risk.measuring.features import FEATURE_NAMES, PositionSums
from machine.workers.local import process_pool, spread

SEED = "fit-1"
"""The seed of the games for the fit. No benchmark plays the same games."""
CONFIGS: dict[str, dict[str, Any]] = {"world": {"draft": "classic"}}
"""The config of campaigns besides the map, by the map's name. Maps that are not listed use the default config."""
MIN_WEIGHT, MAX_WEIGHT = 2.0, 10.0
"""The bounds of random evaluation weights. They keep the weights similar enough that each of the four weighted features
influences the bots' moves.
"""
RIDGE = 1e-3
"""The scale of the ridge penalties in the regressions for the odds and for the points."""
FEATURE_COUNT = len(FEATURE_NAMES)
"""The number of features of a position."""


class ChanceEvents(NamedTuple):
    """The data of one game for the fits: seat 0's score, and the chance events. Each chance event has a row in `before`
    and a row in `luck`.
    """

    score: float
    before: np.ndarray[Any, Any]
    """A row for each chance event, about the position before it: first the features as differences between the seats,
    then the sign of the mover (1 for seat 0, -1 for seat 1), then this sign times the attacks left. The odds of a win
    are fitted to these columns.
    """
    luck: np.ndarray[Any, Any]
    """A row for each chance event: the change of each feature by the event, minus the expected change."""


def play_pairs(pairs: Sequence[GamePair]) -> list[tuple[ChanceEvents, ...]]:
    """Play pairs of games, and return the chance events of both games of each pair."""
    return [tuple(map(_chance_events, play_pair(pair))) for pair in pairs]


def _chance_events(played: PlayedGame) -> ChanceEvents:
    before, luck = [], []
    for state, move, after in played.plies:
        outcomes = played.rules.outcomes(state, move)
        if len(outcomes) > 1:
            survey = PositionSums(played.rules, state)
            mover = 1.0 if state.seat == 0 else -1.0
            before.append([*survey.seat_difference(), mover, mover * getattr(state, "attacks_left", 0)])
            seat_difference = [survey.seat_difference_after(come.owner, come.troops) for _, come in outcomes]
            weights = [(come == after) - float(chance) for chance, come in outcomes]
            luck.append(np.array(weights) @ np.array(seat_difference))
    return ChanceEvents(
        played.score, np.array(before).reshape(-1, FEATURE_COUNT + 2), np.array(luck).reshape(-1, FEATURE_COUNT)
    )


def make_pairs(game: str, map_: str, starts: int, nodes: int | None) -> list[GamePair]:
    """Return pairs of games, one pair for each start position. Both bots of a pair have the same random weights."""
    config = {"map": map_, **(CONFIGS.get(map_, {}) if game == "risk-campaign" else {})}
    pairs = []
    for k in range(starts):
        start = f"{SEED}/{map_}/{k}"
        drawn = random.Random(start)
        gene = tuple(round(drawn.uniform(MIN_WEIGHT, MAX_WEIGHT), 2) for _ in range(4))
        pairs.append(GamePair(game, config, gene, gene, start, None if nodes else 3, nodes))
    return pairs


def fit_odds(games: Sequence[ChanceEvents]) -> np.ndarray[Any, Any]:
    """Fit the odds that seat 0 wins to the columns of `before`, by logistic regression with Newton's method."""
    x = np.concatenate([each.before for each in games])
    y = np.concatenate([np.full(len(each.before), each.score) for each in games])
    ridge = RIDGE / 1000 * len(x) * np.eye(x.shape[1])
    found = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-np.clip(x @ found, -50, 50)))
        found += np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + ridge, x.T @ (y - p) - ridge @ found)
    return found


def sum_luck(games: Sequence[ChanceEvents], odds: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a row for each game with two sums of each feature's luck over the chance events. The first is the plain
    sum. In the second, each event has a weight for how undecided the game was before it: 1 if the odds were even, near
    0 if the game was decided.
    """
    rows = []
    for each in games:
        share = 1 / np.cosh(np.clip(each.before @ odds, -50, 50) / 2) ** 2
        rows.append(np.concatenate([each.luck.sum(0), share @ each.luck]))
    return np.array(rows)


def fit_points(luck: np.ndarray[Any, Any], scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Fit differences of scores to differences of luck, by least squares. The differences are between the two games of
    a start position, so the effects of deal and seat cancel out.
    """
    x, y = luck[0::2] - luck[1::2], scores[0::2] - scores[1::2]
    return np.asarray(np.linalg.solve(x.T @ x + RIDGE / 100 * np.diag((x**2).sum(0) + 1e-12), x.T @ y))


def variance_factor(luck: np.ndarray[Any, Any], scores: np.ndarray[Any, Any]) -> float:
    """Return the factor by which pairs with luck adjustment need fewer games: the variance of scores of single games,
    divided by twice the variance of the pairs' adjusted mean scores. Each half of the games is adjusted with the fit to
    the other half.
    """
    half = len(scores) // 4 * 2
    parts = (luck[:half], scores[:half]), (luck[half:], scores[half:])
    left = []
    for (own, result), (other, others) in (parts, parts[::-1]):
        rest = result - own @ fit_points(other, others)
        left.append((rest[0::2] - rest[1::2]) / 2)
    seen = np.concatenate([scores[0::2], 1 - scores[1::2]])  # from the view of one of the two bots
    return float(seen.var(ddof=1) / (2 * np.concatenate(left).var(ddof=1)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("game", choices=("risk-duel", "risk-campaign"))
    parser.add_argument("map")
    parser.add_argument("--starts", type=int, default=3000)
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    told = parser.parse_args()
    with process_pool(told.jobs) as crew:
        found = dict(spread(crew, play_pairs, make_pairs(told.game, told.map, told.starts, told.nodes)))
    games = list(chain.from_iterable(found[k] for k in sorted(found)))
    odds = fit_odds(games)
    luck, scores = sum_luck(games, odds), np.array([each.score for each in games])
    points = fit_points(luck, scores)
    print(
        f"{told.game}, {told.map}: {len(games)} games, factor {variance_factor(luck, scores):.1f} by the other "
        "half's fit"
    )
    rounded = [round(float(number), DIGITS) for number in (*points, *odds)]
    columns = zip(
        FEATURE_NAMES,
        rounded[:FEATURE_COUNT],
        rounded[FEATURE_COUNT : 2 * FEATURE_COUNT],
        rounded[2 * FEATURE_COUNT : 3 * FEATURE_COUNT],
        strict=True,
    )
    content = {
        "turn": rounded[-2],
        "attacks": rounded[-1],
        "features": {name: {"always": always, "open": more, "odds": odd} for name, always, more, odd in columns},
    }
    write_coefficients(told.game, told.map, content, SEED, len(games))


if __name__ == "__main__":
    main()

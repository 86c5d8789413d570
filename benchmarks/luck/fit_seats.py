"""Fit the coefficients that measure luck in a Risk campaign with more than two seats.

The regression explains differences of results by differences of the luck in territories, units and reach. The data are
games of `uct` against itself, two for each deal. Needs numpy.

`python benchmarks/luck/fit_seats.py PRESET [--starts N] [--sims N] [--jobs N]`
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from pairs import DIGITS, load_campaign, play_campaign, write_coefficients

from games.risk.measuring.share_value import SHARE_NAMES, count_seats_in, luck_of_shares
from games.risk.rules.campaign import Campaign
from machine.workers.local import process_pool, spread
from protocol.games.base import NO_DICE
from referee.result import points_from_ranks

SEED = "fit-seats-1"
"""The seed of the games for the fit. No benchmark plays the same games."""
RIDGE = 1e-2
"""The ridge penalty of the regression."""


class ScoredGame(NamedTuple):
    """The points and the luck of each seat in a game. `luck` has a row for each seat. The row begins with the luck in
    each of `SHARE_NAMES`, summed over the chance events. Then come the same sums with a weight for each event, the
    fraction of seats still in the game.
    """

    points: np.ndarray[Any, Any]
    luck: np.ndarray[Any, Any]


def play_starts(preset: str, sims: int, starts: Sequence[int]) -> list[tuple[ScoredGame, ScoredGame]]:
    rules = load_campaign(preset)
    return [(_play_game(rules, sims, start, 0), _play_game(rules, sims, start, 1)) for start in starts]


def _play_game(rules: Campaign, sims: int, start: int, number: int) -> ScoredGame:
    luck, end = np.zeros((rules.seats, 2 * len(SHARE_NAMES))), rules.initial(NO_DICE)[0]
    for before, move, end in play_campaign(rules, [sims] * rules.seats, f"{SEED}/{rules.preset}/{start}", str(number)):
        outcomes = rules.outcomes(before, move)
        if len(outcomes) > 1:
            given = np.array(luck_of_shares(rules, before, outcomes, end)).T
            luck += np.hstack([given, given * count_seats_in(before) / rules.seats])
    return ScoredGame(np.array(list(points_from_ranks(rules.ranks(end)))), luck)


def fit(pairs: Sequence[tuple[ScoredGame, ScoredGame]]) -> np.ndarray[Any, Any]:
    """Fit differences of points to differences of luck, by least squares. The differences are between the two games of
    a deal, so the effect of the turn order cancels out.
    """
    x = np.concatenate([one.luck - other.luck for one, other in pairs])
    y = np.concatenate([one.points - other.points for one, other in pairs])
    square = x.T @ x
    return np.asarray(np.linalg.solve(square + RIDGE * np.diag(np.diag(square)), x.T @ y))


def variance_factors(pairs: Sequence[tuple[ScoredGame, ScoredGame]]) -> tuple[float, float]:
    """Return two factors, for raw points and for points adjusted for luck. Each is the variance of raw points among all
    games, divided by the variance within deals. The variance within deals is half the mean squared difference between
    the two games of a deal. Each half of the games is adjusted with the fit to the other half.
    """
    half = len(pairs) // 2
    raw, less = [], []
    for own, others in ((pairs[:half], pairs[half:]), (pairs[half:], pairs[:half])):
        found = fit(others)
        raw += [one.points - other.points for one, other in own]
        less += [one.points - other.points - (one.luck - other.luck) @ found for one, other in own]
    single = float(np.var([told.points for pair in pairs for told in pair]))
    within = [float(np.mean(np.square(each))) / 2 for each in (raw, less)]
    return single / within[0], single / within[1]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("preset", choices=[name for name in Campaign.presets if load_campaign(name).seats > 2])
    parser.add_argument("--starts", type=int, default=350)
    parser.add_argument("--sims", type=int, default=16)
    parser.add_argument("--jobs", type=int, default=1)
    told = parser.parse_args()
    with process_pool(told.jobs) as crew:
        found = dict(spread(crew, partial(play_starts, told.preset, told.sims), range(told.starts)))
    pairs = [found[k] for k in sorted(found)]
    rules = load_campaign(told.preset)
    raw, less = variance_factors(pairs)
    print(f"{told.preset}: {2 * len(pairs)} games, factor {raw:.2f} by starts, {less:.2f} less luck (other half's fit)")
    rounded = [round(float(number), DIGITS) for number in fit(pairs)]
    columns = zip(SHARE_NAMES, rounded[: len(SHARE_NAMES)], rounded[len(SHARE_NAMES) :], strict=True)
    features = {name: {"always": always, "open": more} for name, always, more in columns}
    name = f"{rules.map.name}-{rules.seats}"
    write_coefficients("risk-campaign", name, {"features": features}, SEED, 2 * len(pairs))


if __name__ == "__main__":
    main()

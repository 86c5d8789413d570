"""Fit and measure the levels of the bot `level` in round robins, in which every pair plays from both seats.

    python benchmarks/levels.py fit nim --bot perfect
    python benchmarks/levels.py ladder nim

`fit` plays mixtures of a bot with random moves. Each pass changes the shares of random moves to space the strengths
more evenly. At the end, `fit` prints the line for the levels.toml of the game's room. `ladder` plays the eight levels
and rates them as an arena does; Ctrl-C prints the results so far. `gap` is the rating difference to the level below. If
a value function can remove luck, `less luck` is this difference from adjusted scores, on the scale of ratings
(Thurstone's model, which is TrueSkill's model for settled ratings).
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

from arena.ratings.rating_system import BETA, RatingStanding, rate
from bots.client.bot import Bot
from bots.playing.matches import Played, play_all
from bots.reference.level_bot import Level, Mixture, find_mixture
from machine.arguments import read_value
from measuring.isotonic import evenly_spaced
from measuring.thurstone import estimate_strengths
from measuring.value_function import NoLuck
from measuring.value_registry import default_value_names
from protocol.bot_launch import MAX_LEVEL
from protocol.games import load_game

RATING_UNIT = math.sqrt(2) * BETA
"""The difference of two settled ratings at which the stronger player wins 84 of 100 matches."""
MIXTURE_COUNT = 12
"""The number of mixtures that play in each pass of `fit`. A mixture is a bot that plays a share of its moves at random.
"""
BOOTSTRAP_SAMPLES = 300
"""The number of bootstrap samples for the intervals of the rating differences between neighbouring levels."""


class RoundRobin(NamedTuple):
    """The results of a round robin between all players: scores by pair, and the ratings after all matches."""

    scores: Mapping[tuple[int, int], Sequence[float]]
    """The scores of the first player of each pair of players, one score for each round. It is the mean over the round's
    two matches, one from each seat. If `less_luck` is true, it is adjusted for luck.
    """
    standings: Sequence[RatingStanding]
    less_luck: bool


def play_rounds(
    players: Sequence[Bot], game: str, config: Mapping[str, Any], rounds: int, seed: str
) -> Iterator[RoundRobin]:
    """Play all pairs from both seats, round by round, so that all ratings settle at the same rate. After each round,
    yield the results so far.
    """
    rules = load_game(game, config)
    less_luck = default_value_names(rules)[0] != NoLuck.name
    seeds = [f"{seed}-{number}" for number in range(rounds)]
    seatings = list(itertools.permutations(range(len(players)), 2))
    matches: dict[tuple[int, int], Iterator[Played]] = {
        (one, other): play_all([players[one], players[other]], game, seeds, config=config) for one, other in seatings
    }
    standings = [RatingStanding()] * len(players)
    scores: dict[tuple[int, int], list[float]] = {}
    for _ in range(rounds):
        for one, other in itertools.combinations(range(len(players)), 2):
            both = []
            for seats in ((one, other), (other, one)):
                played = next(matches[seats])
                ranks = [seat.rank for seat in played.result.seats]
                rated = rate(rules.pool or game, [standings[player] for player in seats], ["", ""], ranks)
                for player, rating in zip(seats, rated.seats, strict=True):
                    was = standings[player]
                    standings[player] = was._replace(
                        mu=rating.mu_after, sigma=rating.sigma_after, matches=was.matches + 1
                    )
                at = seats.index(one)
                luck = played.luck().total[at] if less_luck else 0.0
                both.append(played.points[at] - luck)
            scores.setdefault((one, other), []).append(fmean(both))
        yield RoundRobin({pair: list(found) for pair, found in scores.items()}, list(standings), less_luck)


def ratings_of(scores: Mapping[tuple[int, int], Sequence[float]], players: int) -> list[float]:
    """Return the maximum-likelihood ratings of players from the scores of each pair. The mean rating is 0."""
    return [RATING_UNIT * strength for strength in estimate_strengths(scores, players)]


def fit(game: str, config: Mapping[str, Any], bot: str, rounds: int, passes: int, seed: str) -> None:
    shares = [number / (MIXTURE_COUNT - 1) for number in range(MIXTURE_COUNT)]
    curve: list[tuple[float, float]] = []
    for number in range(passes):
        players = [
            Level(f"share-{at}", level=1, mixture=Mixture(bot, [share] * MAX_LEVEL)) for at, share in enumerate(shares)
        ]
        *_, field = play_rounds(players, game, config, rounds, f"{seed}-{number}")
        strength = ratings_of(field.scores, MIXTURE_COUNT)
        told = "  ".join(f"{share:.3f} {each:+.2f}" for share, each in zip(shares, strength, strict=True))
        print(f"# pass {number + 1}, share and strength: {told}", flush=True)
        middle = (strength[0] + strength[-1]) / 2  # the first and the last share are in every pass
        curve += [(share, each - middle) for share, each in zip(shares, strength, strict=True)]
        shares = sorted(evenly_spaced(curve, MIXTURE_COUNT))
    random_share = evenly_spaced(curve, MAX_LEVEL)
    print(f'{game} = {{ bot = "{bot}", random_share = [{", ".join(f"{share:.3f}" for share in random_share)}] }}')


def play_ladder(game: str, config: Mapping[str, Any], matches: int, seed: str) -> None:
    rules = load_game(game, config)
    mixture = find_mixture(game, rules.pool)
    if mixture is None:
        raise SystemExit(f"{game} has no levels")
    rounds = -(-matches // (2 * (MAX_LEVEL - 1)))
    players = [Level(f"level-{level}", level=level) for level in range(1, MAX_LEVEL + 1)]
    field = None
    with suppress(KeyboardInterrupt):
        for so_far in play_rounds(players, game, config, rounds, seed):
            field = so_far
    if field is None:
        raise SystemExit(f"{game}: no round was over")
    where = rules.pool or " ".join((game, *(f"{key}={value}" for key, value in config.items())))
    print(f"{where}: {mixture.bot}, {field.standings[0].matches} matches each, seed {seed}")
    known, intervals = gaps_of(field.scores) if field.less_luck else ([], [])
    print("level  random     mu  sigma    gap           95 %" + ("  less luck         95 %" if known else ""))
    for level, (standing, share) in enumerate(zip(field.standings, mixture.random_share, strict=True), 1):
        line = f"{level:5}  {share:6.3f}  {standing.mu:5.2f}  {standing.sigma:5.2f}"
        if level > 1:
            before = field.standings[level - 2]
            gap, wide = standing.mu - before.mu, 1.96 * math.hypot(standing.sigma, before.sigma)
            line += f"  {gap:+5.2f}  {gap - wide:+5.2f} to {gap + wide:+5.2f}"
            if known:
                low, high = intervals[level - 2]
                line += f"      {known[level - 2]:+5.2f}  {low:+5.2f} to {high:+5.2f}"
        print(line)
    said = [("ratings", [one.mu < other.mu for one, other in itertools.pairwise(field.standings)])]
    if known:
        said.append(("less luck", [gap > 0 for gap in known]))
    for what, right in said:
        print(f"{what}: {sum(right)} of {len(right)} neighbours in order")


def gaps_of(scores: Mapping[tuple[int, int], Sequence[float]]) -> tuple[list[float], list[tuple[float, float]]]:
    """Return the rating differences of neighbouring levels, with 95 % bootstrap intervals over each pair's rounds."""
    chance = Random(1)

    def gaps(found: Mapping[tuple[int, int], Sequence[float]]) -> list[float]:
        return [other - one for one, other in itertools.pairwise(ratings_of(found, MAX_LEVEL))]

    drawn = [
        gaps({pair: chance.choices(all_, k=len(all_)) for pair, all_ in scores.items()})
        for _ in range(BOOTSTRAP_SAMPLES)
    ]
    ends = [sorted(column) for column in zip(*drawn, strict=True)]
    cut = BOOTSTRAP_SAMPLES * 25 // 1000
    return gaps(scores), [(column[cut], column[-1 - cut]) for column in ends]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("fit", "ladder"))
    parser.add_argument("game")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the game's config")
    parser.add_argument("--bot", default="perfect", help="of a fit: who is mixed with random moves")
    parser.add_argument("--rounds", type=int, default=30, help="of a fit: so many times both seats, for each pair")
    parser.add_argument("--passes", type=int, default=3, help="of a fit")
    parser.add_argument("--matches", type=int, default=200, help="of the ladder: of each level, or a few more")
    parser.add_argument("--seed", default="1")
    given = parser.parse_args()
    config = {key: read_value(value) for key, _, value in (pair.partition("=") for pair in given.set)}
    if given.what == "fit":
        fit(given.game, config, given.bot, given.rounds, given.passes, given.seed)
    else:
        play_ladder(given.game, config, given.matches, given.seed)


if __name__ == "__main__":
    main()

"""The rating system: TrueSkill ratings from results. docs/ladder.md explains the choices.

Only this module imports the package trueskill. Every preset of a game is a rating pool. The constants of a pool never
change, so the ratings in a record can be recomputed.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from arena.ratings import trueskill_update
from arena.ratings.trueskill_update import PlayerSkill, ResultWeights
from protocol.errors import BadRecord
from protocol.games import game_class, is_known_game
from protocol.pools import version_of
from referee.result import Ratings, SeatRating

MU = 25.0
"""The mean of the estimate of a new bot's skill."""
SIGMA = MU / 3
"""The standard deviation of the estimate of a new bot's skill."""
BETA = SIGMA / 2
"""The standard deviation of a bot's performance in one match, around the bot's skill."""
TAU = 0.0
"""The standard deviation that each match adds to the estimate of a skill. It is 0, because a bot that does not change
does not drift. A new version adds `NEW_VERSION_SIGMA` instead.
"""
NEW_VERSION_SIGMA = SIGMA / 10
"""The standard deviation that a new version of a bot adds to the estimate of its skill."""
PROVISIONAL_MATCHES = 10
"""The number of rated matches below which a bot's place on the leaderboard is provisional."""
RATING_TOLERANCE = 1e-9
"""The difference allowed between ratings that two machines compute: relative, and absolute for values near 0."""
_PRECISION_DIGITS = 60
"""The number of decimal digits with which mpmath computes updates for results too improbable for doubles."""


class Rating(NamedTuple):
    """The estimate of a bot's skill: the mean and the standard deviation of a normal distribution."""

    mu: float
    sigma: float


class RatingStanding(NamedTuple):
    """A bot's state in a rating pool: its rating, its number of rated matches, and its last version."""

    mu: float = MU
    sigma: float = SIGMA
    matches: int = 0
    version: str = ""


INITIAL_RATING = Rating(MU, SIGMA)
"""The rating of a bot before its first rated match."""


def conservative_score(mu: float, sigma: float) -> float:
    """Return a low estimate of a skill, which the bot's true skill almost certainly exceeds. It sorts leaderboards."""
    return mu - 3 * sigma


def standing_for_version(standing: RatingStanding, version: str) -> RatingStanding:
    """Return the standing with which a bot enters a match that it plays as `version`. If the version is new, the rating
    becomes less certain.
    """
    if not version or version == standing.version:
        return standing
    if standing.matches == 0:
        return standing._replace(version=version)
    return standing._replace(sigma=min(SIGMA, math.hypot(standing.sigma, NEW_VERSION_SIGMA)), version=version)


def game_of(pool: str) -> str:
    """Return the game of a pool: `nim` for `nim/classic`."""
    return pool.partition("/")[0]


def has_rules_of(pool: str) -> bool:
    """Return whether the rules of a pool's game are here, in the version that the pool is for."""
    game = game_of(pool)
    return is_known_game(game) and game_class(game).version == version_of(pool)


def rate(pool: str, standings: Sequence[RatingStanding], versions: Sequence[str], ranks: Sequence[int]) -> Ratings:
    """Return the ratings of the seats before and after a match, in seat order, with the constants used. `sigma_before`
    includes the uncertainty that a new version adds. Raise `UnknownGame` if the pool's game is unknown.
    """
    came = [standing_for_version(standing, version) for standing, version in zip(standings, versions, strict=True)]
    before = [Rating(standing.mu, standing.sigma) for standing in came]
    draw_probability = game_class(game_of(pool)).draw_probability
    return make_ratings(pool, _seat_ratings(before, _update(before, ranks, BETA, TAU, draw_probability)))


def make_ratings(pool: str, seats: tuple[SeatRating, ...]) -> Ratings:
    """Combine the seats' ratings with the constants of the pool's game. Raise `UnknownGame` if the game is unknown."""
    return _make_ratings(pool, seats, game_class(game_of(pool)).draw_probability)


def _make_ratings(pool: str, seats: tuple[SeatRating, ...], draw_probability: float) -> Ratings:
    return Ratings(pool=pool, mu=MU, sigma=SIGMA, beta=BETA, tau=TAU, draw_probability=draw_probability, seats=seats)


def recompute(ratings: Ratings, ranks: Sequence[int]) -> tuple[SeatRating, ...]:
    """Return the seats' ratings after a match, from the ratings before it and the constants stored with them."""
    before = [Rating(seat.mu_before, seat.sigma_before) for seat in ratings.seats]
    return _seat_ratings(before, _update(before, ranks, ratings.beta, ratings.tau, ratings.draw_probability))


def check_ratings(pool: str, ratings: Ratings, ranks: Sequence[int], *, has_rules: bool = True) -> None:
    """Check the ratings in a record: compare their constants with the pool's, and compute them again. Raise
    `BadRecord`, which names the wrong number, if they differ. If the rules of the pool's game are missing
    (`has_rules`), the record alone has the probability of a draw.
    """
    if has_rules:
        constants = make_ratings(pool, ())
    elif not 0 <= ratings.draw_probability < 1:
        raise BadRecord(f"the ratings' draw_probability is {ratings.draw_probability}: it is from 0 to below 1")
    else:
        constants = _make_ratings(pool, (), ratings.draw_probability)
    for name in ("pool", "mu", "sigma", "beta", "tau", "draw_probability"):
        said, right = getattr(ratings, name), getattr(constants, name)
        if said != right:
            raise BadRecord(f"the ratings' {name} should be {right}, the record says {said}")
    if len(ratings.seats) != len(ranks):
        raise BadRecord(f"ratings of {len(ratings.seats)} seats in a match of {len(ranks)}")
    for number, seat in enumerate(ratings.seats):
        if not (math.isfinite(seat.mu_before) and 0 < seat.sigma_before <= SIGMA * (1 + RATING_TOLERANCE)):
            raise BadRecord(
                f"seat {number}: mu_before {seat.mu_before}, sigma_before {seat.sigma_before} is no rating: "
                f"mu is finite, sigma above 0 and at most {SIGMA:.4f}"
            )
    for number, (seat, again) in enumerate(zip(ratings.seats, recompute(ratings, ranks), strict=True)):
        for name in ("mu_after", "sigma_after"):
            said, right = getattr(seat, name), getattr(again, name)
            if not nearly_equal(said, right):
                raise BadRecord(f"seat {number}: {name} should be {right}, the record says {said}")


def nearly_equal(a: float, b: float) -> bool:
    """Return whether two numbers of a rating differ by no more than rounding on two machines can explain."""
    return math.isclose(a, b, rel_tol=RATING_TOLERANCE, abs_tol=RATING_TOLERANCE)


def skill_overlap(rating: Rating, other_rating: Rating) -> float:
    """Return how close two skills are (1: equal): TrueSkill's match quality without its factor for certainty."""
    return math.exp(
        -((rating.mu - other_rating.mu) ** 2) / (2 * (2 * BETA**2 + rating.sigma**2 + other_rating.sigma**2))
    )


def _seat_ratings(before: Sequence[Rating], after: Sequence[Rating]) -> tuple[SeatRating, ...]:
    return tuple(
        SeatRating(mu_before=old.mu, sigma_before=old.sigma, mu_after=new.mu, sigma_after=new.sigma)
        for old, new in zip(before, after, strict=True)
    )


def _update(
    before: Sequence[Rating], ranks: Sequence[int], beta: float, tau: float, draw_probability: float
) -> list[Rating]:
    """Return the ratings after a match: the mean of the updates for all orders of tied seats.

    TrueSkill compares only neighbours in the order of ranks, so a single order would favour some tied seats. Tied seats
    with equal ratings are interchangeable: they share one mean.
    """
    players = {rating: PlayerSkill(rating.mu, rating.sigma, beta, tau) for rating in before}
    found: dict[tuple[int, Rating], list[Rating]] = {place: [] for place in zip(ranks, before, strict=True)}
    for order in _tie_orders(before, ranks):
        # In a game without draws, a draw would have probability 0, so a tie counts as wins in this order.
        draws = [draw_probability > 0 and a == b for (a, _), (b, _) in itertools.pairwise(order)]
        row = [players[rating] for _, rating in order]
        try:
            after = trueskill_update.update(row, draws, _double_weights(beta, draw_probability))
        except FloatingPointError:
            after = trueskill_update.update(row, draws, _precise_weights(beta, draw_probability))
        for place, (mu, sigma) in zip(order, after, strict=True):
            found[place].append(Rating(mu, sigma))
    mean = {
        place: Rating(_mean([rating.mu for rating in runs]), _mean([rating.sigma for rating in runs]))
        for place, runs in found.items()
    }
    return [mean[place] for place in zip(ranks, before, strict=True)]


def _tie_orders(before: Sequence[Rating], ranks: Sequence[int]) -> Iterator[list[tuple[int, Rating]]]:
    """Yield the seats' (rank, rating) pairs from best to worst, once for every order of the tied seats."""
    by_rank = sorted(zip(ranks, before, strict=True), key=lambda place: place[0])
    tied = [list(group) for _, group in itertools.groupby(by_rank, key=lambda place: place[0])]
    for choice in itertools.product(*(dict.fromkeys(itertools.permutations(group)) for group in tied)):
        yield [place for group in choice for place in group]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


@functools.lru_cache
def _double_weights(beta: float, draw_probability: float) -> ResultWeights:
    import trueskill

    return _make_weights(trueskill.TrueSkill(MU, SIGMA, beta, TAU, draw_probability))


@functools.lru_cache
def _precise_weights(beta: float, draw_probability: float) -> ResultWeights:
    """Return the functions of TrueSkill in high precision, for probabilities that are too small for doubles. The mpmath
    context is private, because all threads share the default context.
    """
    import mpmath
    import trueskill

    context = mpmath.MPContext()
    context.dps = _PRECISION_DIGITS

    def quantile(share: float) -> Any:
        return context.sqrt(2) * context.erfinv(2 * share - 1)

    return _make_weights(
        trueskill.TrueSkill(MU, SIGMA, beta, TAU, draw_probability, backend=(context.ncdf, context.npdf, quantile))
    )


def _make_weights(environment: Any) -> ResultWeights:
    import trueskill

    return ResultWeights(
        environment.cdf, environment.pdf, trueskill.calc_draw_margin(environment.draw_probability, 2, environment)
    )

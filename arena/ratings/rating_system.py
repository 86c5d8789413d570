"""The rating system: ratings from results, with TrueSkill. docs/ladder.md explains the choices.

Only this module imports trueskill. Every preset of a game is a rating pool. A game's constants never change, so the
ratings in a record can be recomputed.
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
from protocol.games import game_class
from referee.result import Ratings, SeatRating

MU = 25.0
SIGMA = MU / 3
BETA = SIGMA / 2
TAU = 0.0
"""The uncertainty that TrueSkill adds to a rating at each match. It is 0, because a bot that does not change does not
drift; a new version adds `NEW_VERSION_SIGMA`.
"""
NEW_VERSION_SIGMA = SIGMA / 10
PROVISIONAL_MATCHES = 10
"""Below this number of matches, a place on the leaderboard is provisional."""
RATING_TOLERANCE = 1e-9
"""Relative tolerance, and absolute around 0, for differences between two machines' arithmetic."""
_PRECISION_DIGITS = 60


class Rating(NamedTuple):
    """The belief about a bot's skill: a normal distribution."""

    mu: float
    sigma: float


class RatingStanding(NamedTuple):
    """A bot's state in a pool: its rating, its number of rated matches, and its last version."""

    mu: float = MU
    sigma: float = SIGMA
    matches: int = 0
    version: str = ""


INITIAL = Rating(MU, SIGMA)
"""The belief about a bot before its first rated match."""


def conservative_score(mu: float, sigma: float) -> float:
    """Return a skill that the bot almost certainly exceeds. The leaderboard is sorted by it."""
    return mu - 3 * sigma


def standing_for_version(standing: RatingStanding, version: str) -> RatingStanding:
    """Return the standing of a bot with `version`: a new version makes it slightly less certain."""
    if not version or version == standing.version:
        return standing
    if standing.matches == 0:
        return standing._replace(version=version)
    return standing._replace(sigma=min(SIGMA, math.hypot(standing.sigma, NEW_VERSION_SIGMA)), version=version)


def game_of(pool: str) -> str:
    """Return the game of a pool: `nim` for `nim/classic`."""
    return pool.partition("/")[0]


def rate(pool: str, standings: Sequence[RatingStanding], versions: Sequence[str], ranks: Sequence[int]) -> Ratings:
    """Return the ratings of the seats before and after a match, in seat order, with every number used. `sigma_before`
    includes what a new version added. Raises `UnknownGame`.
    """
    came = [standing_for_version(standing, version) for standing, version in zip(standings, versions, strict=True)]
    before = [Rating(standing.mu, standing.sigma) for standing in came]
    draw_probability = game_class(game_of(pool)).draw_probability
    return make_ratings(pool, _seat_ratings(before, _update(before, ranks, BETA, TAU, draw_probability)))


def make_ratings(pool: str, seats: tuple[SeatRating, ...]) -> Ratings:
    """Combine the seats' ratings with the constants of the pool's game. Raises `UnknownGame`."""
    draw_probability = game_class(game_of(pool)).draw_probability
    return Ratings(pool=pool, mu=MU, sigma=SIGMA, beta=BETA, tau=TAU, draw_probability=draw_probability, seats=seats)


def recompute(ratings: Ratings, ranks: Sequence[int]) -> tuple[SeatRating, ...]:
    """Return the seats' ratings, computed from those before the match and the constants stored with them."""
    before = [Rating(seat.mu_before, seat.sigma_before) for seat in ratings.seats]
    return _seat_ratings(before, _update(before, ranks, ratings.beta, ratings.tau, ratings.draw_probability))


def check_ratings(pool: str, ratings: Ratings, ranks: Sequence[int]) -> None:
    """Compare recorded ratings with the pool's constants and the computation. Raises `BadRecord`, naming the number."""
    constants = make_ratings(pool, ())
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
    """Return whether two numbers of a rating differ at most in the last digits."""
    return math.isclose(a, b, rel_tol=RATING_TOLERANCE, abs_tol=RATING_TOLERANCE)


def skill_overlap(rating: Rating, other_rating: Rating) -> float:
    """Return how close two skills may be, in (0, 1]: the match quality without the factor for certainty."""
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
    """Return the mean update over all orders of tied seats: only neighbours are compared, so one order would favour
    some. Tied seats with equal ratings are interchangeable, so orders are those of the ratings, and such seats share a
    mean.
    """
    players = {rating: PlayerSkill(rating.mu, rating.sigma, beta, tau) for rating in before}
    found: dict[tuple[int, Rating], list[Rating]] = {place: [] for place in zip(ranks, before, strict=True)}
    for order in _tie_orders(before, ranks):
        # In a game without draws, a tie counts as decided in this order: a draw would have the likelihood 0.
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
    """Yield ranks and ratings from best to worst, once for every order of the tied seats."""
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
    """Return weights in high precision, for gaps that underflow in doubles. The context is private, because all threads
    share mpmath's default one.
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

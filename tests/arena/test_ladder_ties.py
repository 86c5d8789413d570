"""Ties on the ladder: the mean over every order of the tied seats, as the package trueskill rates them one by one."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import pytest
import trueskill
from hypothesis import example, given, settings
from hypothesis import strategies as st

from arena.ratings import rating_system, trueskill_update
from arena.ratings.rating_system import BETA, MU, SIGMA, Rating, RatingStanding
from referee.result import Ratings, SeatRating

FAR = [Rating(400, 1.0), Rating(25, 2.0), Rating(-380, 1.5)]
"""Too far apart for doubles."""


def again(before: Sequence[Rating], ranks: Sequence[int], draw: float, tau: float = 0.0) -> list[Rating]:
    """The ladder's own computation, of whatever constants."""
    seats = tuple(SeatRating(mu_before=mu, sigma_before=sigma, mu_after=0, sigma_after=0) for mu, sigma in before)
    with_constants = Ratings(pool="", mu=MU, sigma=SIGMA, beta=BETA, tau=tau, draw_probability=draw, seats=seats)
    return [Rating(seat.mu_after, seat.sigma_after) for seat in rating_system.recompute(with_constants, ranks)]


def mean_of_orders(before: Sequence[Rating], ranks: Sequence[int], draw: float, tau: float = 0.0) -> list[Rating]:
    """The definition (docs/ladder.md, Ties): the plain mean over all orders, each seat told apart from each other."""
    orders = [
        order
        for order in itertools.permutations(range(len(before)))
        if all(ranks[a] <= ranks[b] for a, b in itertools.pairwise(order))
    ]
    runs = [rated(before, order, [ranks[seat] for seat in order], draw, tau) for order in orders]
    return [
        Rating(*(math.fsum(values) / len(runs) for values in zip(*(run[seat] for run in runs), strict=True)))
        for seat in range(len(before))
    ]


def rated(
    before: Sequence[Rating], order: Sequence[int], ranks: Sequence[int], draw: float, tau: float
) -> dict[int, Rating]:
    given_groups = [(trueskill.Rating(*before[seat]),) for seat in order]
    places = ranks if draw > 0 else range(len(order))
    try:
        groups = trueskill.TrueSkill(MU, SIGMA, BETA, tau, draw).rate(given_groups, places)
    except FloatingPointError:
        groups = precise(tau, draw).rate(given_groups, places)
    return {seat: Rating(group[0].mu, group[0].sigma) for seat, group in zip(order, groups, strict=True)}


@functools.cache
def precise(tau: float, draw: float) -> trueskill.TrueSkill:
    import mpmath

    context = mpmath.MPContext()
    context.dps = 60
    functions = (context.ncdf, context.npdf, lambda share: context.sqrt(2) * context.erfinv(2 * share - 1))
    return trueskill.TrueSkill(MU, SIGMA, BETA, tau, draw, backend=functions)


@pytest.fixture(autouse=True)
def _without_what_was_computed_before() -> None:
    rating_system._double_weights.cache_clear()
    rating_system._precise_weights.cache_clear()


RATINGS = st.builds(Rating, st.floats(-50, 100), st.floats(0.3, SIGMA))
EQUALS_AND_OTHERS = st.lists(RATINGS, min_size=1, max_size=6).flatmap(
    lambda pool: st.lists(st.sampled_from(pool), min_size=2, max_size=5)
)
DIFFERENT = [Rating(10 + 5 * seat, 1.0 + seat) for seat in range(5)]


@pytest.mark.no_cover
@settings(max_examples=settings.default.max_examples // 10)
@given(
    EQUALS_AND_OTHERS,
    st.lists(st.integers(1, 3), min_size=6, max_size=6),
    st.sampled_from([0.0, 0.05, 0.4, 0.9]),
    st.sampled_from([0.0, 0.1]),
)
@example(DIFFERENT, [1] * 5, 0.05, 0.0)
@example([*DIFFERENT[:3], *DIFFERENT[:2]], [1] * 5, 0.0, 0.0)
@example([Rating(MU, SIGMA)] * 5, [1] * 5, 0.05, 0.0)
@example([Rating(MU, SIGMA)] * 6, [1, 1, 2, 2, 2, 3], 0.0, 0.0)
def test_a_tie_is_the_mean_over_the_orders_of_the_tied_seats(
    before: list[Rating], places: list[int], draw: float, tau: float
) -> None:
    ranks = places[: len(before)]
    for one, other in zip(again(before, ranks, draw, tau), mean_of_orders(before, ranks, draw, tau), strict=True):
        assert one.mu == pytest.approx(other.mu, rel=1e-12, abs=1e-12)
        assert one.sigma == pytest.approx(other.sigma, rel=1e-12)


@pytest.mark.no_cover
@settings(max_examples=settings.default.max_examples // 2)
@given(st.lists(RATINGS, min_size=2, max_size=6), st.sampled_from([0.0, 0.05, 0.4, 0.9]), st.sampled_from([0.0, 0.1]))
def test_a_match_without_ties_is_rated_as_trueskill_does_to_the_last_bit(
    before: list[Rating], draw: float, tau: float
) -> None:
    ranks = list(range(1, len(before) + 1))
    assert again(before, ranks, draw, tau) == mean_of_orders(before, ranks, draw, tau)


@pytest.mark.parametrize("ranks", [[1, 2, 3], [3, 2, 1], [1, 1, 1], [2, 1, 1]])
@pytest.mark.parametrize("draw", [0.0, 0.05])
def test_gaps_beyond_double_precision_are_rated_as_trueskill_does_with_sixty_digits(
    ranks: list[int], draw: float
) -> None:
    for one, other in zip(again(FAR, ranks, draw), mean_of_orders(FAR, ranks, draw), strict=True):
        assert one == pytest.approx(other, rel=1e-12)


@pytest.mark.parametrize(("gap", "sigma", "draw"), [(491, 8.0, 0.05), (317, 4.0, 0.4)])
def test_a_draw_at_the_edge_of_double_precision_is_rated(gap: float, sigma: float, draw: float) -> None:
    strong, weak = again([Rating(gap, sigma), Rating(0, sigma)], [1, 1], draw)
    assert 0 < weak.mu < strong.mu < gap
    assert 0 < weak.sigma < sigma
    assert strong.sigma == pytest.approx(weak.sigma)


NEW, OTHER = RatingStanding(), RatingStanding(30.0, 4.0, 20)


@pytest.mark.parametrize(
    ("standings", "ranks", "rows"),
    [
        ([NEW] * 6, [1, 2, 3, 4, 5, 6], 1),
        ([NEW] * 6, [1] * 6, 1),
        ([NEW] * 6, [1, 1, 1, 2, 2, 3], 1),
        ([OTHER, *[NEW] * 5], [1] * 6, 6),
        ([OTHER, OTHER, *[NEW] * 4], [1] * 6, 15),
        ([RatingStanding(20.0 + seat, 4.0, 20) for seat in range(4)], [1] * 4, 24),
    ],
)
def test_a_tie_is_computed_once_for_each_order_of_the_ratings_in_it(
    standings: list[RatingStanding], ranks: list[int], rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = []
    update = trueskill_update.update
    monkeypatch.setattr(trueskill_update, "update", lambda row, *given: computed.append(row) or update(row, *given))
    versions: list[Any] = [""] * len(ranks)
    rating_system.rate("risk-campaign", standings, versions, ranks)
    assert len(computed) == rows

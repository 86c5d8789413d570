"""The ladder: what a match does to ratings, and what a record's ratings must satisfy."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.ratings import rating_system
from arena.ratings.rating_system import NEW_VERSION_SIGMA, SIGMA, Rating, RatingStanding
from protocol.errors import BadRecord, UnknownGame
from referee.result import Ratings


def rated(game: str, ranks: list[int], *standings: RatingStanding, versions: list[str] | None = None) -> Ratings:
    given_standings = list(standings) or [RatingStanding()] * len(ranks)
    return rating_system.rate(game, given_standings, versions or [""] * len(ranks), ranks)


def changed(ratings: Ratings, seat: int, **values: float) -> Ratings:
    fields = {name: getattr(ratings, name) for name in ratings.__struct_fields__}
    seats = list(ratings.seats)
    old = {name: getattr(seats[seat], name) for name in seats[seat].__struct_fields__}
    seats[seat] = type(seats[seat])(**{**old, **values})
    return Ratings(**{**fields, "seats": tuple(seats)})


def test_a_first_win_moves_both_bots_as_the_trueskill_paper_says() -> None:
    winner, loser = rated("nim", [1, 2]).seats
    assert winner.mu_after == pytest.approx(29.2052, abs=1e-3)
    assert loser.mu_after == pytest.approx(20.7948, abs=1e-3)
    assert winner.sigma_after == loser.sigma_after == pytest.approx(7.1945, abs=1e-3)


def test_ratings_state_every_constant_that_was_used() -> None:
    ratings = rated("tictactoe", [1, 2])
    assert (ratings.pool, ratings.mu, ratings.sigma, ratings.beta) == ("tictactoe", 25.0, SIGMA, SIGMA / 2)
    assert (ratings.tau, ratings.draw_probability) == (0.0, 0.4)


def test_a_pool_is_of_a_preset_and_has_the_constants_of_its_game() -> None:
    ratings = rated("tictactoe/classic", [1, 2])
    assert (ratings.pool, ratings.draw_probability) == ("tictactoe/classic", 0.4)
    assert rating_system.game_of("risk-duel/south-america") == "risk-duel"
    rating_system.check_ratings("tictactoe/classic", ratings, [1, 2])
    with pytest.raises(BadRecord, match="pool should be tictactoe, the record says tictactoe/classic"):
        rating_system.check_ratings("tictactoe", ratings, [1, 2])


def test_two_tied_newcomers_are_updated_equally() -> None:
    first, second = rated("tictactoe", [1, 1]).seats
    assert (first.mu_after, first.sigma_after) == (second.mu_after, second.sigma_after)
    assert first.sigma_after < SIGMA


@pytest.mark.parametrize("seats", [3, 4, 5])
def test_any_number_of_tied_newcomers_are_updated_equally(seats: int) -> None:
    after = rated("tictactoe", [1] * seats).seats
    for seat in after:
        assert seat.mu_after == pytest.approx(25.0, abs=1e-6)
        assert seat.sigma_after == pytest.approx(after[0].sigma_after, rel=1e-12)


def test_tied_losers_behind_a_winner_are_updated_equally() -> None:
    winner, *losers = rated("tictactoe", [1, 2, 2, 2]).seats
    assert winner.mu_after > 25
    assert {round(seat.mu_after, 9) for seat in losers} == {round(losers[0].mu_after, 9)}


def test_the_order_of_the_seats_does_not_matter() -> None:
    a, b, c = RatingStanding(20, 3, 5), RatingStanding(25, 4, 5), RatingStanding(31, 2, 5)
    one = rated("tictactoe", [2, 2, 1], a, b, c).seats
    other = rated("tictactoe", [1, 2, 2], c, b, a).seats
    for seat, same_seat in zip(one, reversed(other), strict=True):
        assert seat.mu_after == pytest.approx(same_seat.mu_after, rel=1e-12)


def test_a_tie_in_a_game_without_draws_never_raises_sigma() -> None:
    for gap in (0, 1, 5, 30, 300):
        standings = (RatingStanding(25 + gap, 2, 9), RatingStanding(25, 3, 9))
        strong, weak = rated("nim", [1, 1], *standings).seats
        assert strong.sigma_after <= 2
        assert weak.sigma_after <= 3
        assert strong.mu_after <= 25 + gap or gap == 0
        assert weak.mu_after >= 25 or gap == 0


@pytest.mark.parametrize("game", ["nim", "tictactoe"])
@pytest.mark.parametrize("ranks", [[1, 2], [2, 1], [1, 1]])
@pytest.mark.parametrize("gap", [60, 300, 5000])
def test_gaps_beyond_double_precision_are_rated_all_the_same(game: str, ranks: list[int], gap: int) -> None:
    strong, weak = rated(game, ranks, RatingStanding(gap, 0.7, 99), RatingStanding(0, 0.8, 99)).seats
    assert strong.mu_after <= gap * (1 + 1e-12)
    assert weak.mu_after >= -1e-9
    assert 0 < strong.sigma_after <= 0.7 * (1 + 1e-12)
    assert 0 < weak.sigma_after <= 0.8 * (1 + 1e-12)
    if ranks == [2, 1]:
        assert strong.mu_after < gap - 0.5


def test_a_new_version_raises_sigma_a_little_before_the_match_is_rated() -> None:
    standing = RatingStanding(30, 1.0, 50, "1.0")
    seat = rated("nim", [1, 2], standing, RatingStanding(), versions=["1.1", ""]).seats[0]
    assert seat.sigma_before == pytest.approx(math.hypot(1.0, NEW_VERSION_SIGMA))
    assert seat.mu_before == 30


@pytest.mark.parametrize("version", ["1.0", ""])
def test_the_same_version_or_none_leaves_sigma_as_it_was(version: str) -> None:
    seat = rated("nim", [1, 2], RatingStanding(30, 1.0, 50, "1.0"), RatingStanding(), versions=[version, ""]).seats[0]
    assert seat.sigma_before == 1.0


def test_a_first_version_is_nothing_new_and_sigma_never_exceeds_the_initial_one() -> None:
    newcomer, unsure = rated(
        "nim", [1, 2], RatingStanding(), RatingStanding(20, 8.3, 1, "a"), versions=["1", "b"]
    ).seats
    assert newcomer.sigma_before == SIGMA
    assert unsure.sigma_before == SIGMA


def test_a_bot_that_does_not_change_grows_ever_more_certain() -> None:
    one, two = RatingStanding(), RatingStanding()
    for number in range(60):
        ranks = [1, 2] if number % 2 else [2, 1]
        first, second = rated("nim", ranks, one, two).seats
        assert first.sigma_after < one.sigma
        one = RatingStanding(first.mu_after, first.sigma_after, number + 1)
        two = RatingStanding(second.mu_after, second.sigma_after, number + 1)
    assert one.sigma < 1.5


@given(
    st.lists(st.tuples(st.floats(-50, 100), st.floats(0.3, SIGMA)), min_size=2, max_size=3),
    st.lists(st.integers(1, 3), min_size=3, max_size=3),
)
def test_what_was_rated_can_be_computed_again_from_the_ratings_alone(
    skills: list[tuple[float, float]], places: list[int]
) -> None:
    ranks = places[: len(skills)]
    ratings = rated("tictactoe", ranks, *(RatingStanding(mu, sigma, 3) for mu, sigma in skills))
    assert rating_system.recompute(ratings, ranks) == ratings.seats
    rating_system.check_ratings("tictactoe", ratings, ranks)


@pytest.mark.parametrize("number", ["mu_before", "sigma_before", "mu_after", "sigma_after"])
def test_a_changed_rating_does_not_pass_the_check(number: str) -> None:
    ratings = rated("nim", [1, 2])
    forged = changed(ratings, 1, **{number: getattr(ratings.seats[1], number) * 0.999})
    with pytest.raises(BadRecord, match=r"seat \d: (mu|sigma)_after should be"):
        rating_system.check_ratings("nim", forged, [1, 2])


def test_a_changed_rank_does_not_pass_the_check() -> None:
    with pytest.raises(BadRecord, match="seat 0: mu_after should be"):
        rating_system.check_ratings("nim", rated("nim", [1, 2]), [2, 1])


def test_constants_of_another_game_do_not_pass_the_check() -> None:
    with pytest.raises(BadRecord, match="pool should be nim, the record says grundy"):
        rating_system.check_ratings("nim", rated("grundy", [1, 2]), [1, 2])
    ratings = rated("nim", [1, 2])
    drawish = Ratings(
        pool="nim", mu=25.0, sigma=SIGMA, beta=SIGMA / 2, tau=0.0, draw_probability=0.1, seats=ratings.seats
    )
    with pytest.raises(BadRecord, match=r"draw_probability should be 0\.0, the record says 0\.1"):
        rating_system.check_ratings("nim", drawish, [1, 2])


@pytest.mark.parametrize("broken", [{"sigma_before": 0.0}, {"sigma_before": -1.0}, {"mu_before": math.inf}])
def test_numbers_that_are_no_rating_do_not_pass_the_check(broken: dict[str, float]) -> None:
    with pytest.raises(BadRecord, match="is no rating"):
        rating_system.check_ratings("nim", changed(rated("nim", [1, 2]), 0, **broken), [1, 2])


def test_ratings_of_another_number_of_seats_do_not_pass_the_check() -> None:
    with pytest.raises(BadRecord, match="ratings of 2 seats in a match of 3"):
        rating_system.check_ratings("nim", rated("nim", [1, 2]), [1, 2, 3])


def test_an_unknown_game_has_no_pool() -> None:
    with pytest.raises(UnknownGame, match="one of nim"):
        rated("chess", [1, 2])


def test_unsure_bots_are_closer_to_each_other_than_sure_ones() -> None:
    unsure = rating_system.skill_overlap(Rating(20, 8), Rating(30, 8))
    assert unsure > rating_system.skill_overlap(Rating(20, 1), Rating(30, 1))


def test_the_conservative_score_is_three_sigmas_down() -> None:
    assert rating_system.conservative_score(25, SIGMA) == pytest.approx(0)


def test_the_version_that_a_bot_comes_with_is_the_one_it_is_rated_in() -> None:
    for standing in (RatingStanding(), RatingStanding(30, 1.0, 50, "1.0")):
        assert rating_system.standing_for_version(standing, "1.1").version == "1.1"
        assert rating_system.standing_for_version(standing, "") == standing


def test_a_sigma_above_the_initial_one_does_not_pass_the_check() -> None:
    with pytest.raises(BadRecord, match="is no rating"):
        rating_system.check_ratings("nim", changed(rated("nim", [1, 2]), 0, sigma_before=SIGMA * 1.001), [1, 2])


def test_every_seat_has_a_version() -> None:
    with pytest.raises(ValueError, match="shorter"):
        rated("nim", [1, 2], versions=["1"])


def test_numbers_next_to_0_are_the_same_to_an_absolute_tolerance() -> None:
    assert rating_system.nearly_equal(0.0, 9e-10)
    assert not rating_system.nearly_equal(0.0, 2e-9)
    assert rating_system.nearly_equal(1000.0, 1000.0 + 9e-7)
    assert not rating_system.nearly_equal(1000.0, 1000.0 + 2e-6)

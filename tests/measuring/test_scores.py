"""Scores and adjusted scores: units, strata, intervals that hold, what few matches say, and the games saved."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from statistics import NormalDist, fmean, pvariance, stdev, variance

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from measuring import variance_reduction
from measuring.adjusted_scores import ScoreEstimates, estimate_scores
from measuring.pair_scores import MIN_UNITS, SideScore, group_score, side_score, stratify
from measuring.scores import Estimate, count_moments, score_of_counts
from measuring.student_t import student_cdf, t_critical
from measuring.variance_reduction import estimate_reduction
from seasons import result
from volumes import examples


def pairs(points: list[tuple[float, float]], luck: list[tuple[float, float]] | None = None) -> list[SideScore]:
    """Starts, each from both seats."""
    return [
        SideScore(points[start][seat], luck[start][seat] if luck else None, start, "b", seat)
        for start in range(len(points))
        for seat in (0, 1)
    ]


def drawn(
    starts: int, chance: random.Random, chances: tuple[float, float] = (0.5, 0.5), spread: float = 0.05
) -> Iterator[SideScore]:
    """Starts whose results follow these chances by seat, and are luck but for a small rest."""
    for start in range(starts):
        for seat, win in enumerate(chances):
            points = float(chance.random() < win)
            yield SideScore(points, points - win - chance.gauss(0, spread), start, "b", seat)


def score_of(found: ScoreEstimates) -> Estimate:
    assert found.score is not None
    return found.score


def adjusted_of(found: ScoreEstimates) -> Estimate:
    assert found.adjusted is not None
    return found.adjusted


def test_the_unit_is_a_start_with_the_mean_of_its_matches() -> None:
    found = estimate_scores(pairs([(1, 0), (1, 1), (0.5, 0)]))
    assert (found.games, found.units, score_of(found).mean) == (6, 3, 3.5 / 6)
    # Means 0.5, 1 and 0.25; with 0, 0, 1 and 1 they are 3.75 / 7 on average.
    widened = [0.5, 1, 0.25, 0, 0, 1, 1]
    within = stdev(widened) ** 2
    assert score_of(found).error == pytest.approx(math.sqrt(within / 7))
    assert score_of(found).low == pytest.approx(3.75 / 7 - 1.96 * math.sqrt(within / 7), abs=1e-4)
    above = (3.75 / 7 - 0.5) / math.sqrt(within / 7)
    assert score_of(found).superiority == pytest.approx(NormalDist().cdf(above))
    two = estimate_scores(pairs([(1, 0), (1, 1)]))
    assert score_of(two).error == pytest.approx(stdev([0.5, 1, 0, 0, 1, 1]) / math.sqrt(6))


@pytest.mark.parametrize("counts", [(1, 2, 4, 3, 1), (3, 1, 5), (0, 1, 0)])
def test_counts_of_scores_say_what_the_scores_do(counts: tuple[int, ...]) -> None:
    scores = [at / (len(counts) - 1) for at, count in enumerate(counts) for _ in range(count)]
    assert count_moments(counts) == pytest.approx((fmean(scores), pvariance(scores)))
    said = score_of(estimate_scores(map(SideScore, scores)))
    found = score_of_counts(counts)
    assert (found.mean, found.low, found.high) == pytest.approx((said.mean, said.low, said.high))
    assert (found.error, found.superiority) == pytest.approx((said.error, said.superiority))


def test_a_match_is_that_of_each_side() -> None:
    drawn, won = result("m1", ranks=(1, 1)), result("m2", ranks=(1, 2))
    assert side_score(drawn, "ann") == SideScore(0.5, None, None, ("bob",), 0)
    assert side_score(won, "ann", 0.3, 7) == SideScore(1.0, 0.3, 7, ("bob",), 0)
    assert side_score(won, "bob", 0.3, 7) == SideScore(0.0, -0.3, 7, ("ann",), 1)
    three = result("m3", ("cid", "bob", "ann"), (1, 2, 3))
    assert side_score(three, "bob") == SideScore(0.5, None, None, ("ann", "cid"), 1)


def test_several_bots_score_by_how_many_of_the_others_each_was_ahead_of() -> None:
    six = result("m1", ("a", "x", "b", "y", "c", "z"), (1, 2, 2, 4, 6, 5))
    luck = (0.3, 0.1, -0.1, 0.0, -0.2, -0.1)
    ahead = 3 + (0.5 + 1 + 1) + 0  # of x, y and z: a of all, b of two and level with x, c of none
    found = group_score(six, ["a", "b", "c"], luck, 7)
    assert found.points == pytest.approx(ahead / 9)
    assert found.luck == pytest.approx(5 * (0.3 - 0.1 - 0.2) / 9)
    assert found[2:] == (7, ("x", "y", "z"), 0, (2, 4))
    assert group_score(six, ["a", "b", "c"]).luck is None
    for bot, seat in (("a", 0), ("z", 5)):
        alone = group_score(six, [bot], luck)
        one = side_score(six, bot)
        assert (alone.points, alone.luck) == (pytest.approx(one.points), luck[seat])
        assert alone[2:] == one[2:]


def test_what_differs_between_the_seats_of_several_bots_together_is_in_no_interval() -> None:
    """Side by side they win, apart they lose, whichever of them sits first: all else is the same."""
    beside, apart = (("a", "b", "x", "y"), (1, 1, 3, 3)), (("a", "x", "b", "y"), (3, 1, 3, 1))
    played = [result(f"m{number}", *each) for number, each in enumerate((beside, apart) * 20)]
    found = adjusted_of(estimate_scores(group_score(one, ["a", "b"], (0.0,) * 4) for one in played))
    assert (found.mean, found.high) == (0.5, pytest.approx(0.5 + 1 - 0.05 ** (1 / 40)))


def test_a_unit_without_its_like_goes_to_the_fewest() -> None:
    played = [SideScore(0.0, opponents="b")] * 3 + [SideScore(1.0, opponents="c")] * 2 + [SideScore(0.5, opponents="d")]
    strata, _ = stratify(played)
    assert {stratum.opponents: len(units) for stratum, units in strata.items()} == {"b": 3, "c": 3}


def test_the_adjusted_score_has_students_interval_over_pairs() -> None:
    found = adjusted_of(estimate_scores(pairs([(1, 0), (1, 1), (0, 0)], [(0.5, -0.6), (0.4, 0.4), (-0.5, -0.4)])))
    means = [0.55, 0.6, 0.45]
    assert found.mean == pytest.approx(fmean(means))
    assert found.high - found.mean == pytest.approx(4.3027 * stdev(means) / math.sqrt(3), rel=1e-4)
    assert found.mean - found.low == pytest.approx(found.high - found.mean)
    assert found.error == pytest.approx(stdev(means) / math.sqrt(3))
    assert found.superiority == pytest.approx(student_cdf((found.mean - 0.5) / found.error, 2))


def test_strata_that_spread_unequally_have_satterthwaites_degrees_of_freedom() -> None:
    less_luck = {"b": [0.1, 0.9, 0.4, 0.8], "c": [0.55, 0.45]}
    played = [SideScore(adjusted, 0.0, None, against) for against, each in less_luck.items() for adjusted in each]
    found = adjusted_of(estimate_scores(played))
    parts = [(len(each) / 6) ** 2 * variance(each) / len(each) for each in less_luck.values()]
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / 3 + parts[1] ** 2)
    assert found.error == pytest.approx(math.sqrt(sum(parts)))
    assert found.high - found.mean == pytest.approx(t_critical(freedom) * found.error)


def test_adjusted_scores_keep_within_0_to_1_and_have_an_interval_there() -> None:
    lucky = [(-0.1, -0.2), (-0.2, -0.1), (-0.3, -0.1), (-0.1, -0.1)]
    above = adjusted_of(estimate_scores(pairs([(1, 1)] * 4, lucky)))
    assert 0.8 < above.low < above.mean == above.high == 1
    below = adjusted_of(estimate_scores(pairs([(0, 0)] * 4, [(-one, -two) for one, two in lucky])))
    assert (below.mean, below.low, below.high) == pytest.approx((0, 0, 1 - above.low))


def test_without_the_luck_of_every_match_there_is_no_adjusted_score() -> None:
    played = pairs([(1, 0)] * 4, [(0.1, 0.2), (0.3, 0.1), (0.2, 0.2), (0.1, 0.1)])
    assert estimate_scores(played).adjusted is not None
    assert estimate_scores([*played, SideScore(1.0, None, 9, "b")]).adjusted is None


def test_no_match_says_nothing_and_one_almost_nothing() -> None:
    assert estimate_scores([]) == ScoreEstimates(games=0, units=0)
    alone = estimate_scores([SideScore(1.0, 0.4)])
    assert alone.adjusted is None
    assert score_of(alone).low < 0.2
    assert score_of(alone).high == 1
    assert 0.5 < score_of(alone).superiority < 0.8
    two = estimate_scores([SideScore(1.0, 0.4), SideScore(1.0, 0.3, seat=1)])
    assert adjusted_of(two).high - adjusted_of(two).low > 0.5


@pytest.mark.parametrize("starts", [2, 30, 1000])
def test_equal_units_leave_room_for_some_that_are_not(starts: int) -> None:
    found = adjusted_of(estimate_scores(pairs([(1, 0)] * starts, [(0.5, -0.5)] * starts)))
    assert (found.mean, found.superiority) == (0.5, 0.5)
    missed = 1 - 0.05 ** (1 / starts)
    assert (found.low, found.high) == pytest.approx((max(0, 0.5 - missed), min(1, 0.5 + missed)))
    better = adjusted_of(estimate_scores(pairs([(1, 0)] * starts, [(0.4, -0.6)] * starts)))
    reach = t_critical(starts - 1)
    assert better.superiority == pytest.approx(student_cdf(0.1 / (missed / reach), starts - 1))


def test_what_differs_between_opponents_and_seats_is_in_no_interval() -> None:
    played = [SideScore(points, None, None, against, seat)
              for against, seat, points in [("b", 0, 1.0), ("b", 1, 0.5), ("c", 0, 0.5), ("c", 1, 0.0)]
              for _ in range(25)]  # fmt: skip
    apart, together = (
        estimate_scores(played),
        estimate_scores([match._replace(opponents="b", seat=0) for match in played]),
    )
    assert score_of(apart).mean == score_of(together).mean == 0.5
    assert score_of(apart).error < 0.4 * score_of(together).error


def test_a_match_without_its_other_half_counts_as_one() -> None:
    played = pairs([(1, 0), (1, 1), (0, 0)])
    assert (estimate_scores(played[:-1]).games, estimate_scores(played[:-1]).units) == (5, 3)
    assert score_of(estimate_scores(played[:-1])).mean == 3 / 5


def test_three_seats_have_starts_too() -> None:
    played = [SideScore(points, None, start, frozenset("bc"), seat)
              for start, shares in enumerate([(1, 0.5, 0), (1, 1, 0), (0, 0.5, 0.5)])
              for seat, points in enumerate(shares)]  # fmt: skip
    found = estimate_scores(played)
    assert (found.games, found.units, score_of(found).mean) == (9, 3, 0.5)


points = st.sampled_from([0.0, 0.5, 1.0])
luck = st.floats(-1, 1)
matches = st.builds(
    SideScore,
    points,
    luck,
    st.one_of(st.none(), st.integers(0, 9)),
    st.sampled_from("bc"),
    st.integers(0, 1),
)


ROUNDED = [(0.0, 0.0), (0.0, 0.0), (0.5, 1.0), (0.0, 0.0), (0.5, 0.5), (0.5, 0.0), (0.0, 0.0), (0.0, 0.999)]
"""Points and luck of eight matches for whose errors arithmetic finds 7 degrees of freedom and 6.999999999999999."""


@pytest.mark.no_cover
@example([SideScore(points, luck, None, "b", 0) for points, luck in ROUNDED])
@given(st.lists(matches, min_size=1, max_size=40))
def test_the_other_side_has_the_rest_and_every_mean_is_in_its_interval(played: list[SideScore]) -> None:
    other = [match._replace(points=1 - match.points, luck=-(match.luck or 0), seat=1 - match.seat) for match in played]
    ours, theirs = estimate_scores(played), estimate_scores(other)
    for one, two in ((ours.score, theirs.score), (ours.adjusted, theirs.adjusted)):
        assert (one is None) == (two is None)
        if one is not None and two is not None:
            assert one.low <= one.mean <= one.high
            assert one.low < one.high
            assert (two.mean, two.low, two.high) == pytest.approx((1 - one.mean, 1 - one.high, 1 - one.low), abs=1e-6)
            assert two.superiority == pytest.approx(1 - one.superiority, abs=1e-6)


CHANCES = [(0.5, 0.5), (0.7, 0.7), (0.95, 0.3), (0.9, 0.1)]


@pytest.mark.no_cover
@pytest.mark.parametrize("starts", [2, 20])
@pytest.mark.parametrize("chances", CHANCES, ids=str)
def test_about_95_of_100_intervals_hold_the_truth(chances: tuple[float, float], starts: int) -> None:
    chance, truth, trials = random.Random(1), fmean(chances), examples(200, nightly=600)
    held = [0, 0]
    for _ in range(trials):
        found = estimate_scores(drawn(starts, chance, chances))
        for column, estimate in enumerate((score_of(found), adjusted_of(found))):
            held[column] += estimate.low <= truth <= estimate.high
    slack = 2 * math.sqrt(0.95 * 0.05 / trials) + 0.012  # two standard errors, and what intervals are off by
    assert held[0] / trials > 0.95 - slack
    assert 0.95 - slack < held[1] / trials < 0.95 + slack


def test_the_factor_is_of_single_games_to_pairs_less_luck() -> None:
    played = list(drawn(400, random.Random(1), (0.6, 0.4), 0.1))
    single = variance([match.points for match in played])
    means = [fmean(m.points - (m.luck or 0) for m in played[at : at + 2]) for at in range(0, len(played), 2)]
    found = estimate_reduction(played)
    assert found is not None
    assert found.factor == pytest.approx(single / (2 * variance(means)))
    assert estimate_scores(played).worth == pytest.approx(found.factor * 800)


def test_draws_vary_less_than_wins_and_losses() -> None:
    points, luck = [(1, 0.5), (0.5, 0), (0, 0.5), (1, 1)], [(0.4, 0.1), (0, -0.4), (-0.5, 0.1), (0.3, 0.6)]
    played = pairs(points * 8, luck * 8)
    means = [fmean(m.points - (m.luck or 0) for m in played[at : at + 2]) for at in range(0, len(played), 2)]
    found = estimate_reduction(played)
    assert found is not None
    assert found.factor == pytest.approx(variance([match.points for match in played]) / (2 * variance(means)))


@pytest.mark.no_cover
def test_about_95_of_100_intervals_of_the_factor_hold_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variance_reduction, "_BOOTSTRAP_DRAWS", 200)
    draws = examples(12, nightly=40)

    def spread(starts: int) -> Iterator[float]:
        for seed in range(draws):
            found = estimate_reduction(drawn(starts, random.Random(seed), (0.5, 0.5), 0.1), str(seed))
            assert found is not None
            assert found.high is not None
            yield found.low <= 0.25 / 0.01 <= found.high

    assert sum(spread(100)) >= 0.85 * draws
    assert sum(spread(600)) >= 0.85 * draws  # with units in groups


def test_where_nearly_all_results_are_alike_the_factor_may_be_next_to_nothing() -> None:
    luck = [(0.5 + start / 100, 0.5 - start / 50) for start in range(MIN_UNITS)]
    found = estimate_reduction(pairs([(1, 1)] * (MIN_UNITS - 1) + [(1, 0)], luck))
    assert found is not None
    assert found.low == 0 < found.factor


def test_equal_seeds_give_equal_intervals_of_the_factor() -> None:
    played = list(drawn(40, random.Random(1)))
    assert estimate_reduction(played, "s") == estimate_reduction(played, "s") != estimate_reduction(played, "t")


def test_where_nothing_varies_there_is_no_factor() -> None:
    decided = pairs([(1, 0)] * MIN_UNITS, [(0.5, -0.5)] * MIN_UNITS)
    won = pairs([(1, 1)] * MIN_UNITS, [(0.5, 0.1), (0.2, 0.2), (0.1, 0.6), (0, 0)] * (MIN_UNITS // 4))
    for played in (decided, won):
        assert (estimate_reduction(played), estimate_scores(played).worth) == (None, None)


def test_what_few_starts_are_worth_is_not_told_as_their_spread_may_be_next_to_nothing_by_chance() -> None:
    played = list(drawn(MIN_UNITS, random.Random(1)))
    assert None not in (estimate_reduction(played), estimate_scores(played).worth)
    assert (estimate_reduction(played[2:]), estimate_scores(played[2:]).worth) == (None, None)
    assert estimate_scores(played[2:]).adjusted is not None
    assert estimate_reduction([]) is None
    assert estimate_reduction([match._replace(luck=None) for match in played]) is None

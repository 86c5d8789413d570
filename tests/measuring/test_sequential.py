"""Sequential tests: the figures of others, verdicts, hypotheses that make no sense, and how often they err."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from statistics import fmean, pvariance

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from measuring.constrained_multinomial import fit_mean, fit_normalised_mean, solve_multiplier
from measuring.pair_scores import MIN_UNITS
from measuring.sequential import (
    LOG_LIKELIHOOD_GAIN,
    UNSEEN_COUNT,
    Hypotheses,
    Pentanomial,
    RealValued,
    SequentialTest,
    max_empirical_llr,
    mean_llr,
    multinomial_llr,
    normal_llr,
)
from protocol.errors import UsageFault

FASTCHESS = [
    # Pull request 783. It had an approximation then, which gives 2.94598: the likeliest distributions give 2.9455.
    ([379, 10170, 21828, 10640, 343], 0, 2, "nelo", 2.946),
    # The tests of its exact computation.
    ([365, 16618, 36229, 16974, 390], 0, 2, "nelo", 2.25),
    ([127, 4883, 10712, 5150, 104], -1.75, 0.25, "nelo", 3.01),
    ([223, 9863, 21279, 10037, 246], 0.5, 2.5, "elo", -3.07),
    ([871, 26175, 55983, 26678, 821], 0, 2, "elo", -4.98),
    # What it prints of a very weak engine and of a very strong one: pull request 882, and a student's notes.
    ([77, 1, 0, 0, 0], -999.999, -500, "nelo", -2.95),
    ([0, 0, 2, 0, 37], 0, 20, "nelo", 2.96),
]


@pytest.mark.parametrize(("counts", "h0", "h1", "unit", "llr"), FASTCHESS)
def test_pentanomial_counts_weigh_what_fastchess_says(
    counts: list[int], h0: float, h1: float, unit: str, llr: float
) -> None:
    hypotheses = Hypotheses(h0=h0, h1=h1, unit=unit)  # type: ignore[arg-type]
    assert multinomial_llr(hypotheses, counts) == pytest.approx(llr, abs=0.0006 if llr == 2.946 else 0.006)


def test_the_bounds_of_the_ratio_are_walds() -> None:
    hypotheses = Hypotheses(h1=0.02)
    assert (hypotheses.lower, hypotheses.upper) == pytest.approx((-2.944, 2.944), abs=1e-3)
    unequal = Hypotheses(h1=0.02, alpha=0.01, beta=0.1)
    assert (unequal.lower, unequal.upper) == pytest.approx((math.log(0.1 / 0.99), math.log(0.9 / 0.01)))


counts = st.lists(st.integers(1, 500), min_size=5, max_size=5)
QUARTERS = [0.0, 0.25, 0.5, 0.75, 1.0]


def mean_of(chances: list[float]) -> float:
    return sum(chance * value for chance, value in zip(chances, QUARTERS, strict=True))


def likelihood(counts: list[int], chances: list[float]) -> float:
    return sum(count * math.log(chance) for count, chance in zip(counts, chances, strict=True))


@given(counts, st.floats(0.05, 0.95), counts)
def test_no_distribution_of_the_mean_held_is_likelier(counts: list[int], mean: float, others: list[int]) -> None:
    found = fit_mean(QUARTERS, counts, mean)
    assert sum(found) == pytest.approx(1)
    assert mean_of(found) == pytest.approx(mean)
    other = fit_mean(QUARTERS, others, mean)
    assert likelihood(counts, found) >= likelihood(counts, other) - 1e-9


@given(counts, st.floats(-0.6, 0.6), counts)
def test_no_distribution_of_the_deviations_held_is_likelier(counts: list[int], held: float, others: list[int]) -> None:
    found, other = (fit_normalised_mean(QUARTERS, each, 0.5, held) for each in (counts, others))
    for chances in (found, other):
        spread = math.sqrt(
            sum(p * value**2 for p, value in zip(chances, QUARTERS, strict=True)) - mean_of(chances) ** 2
        )
        assert (mean_of(chances) - 0.5) / spread == pytest.approx(held, abs=1e-6)
    assert likelihood(counts, found) >= likelihood(counts, other) - 1e-6


@pytest.mark.parametrize(
    ("counts", "held", "likeliest"),
    [
        ([45, 174793, 478, 838, 4], -3.8091353668737424, -9795.96),
        ([0.001, 0.001, 0.001, 89226, 3068], 3.6773485071664975, -13900.47),
        ([65, 4664, 692848, 2778, 0.001], -0.28360953786532406, -88353.96),
        ([0.001, 1, 5953, 2, 0.001], -0.05224877610143941, -42.80),
        ([0.001, 0.001, 47796, 2, 0.001], 0.030125057368654087, -57.43),
        ([13, 69, 14732, 47, 7], 0.24874854350851353, None),
    ],
)
def test_the_likeliest_distribution_is_found_where_another_is_the_likeliest_of_those_near_it(
    counts: list[float], held: float, likeliest: float | None
) -> None:
    found = fit_normalised_mean(QUARTERS, counts, 0.5, held)
    mirrored = fit_normalised_mean(QUARTERS, counts[::-1], 0.5, -held)
    assert found == pytest.approx(mirrored[::-1], rel=1e-6)
    if likeliest is not None:
        weight = sum(count * math.log(chance) for count, chance in zip(counts, found, strict=True))
        assert weight == pytest.approx(likeliest, abs=0.01)


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "counts",
    [
        [1, 0.001, 6, 2, 0.001],
        [0.001, 0.001, 10, 0.001, 0.001],
        [0.001, 5, 200, 2, 0.001],
        [30, 0.001, 0.001, 4, 0.001],
        [40, 300, 2000, 200, 9],
        [0.001, 0.001, 1000000, 1, 0.001],
    ],
)
@pytest.mark.parametrize("held", [0.02, 0.4, 1.2, 2.9])
def test_no_distribution_on_a_tangent_of_what_is_held_is_likelier(counts: list[float], held: float) -> None:
    """If the mean of the counts is lower than what is held, each distribution with more lies beyond such a tangent."""
    found, ratio = fit_normalised_mean(QUARTERS, counts, 0.5, held), held / math.sqrt(1 + held**2)

    def weight(chances: list[float]) -> float:
        return sum(count * math.log(chance) for count, chance in zip(counts, chances, strict=True))

    offsets = [value - 0.5 for value in QUARTERS]
    mean, rms = fmean(offsets, found), math.sqrt(fmean([offset**2 for offset in offsets], found))
    assert mean == pytest.approx(ratio * rms, rel=1e-9)
    tangents = [0.5 * (ratio / 4) ** (at / 300) for at in range(301)]
    terms = [[offset - ratio / 2 * (rms + offset**2 / rms) for offset in offsets] for rms in tangents]
    best = max(weight(fit_mean(each, counts, 0.0)) for each in terms if max(each) > 0)
    assert weight(found) >= best - 1e-9 * abs(best)
    assert weight(found) == pytest.approx(best, rel=0.02)


def log_likelihood_of_three(counts: tuple[float, float, float], held: float) -> float:
    """The greatest of chances of a loss, a draw and a win whose mean is so many of their deviations above one half.

    With y above 1 and below the root of k = 1 + 1 / held² they are y (y - 1) / 2k, 1 - y² / k and y (y + 1) / 2k: one
    number, of which the likelihood is looked up closely, closer still near both ends.
    """
    lost, drawn, won = counts if held > 0 else counts[::-1]
    k = 1 + 1 / held**2
    width = math.sqrt(k) - 1
    aside = [width / 2 * 10 ** (-at / 400) for at in range(6400)]

    def weight(above: float, below: float) -> float:
        y = 1 + above
        draws = below * (math.sqrt(k) + y) / k
        return lost * math.log(y * above / (2 * k)) + drawn * math.log(draws) + won * math.log(y * (y + 1) / (2 * k))

    return max(max(weight(each, width - each), weight(width - each, each)) for each in aside)


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "counts",
    [(707501, 0, 0), (0, 34, 0), (48000, 0, 31), (3, 40000000, 0), (146318102, 1, 0), (120, 300, 140), (0, 0, 10**12)],
)
@pytest.mark.parametrize(("h0", "h1"), [(36.0, 67.1), (-900.0, 90.0)])
def test_counts_of_three_weigh_as_the_likeliest_of_all_chances_do(
    counts: tuple[int, int, int], h0: float, h1: float
) -> None:
    lost, drawn, won = (count or 1e-3 for count in counts)
    null, other = (log_likelihood_of_three((lost, drawn, won), each / (800 / math.log(10))) for each in (h0, h1))
    found = multinomial_llr(Hypotheses(h0=h0, h1=h1, unit="nelo"), counts)
    assert found == pytest.approx(other - null, rel=2e-3, abs=2e-3)


@given(counts, st.floats(-0.2, 0.1), st.floats(0.01, 0.2), st.sampled_from(["score", "nelo"]))
@example(counts=[1, 1, 1, 1, 1], h0=2.2250738585e-313, width=0.125, unit="nelo")
def test_seen_from_the_other_side_the_evidence_is_the_opposite(
    counts: list[int], h0: float, width: float, unit: str
) -> None:
    scale = 100 if unit == "nelo" else 1
    ours = Hypotheses(h0=h0 * scale, h1=(h0 + width) * scale, unit=unit)  # type: ignore[arg-type]
    theirs = Hypotheses(h0=-ours.h1, h1=-ours.h0, unit=ours.unit)
    assert multinomial_llr(ours, counts) == pytest.approx(-multinomial_llr(theirs, counts[::-1]), abs=1e-6)


def evidence(scores: Sequence[float], h1: float = 0.02) -> RealValued:
    test = RealValued(Hypotheses(h1=h1))
    for score in scores:
        test.add(score)
    return test


def sums(scores: Sequence[float]) -> tuple[int, float, float, float]:
    """How many they are, and the sums of the powers of what they have above one half."""
    first, second, third = (sum((score - 0.5) ** power for score in scores) for power in (1, 2, 3))
    return len(scores), first, second, third


def test_normal_values_that_are_not_skewed_weigh_as_the_formula_says() -> None:
    scores = [0.53 + sign * spread for spread in (0.3, 0.1, 0.05, 0.02, 0.01) for sign in (1, -1)]
    null, other = (sum((x - mean) ** 2 for x in scores) for mean in (0.5, 0.52))
    assert normal_llr(*sums(scores), 0.5, 0.52) == pytest.approx(len(scores) / 2 * math.log(null / other))


def test_skewed_values_weigh_as_halls_transformation_of_their_mean_does_which_is_less() -> None:
    scores = [0.54] * 30 + [0.3] * 3
    count, mean, spread = len(scores), fmean(scores), math.sqrt(pvariance(scores))
    skewness = 1.25 * fmean((score - mean) ** 3 for score in scores) / spread**3

    def freed(held: float) -> float:
        away = (mean - held) / spread
        return away + skewness * away**2 / 3 + skewness / (6 * count) + skewness**2 * away**3 / 27

    weighs = count / 2 * math.log((1 + freed(0.5) ** 2) / (1 + freed(0.51) ** 2))
    null, other = (sum((x - mean) ** 2 for x in scores) for mean in (0.5, 0.51))
    assert 0 < weighs < 0.95 * count / 2 * math.log(null / other)
    assert normal_llr(*sums(scores), 0.5, 0.51) == pytest.approx(weighs)


def test_values_that_speak_for_one_side_until_they_are_freed_of_skewness_say_nothing() -> None:
    for third, says in ((0.27, -1), (0.33, 0), (0.4, 1)):
        weighs = normal_llr(*sums([0.5372] * 30 + [third] * 3), 0.5, 0.53)
        assert (weighs > 0) - (weighs < 0) == says


def test_values_that_are_alike_weigh_no_more_than_a_game_that_was_lost_and_has_not_come() -> None:
    """Pairs of 0.53 have a mean of 0.5 if 0.03/0.53 of all are lost, of which none may have come; and the likeliest
    distribution of all is taken to be better than the true one by e^0.5.
    """
    alike = evidence([0.53, 0.5302, 0.5298] * 20)
    assert normal_llr(*sums([0.53, 0.5302, 0.5298] * 15), 0.5, 0.52) > 40
    assert (alike.verdict, alike.pairs) == ("h1", 60)
    assert alike.llr == pytest.approx(-60 * math.log(1 - 0.03 / 0.53) - 0.5, abs=0.01)


@pytest.mark.no_cover
@pytest.mark.parametrize("holds", ["h0", "h1"])
@pytest.mark.parametrize("rare", [10, 15, 20, 30, 50])
@pytest.mark.parametrize("h1", [0.02, 0.01])
def test_nothing_is_decided_against_the_truth_before_a_rare_mistake_would_have_come(
    holds: str, rare: int, h1: float
) -> None:
    """All is well but that a game, half a pair, is lost (or won) in one of so many: until it comes the mean is off."""
    chance, away = random.Random(1), 0.5 / rare
    test = RealValued(Hypotheses(h1=h1))
    usual = 0.5 + away if holds == "h0" else 0.5 + h1 - away
    while test.verdict in (None, holds) and test.pairs < 5 * rare:
        test.add(usual + chance.gauss(0, 0.02))
        if test.verdict == holds:
            return
    assert (1 - 1 / rare) ** test.pairs < 0.05


def test_bots_that_are_far_apart_take_no_longer_for_it() -> None:
    chance = random.Random(1)
    assert evidence([0.58 + chance.gauss(0, 0.03) for _ in range(100)]).pairs == MIN_UNITS


def test_what_may_be_decided_is_bounded_by_less_than_all_values() -> None:
    chance = random.Random(2)
    for _ in range(20):
        mean, values = chance.uniform(0.4, 0.6), [0.0, 1.0]
        values += [mean + chance.choice([0, 0, 0, 0.3, -0.3]) + chance.gauss(0, 0.02) for _ in range(50)]
        counts = [UNSEEN_COUNT, UNSEEN_COUNT] + [1.0] * 50
        middle = fmean(values, counts)
        found = mean_llr(values, counts, min(0.5, middle), max(0.52, middle), solve_multiplier)
        assert abs(found) - LOG_LIKELIHOOD_GAIN <= max_empirical_llr(50, sum(values[2:]) - 25, 0.5, 0.52) + 1e-9


def test_every_pair_is_counted_once() -> None:
    test = Pentanomial(Hypotheses(h1=0.02))
    for score in (0.75, 0.75, 0.0):
        test.add(score)
    assert (test.pairs, test.llr) == (3, multinomial_llr(test.hypotheses, [1, 0, 0, 2, 0]))


def test_adjusted_scores_decide_nothing_before_32_pairs() -> None:
    test = RealValued(Hypotheses(h1=0.02))
    for pair in range(MIN_UNITS - 1):
        test.add(0.6 + pair % 2 / 50)
        assert test.verdict is None
    assert test.llr > test.hypotheses.upper
    test.add(0.61)
    assert (test.verdict, test.pairs) == ("h1", 32)


@pytest.mark.parametrize("of", [RealValued, Pentanomial])
def test_pairs_that_all_come_out_even_speak_for_no_difference(of: type[SequentialTest]) -> None:
    test = of(Hypotheses(h1=0.02))
    while test.verdict is None:
        test.add(0.5)
    assert test.verdict == "h0"
    assert math.isfinite(test.llr)


@pytest.mark.parametrize("of", [RealValued, Pentanomial])
def test_what_comes_after_the_verdict_changes_nothing(of: type[SequentialTest]) -> None:
    test = of(Hypotheses(h1=0.1))
    chance = random.Random(1)
    while test.verdict is None:
        test.add(chance.choice([0.5, 0.75, 1.0]))
    before = test.pairs, test.llr, test.verdict
    for _ in range(100):
        test.add(0.0)
    assert (test.pairs, test.llr, test.verdict) == before == (test.pairs, test.llr, "h1")


@pytest.mark.no_cover
@given(st.lists(st.sampled_from(QUARTERS), min_size=1, max_size=40), st.sampled_from([1.0, 30.0, 300.0, 999.0]))
def test_few_pairs_and_far_hypotheses_have_evidence_too(scores: list[float], nelo: float) -> None:
    test = Pentanomial(Hypotheses(h0=-nelo, h1=nelo, unit="nelo"))
    for score in scores:
        test.add(score)
        assert math.isfinite(test.llr)


NO_SCORES = [
    (RealValued, math.nan, "pair 2 scores nan: it must be a finite number"),
    (RealValued, math.inf, "pair 2 scores inf: it must be a finite number"),
    (RealValued, -math.inf, "pair 2 scores -inf: it must be a finite number"),
    (Pentanomial, math.nan, "pair 2 scores nan: it must be one of 0, 0.25, 0.5, 0.75, 1"),
    (Pentanomial, 0.3, "pair 2 scores 0.3: it must be one of 0, 0.25, 0.5, 0.75, 1"),
]


@pytest.mark.parametrize(("of", "score", "says"), NO_SCORES, ids=[says for _, _, says in NO_SCORES])
def test_what_can_be_no_score_is_refused_in_a_line_and_leaves_the_test_as_it_was(
    of: type[SequentialTest], score: float, says: str
) -> None:
    test = of(Hypotheses(h1=0.02))
    test.add(0.75)
    before = test.llr
    with pytest.raises(UsageFault) as caught:
        test.add(score)
    assert str(caught.value) == says
    assert (test.pairs, test.llr) == (1, before)


def test_three_counts_are_those_of_single_games() -> None:
    """Of wins and losses alone the likeliest chances are those of the hypotheses themselves."""
    elo = Hypotheses(h0=0, h1=10, unit="elo")
    won = 1 / (1 + 10 ** (-10 / 400))
    expected = 520 * math.log(won / 0.5) + 480 * math.log((1 - won) / 0.5)
    assert multinomial_llr(elo, [480, 0, 520]) == pytest.approx(expected, abs=0.01)
    nelo = Hypotheses(h0=0, h1=10, unit="nelo")
    pairs = [count / 4 for count in (1, 4, 6, 4, 1)]  # what pairs of independent games of a coin come to
    assert multinomial_llr(nelo, [500, 0, 500]) == pytest.approx(
        multinomial_llr(nelo, [round(125 * count) for count in pairs]), abs=0.01
    )


def test_hypotheses_in_elo_are_those_of_the_scores_they_stand_for() -> None:
    elo, score = Hypotheses(h0=0, h1=35, unit="elo"), Hypotheses(h0=0, h1=1 / (1 + 10 ** (-35 / 400)) - 0.5)
    assert elo.scores == pytest.approx(score.scores)


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: Hypotheses(h0=0.02, h1=0), "h1 is 0: it must be more than h0, which is 0.02"),
    (lambda: Hypotheses(h0=0.02, h1=0.02), "h1 is 0.02: it must be more than h0, which is 0.02"),
    (lambda: Hypotheses(h1=0.5), "h1 is 0.5: it must be a score between -0.5 and 0.5"),
    (lambda: Hypotheses(h1=math.nan), "h1 is nan: it must be a score between -0.5 and 0.5"),
    (
        lambda: Hypotheses(h0=-1e9, h1=5, unit="elo"),
        "h0 is -1e+09: it must be a difference in elo between -1000 and 1000",
    ),
    (lambda: Hypotheses(h1=5, unit="ello"), "unit is 'ello': one of score, elo, nelo"),  # type: ignore[arg-type]
    (lambda: Hypotheses(h1=0.02, alpha=0), "alpha is 0: it must be above 0 and below 0.5"),
    (lambda: Hypotheses(h1=0.02, beta=0.5), "beta is 0.5: it must be above 0 and below 0.5"),
    (
        lambda: RealValued(Hypotheses(h1=5, unit="nelo")),
        "normalised Elo needs results with luck left in: give h0 and h1",
    ),
]


@pytest.mark.parametrize(("refused", "says"), REFUSED, ids=[says for _, says in REFUSED])
def test_hypotheses_that_make_no_sense_are_refused_in_a_line(refused: Callable[[], object], says: str) -> None:
    with pytest.raises(UsageFault) as caught:
        refused()
    assert str(caught.value).startswith(says)
    assert "\n" not in str(caught.value)


def normal(chance: random.Random, mean: float) -> float:
    return chance.gauss(mean, 0.1)


def skewed(chance: random.Random, mean: float) -> float:
    return mean + 0.1 - chance.expovariate(10)


def one_sided(chance: random.Random, mean: float) -> float:
    """A game is lost in one pair in fifteen, by one side alone."""
    return mean + 0.5 / 15 - 0.5 * (chance.random() < 1 / 15) + chance.gauss(0, 0.02)


def coins(chance: random.Random, mean: float) -> float:
    return fmean(float(chance.random() < mean) for _ in range(2))


def seats(chance: random.Random, mean: float) -> float:
    """Nine of ten games are won by seat 0 where neither side is better."""
    return fmean(float(chance.random() < mean + edge) for edge in (0.4, -0.4))


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("of", "draw", "h1"),
    [
        (RealValued, normal, 0.03),
        (RealValued, skewed, 0.03),
        (RealValued, one_sided, 0.03),
        (Pentanomial, coins, 0.15),
        (Pentanomial, seats, 0.08),
    ],
)
@pytest.mark.parametrize("holds", ["h0", "h1"])
@pytest.mark.parametrize("tests", [100, pytest.param(600, marks=pytest.mark.nightly)])
def test_about_one_test_in_twenty_errs_and_no_more(
    of: type[SequentialTest], draw: Callable[[random.Random, float], float], h1: float, holds: str, tests: int
) -> None:
    hypotheses = Hypotheses(h1=h1)
    chance, errors = random.Random(1), 0
    for _ in range(tests):
        test = of(hypotheses)
        while test.verdict is None:
            test.add(draw(chance, hypotheses.scores[holds == "h1"]))
        errors += test.verdict != holds
    assert errors / tests < 0.055 + 2.2 * math.sqrt(0.055 * 0.945 / tests)  # more than two standard errors

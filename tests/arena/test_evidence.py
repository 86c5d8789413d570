"""What the matches of a test say: pair by pair, in the order of the schedule, up to the first that decides."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from msgspec.structs import replace

from arena.sprt.evidence import Evidence, LikelihoodRatio, Question
from arena.sprt.evidence import TestedMatch as ComparedMatch
from arena.sprt.summary import (
    find_warnings,
    format_amount,
    format_conclusion,
    format_expected_length,
    format_joint_conclusion,
)
from measuring.adjusted_scores import estimate_scores
from measuring.confidence_sequence import confidence_sequence
from measuring.elo import compare_scores
from measuring.normalised_elo import normalised_elo
from measuring.pair_scores import MIN_UNITS, SideScore
from measuring.scores import Estimate
from measuring.sequential import Hypotheses, Pentanomial
from protocol.reasons import RESIGNED, TIMEOUT, VOID, WIN
from seasons import result

BOTS = ("ann", "bob")
BETTER = Hypotheses(h0=0.0, h1=0.02)


def match(place: int, ann: float, luck: float | None = None, reason: str = WIN) -> ComparedMatch:
    """A match at its place in the schedule in which ann made so many points; `luck` is what chance gave her."""
    seated = BOTS if place % 2 == 0 else BOTS[::-1]
    ranks = {1.0: (1, 2), 0.5: (1, 1), 0.0: (2, 1)}[ann]
    reasons = [reason if rank == 2 or reason == VOID else WIN for rank in ranks]
    if place % 2:
        ranks, reasons = ranks[::-1], reasons[::-1]
        luck = None if luck is None else -luck
    done = result(f"m{place}", seated, ranks, reason=reason, reasons=reasons, rated=False, place=place)
    return ComparedMatch(replace(done, plies=Random(place).randrange(9, 99)), None if luck is None else (luck, -luck))


def results(pairs: Sequence[tuple[float, float]]) -> list[ComparedMatch]:
    """Pairs of matches by ann's points in each."""
    return [match(2 * number + at, points) for number, pair in enumerate(pairs) for at, points in enumerate(pair)]


def freed(adjusted: Sequence[float], seed: int = 0) -> list[ComparedMatch]:
    """Pairs whose adjusted mean is this, whatever came out of them."""
    chance = Random(seed)
    matches = []
    for number, mean in enumerate(adjusted):
        for at in range(2):
            points = float(chance.randrange(2))
            matches.append(match(2 * number + at, points, points - mean))
    return matches


def evidence(
    matches: Sequence[ComparedMatch], hypotheses: Hypotheses | None = BETTER, value: str | None = None
) -> Evidence:
    found = Evidence(BOTS, Question(hypotheses=hypotheses, value=value))
    found.add_matches(matches)
    return found


def told(found: Evidence) -> str:
    return format_conclusion(BOTS, found.question, found.findings())


def warned(
    found: Evidence, presets: Sequence[str] = ("sticks", "min-nim", "dealt"), dealing: Sequence[str] = ("dealt",)
) -> list[str]:
    return list(find_warnings(BOTS, found.findings(), presets, dealing))


def test_points_and_luck_are_the_first_bots_whichever_seat_it_had() -> None:
    found = evidence([match(0, 1.0, 0.4), match(1, 0.0, -0.5)], value="exact").findings()
    assert found.score is not None
    assert found.score.score == 0.5
    both = evidence(freed([0.55, 0.51]), value="exact").findings()
    assert both.adjusted is not None
    assert both.adjusted.score == pytest.approx(0.53)


def test_a_pair_counts_when_both_its_matches_are_there() -> None:
    found = evidence([*results([(1.0, 1.0)]), match(2, 1.0)])
    assert (found.findings().pairs, found.findings().games, len(found.matches)) == (1, 2, 3)


def test_a_pair_with_a_void_match_is_left_out_of_both_columns_and_of_the_test() -> None:
    matches = [match(0, 1.0, 0.1), match(1, 0.5, 0.0, VOID), *freed([0.5, 0.6])[2:]]
    found = evidence(matches, value="exact").findings()
    assert (found.pairs, found.left_out) == (1, 1)
    assert warned(evidence(matches, value="exact")) == [
        "1 pair is left out: neither bot came to a match, so it was void"
    ]


def test_every_pair_with_a_void_match_is_counted() -> None:
    found = evidence([match(place, 0.5, None, VOID) for place in range(6)])
    assert (found.findings().pairs, found.findings().left_out, found.findings().same_seat) == (0, 3, 0.0)
    assert warned(found) == ["3 pairs are left out: neither bot came to a match, so it was void"]


def test_both_columns_have_pairs_for_units_whatever_the_seats_decide() -> None:
    chance = Random(5)
    scores = [
        SideScore(points=points, luck=points - chance.gauss(0.5, 0.1), start=number, seat=seat)
        for number in range(20)
        for seat, points in enumerate((1.0, 0.0) if chance.random() < 0.9 else (1.0, 1.0))
    ]
    played = [match(2 * one.start + one.seat, one.points, one.luck) for one in scores]
    found, expected = evidence(played, None, "exact").findings(), estimate_scores(scores)
    assert expected.score is not None
    assert expected.adjusted is not None
    assert (found.score, found.adjusted) == (compare_scores(expected.score), compare_scores(expected.adjusted))
    assert found.worth == expected.worth


def test_findings_say_where_the_test_stands_between_its_bounds_and_how_matches_ended() -> None:
    pairs = [(1.0, 0.0), (1.0, 1.0), (0.0, 0.0)] * 4
    found, same = evidence(results(pairs)).findings(), Pentanomial(BETTER)
    for pair in pairs:
        same.add(sum(pair) / 2)
    assert found.ratio == LikelihoodRatio(llr=same.llr, lower=BETTER.lower, upper=BETTER.upper)
    assert found.normalised == normalised_elo([sum(pair) / 2 for pair in pairs])
    assert found.reasons == {WIN: 24}
    assert evidence(results(pairs), None).findings().ratio is None


def test_the_interval_valid_at_any_time_is_of_what_the_test_is_of() -> None:
    adjusted = [0.53 + 0.01 * (-1) ** k for k in range(40)]
    found, expected = evidence(freed(adjusted), None, "exact").findings().any_time, confidence_sequence(adjusted)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-4)
    pairs = [(1.0, 0.0), (1.0, 1.0), (0.0, 0.0)] * 4
    assert evidence(results(pairs), None).findings().any_time == confidence_sequence([sum(pair) / 2 for pair in pairs])
    assert evidence([match(0, 1.0)]).findings().any_time is None


def test_pairs_that_left_0_to_1_are_counted_and_named_where_the_figures_stand() -> None:
    within = evidence(freed([0.53 + 0.01 * (-1) ** k for k in range(80)]), BETTER, "exact")
    assert within.findings().outside == 0
    assert not any("below 0 or above 1" in line for line in warned(within))
    assert "left 0 to 1" not in told(within)
    scores = [0.53 + 0.01 * (-1) ** k for k in range(300)]
    scores[5], scores[9], scores[20] = 1.2, -0.1, 1.001
    beyond = evidence(freed(scores), BETTER, "exact")
    found = beyond.findings()
    assert found.verdict is not None
    assert found.outside == 3
    (warning,) = (line for line in warned(beyond) if "below 0 or above 1" in line)
    assert warning.startswith(f"3 pairs of {found.pairs} have a luck-adjusted score below 0 or above 1")
    assert f"that all pairs score from 0 to 1, which 3 of {found.pairs} pairs do not" in told(beyond)
    assert evidence(results([(1.0, 1.0), (0.0, 0.0)] * 20)).findings().outside == 0


def test_nothing_is_decided_before_so_many_pairs_once_luck_is_taken_out() -> None:
    chance = Random(1)
    sure = [0.6 + chance.gauss(0, 0.001) for _ in range(2 * MIN_UNITS)]
    assert evidence(freed(sure[: MIN_UNITS - 1]), value="exact").verdict is None
    assert evidence(freed(sure), value="exact").findings().pairs == MIN_UNITS


def test_the_verdict_is_that_of_the_shortest_prefix_that_decides_whatever_comes_after() -> None:
    won, lost = [(1.0, 1.0), (1.0, 0.0)] * 60, [(0.0, 0.0)] * 600
    found = evidence(results(won + lost))
    assert found.verdict == "h1"
    assert len(found.matches) == 2 * found.findings().pairs < 240
    assert evidence(found.matches[:-2]).verdict is None
    one_by_one = Evidence(BOTS, found.question)
    for one in results(won + lost):
        one_by_one.add_matches([one])
    assert one_by_one.findings() == found.findings()


def test_without_hypotheses_every_pair_is_taken() -> None:
    assert evidence(results([(1.0, 1.0)] * 500), None).findings().pairs == 500


# In words


def test_better_is_said_with_how_often_it_would_come_up_by_chance() -> None:
    said = told(evidence(freed([0.53 + 0.01 * (-1) ** k for k in range(99)]), value="exact"))
    assert said.startswith("ann is better than bob. It scores 0.530 (0.5")
    assert said.endswith(") luck-adjusted, after 120 games; if it were no better, at most 5 of 100 tests would say so.")


@pytest.mark.parametrize(
    ("h0", "h1", "mean", "says", "otherwise"),
    [
        (
            0.0,
            0.02,
            0.5,
            "ann is not better than bob by 0.02 points a game. ",
            "; if it were better by that much, at most",
        ),
        (0.01, 0.03, 0.6, "ann is better than bob by more than 0.01 points a game. ", "; if it were not, at"),
        (
            -0.02,
            0.0,
            0.5,
            "ann is not worse than bob by 0.02 points a game. ",
            "; if it were worse by that much, at most",
        ),
        (-0.02, 0.0, 0.4, "ann is worse than bob. ", "; if it were as good, at"),
        (-0.04, -0.02, 0.4, "ann is worse than bob by more than 0.02 points a game. ", "; if it were not, at"),
    ],
)
def test_a_verdict_claims_no_more_than_that_the_other_hypothesis_is_denied(
    h0: float, h1: float, mean: float, says: str, otherwise: str
) -> None:
    adjusted = [mean + 0.01 * (-1) ** k for k in range(99)]
    sentence = told(evidence(freed(adjusted), Hypotheses(h0=h0, h1=h1), "exact"))
    assert sentence.startswith(says)
    assert otherwise in sentence


@pytest.mark.parametrize(
    ("h0", "h1", "mean", "pairs", "looks"),
    [
        (0.0, 0.02, 0.4, 99, ", and looks worse; if it were better by that much, at"),
        (-0.02, 0.0, 0.6, 99, ", and looks better; if it were worse by that much, at"),
        (0.0, 0.02, 0.5, 99, " games; if it were better by that much, at"),
        (0.0, 0.02, 0.6, 99, " games; if it were no better, at"),
        (0.0, 0.02, 0.4, 20, ", and looks worse; a higher --max-pairs continues the test."),
        (0.0, 0.02, 0.4, 9, " luck-adjusted, after 18 games; a higher"),
    ],
)
def test_whom_the_score_is_for_is_said_where_the_verdict_does_not(
    h0: float, h1: float, mean: float, pairs: int, looks: str
) -> None:
    adjusted = [mean + 0.01 * (-1) ** k for k in range(pairs)]
    assert looks in told(evidence(freed(adjusted), Hypotheses(h0=h0, h1=h1), "exact"))


def test_by_how_much_is_told_in_the_unit_that_was_asked_for() -> None:
    assert [format_amount(2.5, unit) for unit in ("score", "elo", "nelo")] == [
        "2.5 points a game",
        "2.5 Elo",
        "2.5 normalised Elo",
    ]


@pytest.mark.parametrize(
    ("mean", "alpha", "says"),
    [
        (0.6, 0.001, "at most 0.1 % of tests would say so."),
        (0.6, 0.0166, "at most 1.7 % of tests would say so."),
        (0.6, 0.003 / 5, "at most 0.06 % of tests would say so."),
        (0.6, 0.15 / 3, "at most 5 of 100 tests would say so."),
        (0.4, 0.001, "at most 20 of 100 tests would say so."),
    ],
)
def test_each_verdict_is_told_with_its_own_error(mean: float, alpha: float, says: str) -> None:
    asked = Hypotheses(h1=0.02, alpha=alpha, beta=0.2)
    assert told(evidence(freed([mean + 0.001 * (-1) ** k for k in range(99)]), asked, "exact")).endswith(says)


def test_what_is_not_clear_yet_is_called_undecided() -> None:
    said = told(evidence(results([(1.0, 0.0), (0.0, 1.0)])))
    assert said.startswith("it is undecided whether ann is better than bob. ann scores 0.500 (0.")
    assert said.endswith("after 4 games; a higher --max-pairs continues the test.")


def test_of_a_settled_number_of_pairs_the_interval_says_who_is_better() -> None:
    won = told(evidence(results([(1.0, 1.0), (1.0, 0.0)] * 40), None))
    lost = told(evidence(results([(0.0, 0.0), (0.0, 1.0)] * 40), None))
    even = told(evidence(results([(1.0, 0.0), (0.0, 1.0)] * 40), None))
    assert won == "ann is better than bob: it scores 0.750 (0.679-0.797), after 160 games"
    assert lost == "ann is worse than bob: it scores 0.250 (0.203-0.321), after 160 games"
    assert even.startswith("neither ann nor bob is shown to be better: ann scores 0.500 (0.4")


@pytest.mark.parametrize("more", [0.0, 1.0])
def test_how_far_from_even_a_score_may_be_is_the_farther_end_of_the_interval(more: float) -> None:
    pairs = [(1.0, 0.0), (more, more)] + [(1.0, 0.0), (0.0, 1.0)] * 20
    assert told(evidence(results(pairs), None)).endswith("; its true score is within 0.059 of 0.5 (95 %)")


def test_an_interval_to_a_thousandth_is_not_taken_for_one_beyond_it() -> None:
    found = evidence(results([(1.0, 0.0)] * 20), None)
    score = compare_scores(Estimate(mean=0.5, low=0.487, high=0.513, error=0.0066, superiority=0.5))
    seen = replace(found.findings(), score=score, adjusted=None)
    assert format_conclusion(BOTS, found.question, seen).endswith("; its true score is within 0.013 of 0.5 (95 %)")


@pytest.mark.parametrize(("pairs", "says"), [(1, "a pair is"), (9, "9 pairs are")])
def test_of_a_few_pairs_nothing_is_concluded_whatever_they_show(pairs: int, says: str) -> None:
    lost = [(0.0, 0.0)] * pairs
    assert told(evidence(results(lost), None)).startswith(
        f"{says} too few to say which of ann and bob is better: ann scores 0.000 (0.000-"
    )
    assert told(evidence(results([(0.0, 0.0)] * 10), None)).startswith("ann is worse than bob: it scores 0.000 (")


def test_without_a_pair_nothing_is_known() -> None:
    assert told(evidence([match(0, 1.0)])) == (
        "nothing is known of ann and bob: no pair of matches was played to its end"
    )


# What else there is to say


def test_a_seat_that_decides_nearly_all_is_warned_of() -> None:
    (said,) = warned(evidence(results([(1.0, 0.0)] * 50), None))
    assert said == (
        "seat 0 scores 1.000, whichever bot sits there: the seat decides almost everything, the bots almost nothing. "
        "Use another preset (sticks, min-nim, dealt) or config"
    )


def test_where_a_game_has_no_other_preset_another_config_is_proposed() -> None:
    (said,) = warned(evidence(results([(1.0, 0.0)] * 50), None), (), ())
    assert said.endswith("the bots almost nothing. Use another config")


def test_a_start_that_decides_nearly_all_is_warned_of() -> None:
    (said,) = warned(evidence(results([(1.0, 0.0), (0.0, 1.0)] * 20), None))
    assert said.startswith("in 100% of the pairs one seat won both games: the start decides almost everything")


def test_bots_that_play_the_same_game_again_and_again_are_warned_of() -> None:
    same = [ComparedMatch(replace(one.result, plies=9)) for one in results([(1.0, 0.5)] * 20)]
    (said,) = warned(evidence(same, None))
    assert said.startswith("all 20 pairs took the same course: bots that always play the same from the same start")
    assert said.endswith("Use a preset whose starts are dealt (dealt), or bots that play at random")
    (said,) = warned(evidence(same, None), dealing=("dealt", "drawn"))
    assert said.endswith("Use a preset whose starts are dealt (dealt, drawn), or bots that play at random")
    (said,) = warned(evidence(same[:20], None), (), ())
    assert said.endswith("Use a config that deals starts, or bots that play at random")
    assert warned(evidence(same[:18], None)) == []


def test_a_bot_that_never_plays_on_is_told_of_and_no_start_blamed() -> None:
    resigned = [match(place, 0.0, reason=RESIGNED) for place in range(40)]
    assert warned(evidence(resigned, None)) == []
    late = [match(place, 0.0, reason=TIMEOUT) for place in range(40)]
    (said,) = warned(evidence(late, None))
    assert said.startswith("ann forfeited 40 of 40 games")
    (said,) = warned(evidence(resigned[:20] + late[20:], None))
    assert said.startswith("ann forfeited 20 of 40 games")


def test_many_forfeits_are_told_and_few_are_not() -> None:
    chance = Random(3)
    usual = results([(float(chance.randrange(2)), float(chance.randrange(2))) for _ in range(50)])
    late = [match(place, 0.0, reason=TIMEOUT) for place in range(100, 120)]
    assert warned(evidence(usual, None)) == []
    assert warned(evidence(usual + late[:2], None)) == []
    (said,) = warned(evidence(usual + late, None))
    assert said.startswith(
        "ann forfeited 20 of 120 games, by time, illegal moves, a lost connection or a failed program: this"
    )


# More than two seats

SIDES = (("ann",), ("bob", "bob-2"))


def of_three(place: int, ranks: Sequence[int], luck: tuple[float, ...] | None = None) -> ComparedMatch:
    """A match of ann and two bobs, whose ranks these are; the seats are turned by one from match to match."""
    names = ["ann", "bob", "bob-2"]
    turned = [*range(3)][place % 3 :] + [*range(3)][: place % 3]
    done = result(f"m{place}", [names[at] for at in turned], [ranks[at] for at in turned], rated=False, place=place)
    return ComparedMatch(done, None if luck is None else tuple(luck[at] for at in turned))


def in_three_seats(
    matches: Sequence[ComparedMatch], value: str | None = None, sides: tuple[Sequence[str], Sequence[str]] = SIDES
) -> Evidence:
    found = Evidence(BOTS, Question(hypotheses=BETTER, value=value), sides)
    found.add_matches(matches)
    return found


def test_of_three_seats_the_matches_of_a_start_from_each_of_them_count_as_one() -> None:
    first = [of_three(0, (1, 2, 3)), of_three(1, (2, 1, 3)), of_three(2, (3, 1, 2))]
    found = in_three_seats([*first, of_three(3, (1, 2, 3))]).findings()
    assert (found.pairs, found.games, found.seats) == (1, 3, 3)
    assert found.score is not None
    assert found.score.score == pytest.approx((1 + 0.5 + 0) / 3)
    assert found.normalised is None


def test_luck_is_that_of_the_first_bots_seats_wherever_they_are() -> None:
    played = [of_three(place, (1, 2, 3), (0.4, -0.1, -0.3)) for place in range(6)]
    alone = in_three_seats(played, "fitted-1").findings()
    assert alone.adjusted is not None
    assert alone.adjusted.score == pytest.approx(1 - 0.4)
    both = in_three_seats(played, "fitted-1", (("ann", "bob"), ("bob-2",))).findings()
    assert both.adjusted is not None
    assert both.adjusted.score == pytest.approx(1 - 2 * 0.3 / 2)


def test_results_of_three_seats_are_tested_by_their_spread_over_starts() -> None:
    chance = Random(3)
    matches = [of_three(place, chance.choice([(1, 2, 3), (1, 2, 3), (2, 1, 3)])) for place in range(900)]
    found = in_three_seats(matches)
    assert found.verdict == "h1"
    assert MIN_UNITS <= found.findings().pairs < 300
    assert len(found.matches) == 3 * found.findings().pairs


def test_starts_that_all_went_alike_are_warned_of_as_such() -> None:
    found = in_three_seats([of_three(place, (1, 2, 3)) for place in range(30)])
    (said,) = find_warnings(BOTS, replace(found.findings(), seat_0=0.5), ("grid",), ())
    assert said.startswith("all 10 starts took the same course: bots that always play")


def test_how_many_games_it_takes_is_said_where_luck_stays_in() -> None:
    raw = Question(hypotheses=BETTER, value=None)
    said = format_expected_length(raw, 6, 1)
    assert said is not None
    assert "takes about 1,500 games of equal bots, and 2,500 if the truth lies half way" in said
    assert "about 860 games" in str(format_expected_length(raw, 6, 3))
    soon = Question(hypotheses=Hypotheses(h1=0.2), value=None)
    assert "about 190 games" in str(format_expected_length(soon, 6, 1))  # no verdict before 32 starts
    assert "about 33 games" in str(format_expected_length(soon, 2, 1))
    assert format_expected_length(Question(hypotheses=BETTER, value="exact"), 2, 1) is None
    assert format_expected_length(Question(hypotheses=None, value=None), 2, 1) is None


def test_what_tests_against_several_say_together() -> None:
    assert format_joint_conclusion("ann", {"bob": "h1", "cid": "h1"}, 0.0, 0.05) == (
        "ann is better than each of bob, cid. If it were no better than one of these, at most 5 of 100 such tests "
        "would say so."
    )
    assert format_joint_conclusion("ann", {"bob": "h0", "cid": "h1", "dan": None}, 0.0, 0.05).startswith(
        "ann is better than 1 of 3: cid. "
    )
    assert (
        format_joint_conclusion("ann", {"bob": "h0", "cid": None}, 0.0, 0.05)
        == "h1 is accepted against none of bob, cid"
    )

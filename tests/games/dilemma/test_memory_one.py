"""What strategies that remember one round score: against what is known on paper, and against long matches."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from statistics import mean, stdev

import pytest

from games.dilemma.memory_one import (
    AXELROD_PAYOFFS,
    EXTORTION_FACTOR,
    MemoryOne,
    Payoffs,
    extortion,
    generous_tit_for_tat,
    memory_one,
    payoff_table_of,
    scores,
    strategies,
)
from protocol.games import load_game
from referee.course import Course

NAMED = strategies()
TFT, DEFECT, PAVLOV = NAMED["tit-for-tat"], NAMED["always-defect"], NAMED["pavlov"]
NOISE = Fraction(1, 20)
PRISON: Payoffs = (((-2, -2), (-10, 0)), ((0, -10), (-5, -5)))
REWARD, SUCKER, TEMPTATION, PUNISHMENT = 3, 0, 5, 1


def strangers(count: int) -> list[MemoryOne]:
    lots = Random(1)
    return [memory_one(*(Fraction(lots.randint(1, 99), 100) for _ in range(5))) for _ in range(count)]


@pytest.mark.parametrize("noise", [Fraction(1, 10_000), NOISE, Fraction(1, 2)])
def test_the_least_noise_lets_two_that_play_tit_for_tat_meet_every_result_as_often(noise: Fraction) -> None:
    quarter = Fraction(REWARD + SUCKER + TEMPTATION + PUNISHMENT, 4)
    assert set(scores(TFT, TFT, noise=noise)) == {quarter}
    assert set(scores(TFT, TFT)) == {REWARD}


def test_pavlov_corrects_a_slip_in_two_rounds() -> None:
    # A slip gives CD, then DD, then CC again: to first order each of 2ε slips costs two rounds.
    tiny = Fraction(1, 10**9)
    (score, _) = scores(PAVLOV, PAVLOV, noise=tiny)
    cost = 2 * ((REWARD - Fraction(SUCKER + TEMPTATION, 2)) + (REWARD - PUNISHMENT))
    assert float((REWARD - score) / tiny) == pytest.approx(float(cost), rel=1e-6)


@pytest.mark.parametrize("go_on", [Fraction(1, 2), Fraction(995, 1000)])
def test_who_always_defects_exploits_tit_for_tat_once(go_on: Fraction) -> None:
    assert scores(DEFECT, TFT, go_on=go_on)[0] == (1 - go_on) * TEMPTATION + go_on * PUNISHMENT
    assert scores(DEFECT, TFT, rounds=200)[0] == Fraction(TEMPTATION + 199 * PUNISHMENT, 200)
    assert scores(DEFECT, TFT)[0] == PUNISHMENT


@pytest.mark.parametrize("payoffs", [AXELROD_PAYOFFS, PRISON], ids=["axelrod", "prison"])
def test_extortion_takes_its_multiple_of_what_anybody_wins_beyond_mutual_defection(payoffs: Payoffs) -> None:
    punishment, stakes = payoffs[1][1][0], payoff_table_of(payoffs, 0)
    extorts = extortion(stakes, stakes)
    assert extorts is not None
    for other in (*strangers(20), *strategies(payoffs).values()):
        ours, theirs = scores(extorts, other, payoffs)
        assert ours - punishment == EXTORTION_FACTOR * (theirs - punishment)


def test_the_extortion_of_axelrods_payoffs_is_that_of_the_paper() -> None:
    stakes = payoff_table_of(AXELROD_PAYOFFS, 0)
    assert extortion(stakes, stakes, chi=3) == memory_one(1, Fraction(11, 13), Fraction(1, 2), Fraction(7, 26), 0)
    assert generous_tit_for_tat(stakes) == memory_one(1, 1, Fraction(1, 3), 1, Fraction(1, 3))


def test_a_pair_scores_the_same_in_either_order() -> None:
    for one in strangers(5):
        for two in NAMED.values():
            assert scores(one, two, noise=NOISE) == scores(two, one, noise=NOISE)[::-1]


def test_where_the_first_rounds_decide_the_long_run_weighs_what_they_lead_to() -> None:
    # Of two that play grim, and begin with C half of the time, three of four pairs defect for ever.
    lots = memory_one(Fraction(1, 2), 1, 0, 0, 0)
    assert scores(lots, lots)[0] == Fraction(REWARD + 3 * PUNISHMENT, 4)


def test_two_that_take_turns_have_the_mean_of_both() -> None:
    turns = memory_one(1, 0, 0, 1, 1)
    assert scores(turns, turns)[0] == Fraction(REWARD + PUNISHMENT, 2)


def test_many_rounds_with_a_chance_to_go_on_are_those_without_a_known_end() -> None:
    one, two = strangers(2)
    without_end = scores(one, two, noise=NOISE, go_on=Fraction(9, 10))
    assert scores(one, two, noise=NOISE, go_on=Fraction(9, 10), rounds=400)[0] == pytest.approx(float(without_end[0]))
    assert scores(one, two, noise=NOISE, rounds=1000)[0] == pytest.approx(
        float(scores(one, two, noise=NOISE)[0]), abs=0.01
    )


def test_three_rounds_are_the_mean_over_all_that_may_happen() -> None:
    one, two = strangers(2)

    def expected(left: int, last: tuple[int, int] | None) -> Fraction:
        if left == 0:
            return Fraction(0)
        chances = (
            (one.first, two.first)
            if last is None
            else (one.after[2 * last[0] + last[1]], two.after[2 * last[1] + last[0]])
        )
        total = Fraction(0)
        for own in (0, 1):
            for other in (0, 1):
                chance = (1 - chances[0] if own else chances[0]) * (1 - chances[1] if other else chances[1])
                total += chance * (AXELROD_PAYOFFS[own][other][0] + expected(left - 1, (own, other)))
        return total

    assert scores(one, two, rounds=3)[0] == expected(3, None) / 3


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("extort", "generous"),
        *(pytest.param(*each, marks=pytest.mark.nightly) for each in (("tit-for-tat", "pavlov"), ("pavlov", "grim"))),
    ],
    ids=str,
)
def test_a_long_match_before_the_referee_comes_to_the_same(one: str, two: str) -> None:
    rounds, batch = 10_000, 500
    game = load_game("dilemma", {"rounds": rounds, "noise": "0.05"})
    course, _ = Course.new("m", game, ["a", "b"], b"", bytes(32), [b"", b""]).begin()
    lots = Random(7)
    paid = []
    players = NAMED[one], NAMED[two]
    while course.to_move is not None:
        last, before = course.state.last, course.state.payoffs[0]
        for seat, player in enumerate(players):
            chance = player.first if last is None else player.after[2 * last[seat] + last[1 - seat]]
            course, _ = course.play(seat, int(lots.random() >= chance))
        course, _ = course.play_due()
        paid.append(course.state.payoffs[0] - before)
    means = [mean(paid[at : at + batch]) for at in range(0, rounds, batch)]
    error = stdev(means) / len(means) ** 0.5
    assert mean(paid) == pytest.approx(float(scores(*players, noise=NOISE)[0]), abs=3.5 * error)
    assert error < 0.06

"""Intervals of shares, and of differences of shares, of few matches and of many."""

from __future__ import annotations

import itertools
from math import comb

import pytest

from measuring.share_intervals import ShareInterval, share_difference, share_interval


def bounds(found: ShareInterval) -> tuple[float, float]:
    return round(found.low, 4), round(found.high, 4)


def test_the_interval_of_a_share_is_wilsons() -> None:
    # R. G. Newcombe, Two-sided confidence intervals for the single proportion (1998), table I, method 3
    assert bounds(share_interval(81 / 263, 263)) == (0.2553, 0.3662)
    assert bounds(share_interval(15 / 148, 148)) == (0.0624, 0.1605)
    assert bounds(share_interval(0.0, 20)) == (0.0, 0.1611)
    assert bounds(share_interval(0.5, 10)) == (0.2366, 0.7634)
    assert bounds(share_interval(1.0, 8)) == (0.6756, 1.0)
    assert bounds(share_interval(0.0, 0)) == (0.0, 1.0)


@pytest.mark.parametrize(("newer", "older"), [((3, 3), (1, 4)), ((3, 3), (0, 3)), ((2, 2), (0, 2)), ((1, 1), (0, 11))])
def test_a_few_matches_do_not_tell_two_shares_apart_however_far_they_are(
    newer: tuple[int, int], older: tuple[int, int]
) -> None:
    found = share_difference(newer[0] / newer[1], newer[1], older[0] / older[1], older[1])
    assert -1 <= found.low < 0 < found.score <= found.high <= 1


def test_more_matches_do() -> None:
    assert share_difference(1.0, 8, 0.125, 8).low > 0
    assert bounds(share_difference(0.52, 100_000, 0.51, 60_000)) == (0.0049, 0.0151)


def test_a_difference_the_other_way_round_has_the_interval_the_other_way_round() -> None:
    one, other = share_difference(0.7, 10, 0.25, 6), share_difference(0.25, 6, 0.7, 10)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


def test_no_difference_has_an_interval_beyond_1_and_each_lies_within_its_own() -> None:
    for played, before in itertools.product((1, 4), repeat=2):
        for won, lost in itertools.product(range(2 * played + 1), range(2 * before + 1)):
            found = share_difference(won / (2 * played), played, lost / (2 * before), before)
            assert -1 <= found.low <= found.score <= found.high <= 1


@pytest.mark.parametrize(("played", "before"), [(3, 4), (7, 7), (2, 12)])
def test_of_few_matches_the_interval_holds_the_true_difference_in_94_percent_of_cases_or_more(
    played: int, before: int
) -> None:
    found = {
        (won, lost): share_difference(won / played, played, lost / before, before)
        for won, lost in itertools.product(range(played + 1), range(before + 1))
    }
    for one, other in itertools.product((0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.9), repeat=2):
        held = sum(
            comb(played, won) * one**won * (1 - one) ** (played - won)
            * comb(before, lost) * other**lost * (1 - other) ** (before - lost)
            for (won, lost), interval in found.items()
            if interval.low <= one - other <= interval.high
        )  # fmt: skip
        assert held > 0.94

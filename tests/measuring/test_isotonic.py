"""Curves that only fall, and what is evenly apart on them."""

from __future__ import annotations

import pytest

from measuring.isotonic import evenly_spaced, isotonic_decreasing


def test_what_falls_stays_and_what_rises_becomes_its_mean() -> None:
    assert isotonic_decreasing([8, 4, 2]) == [8, 4, 2]
    assert isotonic_decreasing([8, 4, 5, 2]) == [8, 4.5, 4.5, 2]
    assert isotonic_decreasing([1, 2, 6]) == [3, 3, 3]


def test_a_pool_that_is_higher_than_the_one_before_takes_that_in() -> None:
    assert isotonic_decreasing([4, 3, 1, 7]) == pytest.approx([4, 11 / 3, 11 / 3, 11 / 3])
    assert isotonic_decreasing([4, 3, 1, 10]) == pytest.approx([4.5] * 4)


def test_places_are_evenly_apart_in_height_whatever_the_noise() -> None:
    curve = [(0.2, 7.4), (0.0, 11.0), (0.1, 7.0), (1.0, 3.0), (0.5, 5.0)]
    assert evenly_spaced(curve, 5) == pytest.approx([1.0, 0.5, 0.2273, 0.0526, 0.0], abs=1e-4)

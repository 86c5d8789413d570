"""Theory against brute force, and the periods of subtraction games."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import pytest

from games.theory.grundy_values import count_lost_positions, first_grundy_values
from games.theory.heaps import GRUNDY_RULE, HeapRule, SubtractionRule, nim_rule
from games.theory.impartial import (
    Difficulty,
    apply_move,
    best_moves,
    count_outcomes,
    moves,
    outcome,
    reachable_positions,
    win_fraction,
    winning_moves,
)

Heaps = tuple[int, ...]


def move_sets() -> Iterator[tuple[int, ...] | None]:
    yield None
    chance = random.Random(3)
    for _ in range(20):
        yield tuple(sorted(chance.sample(range(1, 9), chance.randint(1, 5))))


class Brute:
    """The definitions, word for word, over all resulting positions."""

    def __init__(self, take: tuple[int, ...] | None, misere: bool) -> None:
        self.take, self.misere = take, misere
        self.lost, self.value = cache(self._lost), cache(self._value)

    def results(self, heaps: Heaps) -> set[Heaps]:
        found = set()
        for i, size in enumerate(heaps):
            for take in self.take or range(1, size + 1):
                if take <= size:
                    found.add(tuple(sorted((*heaps[:i], size - take, *heaps[i + 1 :]))))
        return found

    def _lost(self, heaps: Heaps) -> bool:
        results = self.results(heaps)
        return not any(self.lost(result) for result in results) if results else not self.misere

    def _value(self, heaps: Heaps) -> Fraction:
        results = self.results(heaps)
        if not results:
            return Fraction(int(self.misere))
        return Fraction(sum(self.lost(result) for result in results), len(results))


@pytest.mark.parametrize("misere", [False, True])
@pytest.mark.parametrize("take", list(move_sets()))
def test_theory_agrees_with_brute_force_up_to_7_7_7(take: tuple[int, ...] | None, misere: bool) -> None:
    brute, rule = Brute(take, misere), nim_rule(take)
    for heaps in combinations_with_replacement(range(8), 3):
        assert outcome(heaps, rule, misere=misere) == ("P" if brute.lost(heaps) else "N")
        assert win_fraction(heaps, rule, misere=misere) == brute.value(heaps)
        results = brute.results(heaps)
        assert {apply_move(heaps, move) for move in moves(heaps, rule)} == results
        least = min(map(brute.value, results), default=None)
        best = {apply_move(heaps, move) for move in best_moves(heaps, rule, misere=misere)}
        assert best == {result for result in results if brute.value(result) == least}


@pytest.mark.parametrize(("take", "period"), [((1, 2, 3), 4), ((1, 3, 5), 2), ((2, 5, 7), 22), ((4,), 8)])
def test_the_period_of_a_subtraction_game_is_found(take: tuple[int, ...], period: int) -> None:
    rule = SubtractionRule(take)
    rule.value(1000)
    assert rule.period == period


@pytest.mark.parametrize("take", [(3, 4, 9, 11), (2, 7, 30), (5, 99), (1, 2, 3, 4, 5, 6, 7, 8, 9, 10), (17, 2000)])
def test_values_found_by_the_period_are_those_of_the_definition(take: tuple[int, ...]) -> None:
    values: list[int] = []
    for size in range(3000):
        reached = {values[size - taken] for taken in take if taken <= size}
        values.append(next(v for v in range(20) if v not in reached))
    rule = nim_rule(take)
    assert rule.value(2999) == values[2999]
    assert [rule.value(size) for size in range(3000)] == values


def test_grundys_game_has_its_known_values() -> None:
    # OEIS A002188
    known = [0, 0, 0, 1, 0, 2, 1, 0, 2, 1, 0, 2, 1, 3, 2, 1, 3, 2, 4, 3, 0, 4, 3, 0, 4, 3, 0, 4, 1, 2]
    assert [GRUNDY_RULE.value(size) for size in range(len(known))] == known


def split_lost(heaps: Heaps) -> bool:
    return not any(split_lost(result) for result in split_results(heaps))


def split_results(heaps: Heaps) -> set[Heaps]:
    return {
        tuple(sorted((*heaps[:i], part, size - part, *heaps[i + 1 :])))
        for i, size in enumerate(heaps)
        for part in range(1, size)
        if part != size - part
    }


@pytest.mark.parametrize("heaps", [*((size,) for size in range(1, 11)), (3, 4), (5, 5), (4, 6), (3, 3, 5), (2, 7)])
def test_grundys_game_agrees_with_brute_force(heaps: Heaps) -> None:
    results = split_results(heaps)
    lost = [result for result in results if split_lost(result)]
    assert (outcome(heaps, GRUNDY_RULE) == "P") == split_lost(heaps)
    assert win_fraction(heaps, GRUNDY_RULE) == (Fraction(len(lost), len(results)) if results else 0)
    assert {apply_move(heaps, move) for move in winning_moves(heaps, GRUNDY_RULE)} == set(lost)


def test_positions_that_can_be_reached_are_counted_by_class() -> None:
    rule = nim_rule((1, 3, 5))
    found = reachable_positions((10, 20, 30), rule)
    assert found is not None
    brute = Brute((1, 3, 5), False)
    lost = sum(brute.lost(heaps) for heaps in found)
    assert count_outcomes(found, rule) == (lost, len(found) - lost)
    assert found == all_reached(brute, (10, 20, 30))


def all_reached(brute: Brute, first: Heaps) -> set[Heaps]:
    seen, waiting = {first}, [first]
    while waiting:
        for result in brute.results(waiting.pop()) - seen:
            seen.add(result)
            waiting.append(result)
    return seen


@pytest.mark.parametrize(("heaps", "take"), [((1000, 1000), None), ((10**6,), (1, 2))])
def test_too_many_positions_to_count_are_none(heaps: Heaps, take: tuple[int, ...] | None) -> None:
    assert reachable_positions(heaps, nim_rule(take)) is None
    assert Difficulty(nim_rule(take)).error_probability(heaps) is None
    assert Difficulty(nim_rule(take)).hardest_moves(heaps) is None


def no_error(heaps: Heaps, brute: Brute, losers_turn: bool) -> float:
    """The chance of flawless play by the winning side, by plain recursion."""
    results = brute.results(heaps)
    if not results:
        return 1.0
    if losers_turn:
        return min(no_error(result, brute, False) for result in results)
    right = [result for result in results if brute.lost(result)]
    return sum(no_error(result, brute, True) for result in right) / len(results)


@pytest.mark.parametrize("misere", [False, True])
@pytest.mark.parametrize("take", [None, (1, 2), (1, 3, 4), (2, 3)])
def test_difficulty_agrees_with_brute_force(take: tuple[int, ...] | None, misere: bool) -> None:
    brute, difficulty = Brute(take, misere), Difficulty(nim_rule(take), misere=misere)
    for heaps in combinations_with_replacement(range(4), 3):
        expected = 1 - no_error(heaps, brute, brute.lost(heaps))
        assert difficulty.error_probability(heaps) == pytest.approx(expected)


def test_the_move_with_the_deepest_difficulty_leads_to_the_greatest_chance_of_an_error() -> None:
    rule: HeapRule = nim_rule(None)
    difficulty = Difficulty(rule)
    chances = {move: difficulty.error_probability(apply_move((2, 4, 6), move)) for move in moves((2, 4, 6), rule)}
    hardest = difficulty.hardest_moves((2, 4, 6))
    assert hardest
    assert {chances[move] for move in hardest} == {max(chance for chance in chances.values() if chance is not None)}
    assert difficulty.error_probability((2, 4, 6)) == max(chance for chance in chances.values() if chance is not None)


# How many positions are lost


@pytest.mark.parametrize("misere", [False, True])
@pytest.mark.parametrize("heaps", [(0,), (1,), (7,), (3, 5, 6), (2, 2, 9), (1, 0, 4, 4), (1, 1, 1, 1, 1)])
def test_lost_positions_are_counted_as_a_look_at_each_would(heaps: Heaps, misere: bool) -> None:
    for take in move_sets():
        rule = nim_rule(take)
        positions = product(*(range(size + 1) for size in heaps))
        found = sum(outcome(position, rule, misere=misere) == "P" for position in positions)
        values = first_grundy_values(take, 10)
        assert list(values) == [rule.value(size) for size in range(10)]
        assert count_lost_positions(heaps, values, misere=misere) == found, take

"""Battles: rounds and whole battles have exactly the odds that are stated, and the dice keep to them."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import pytest

from games.risk.rules.battle import MAX_LISTED_ROUNDS, battle_odds, battle_without_dice, roll_battle, round_odds
from protocol.dice import Dice

ARMIES = [(1, 1), (1, 2), (2, 2), (3, 1), (3, 2), (4, 3), (2, 5), (6, 4)]


class Thrown(Dice):
    """Dice that fall as `roll`, from 0 to 5, says; much faster than committed ones."""

    def __init__(self, roll: Callable[[], int]) -> None:
        super().__init__(b"", 0)
        self._roll = roll

    def choice(self, purpose: str, count: int) -> int:
        assert (purpose, count) == ("attack", 6)
        return self._roll()

    def roll_many(self, purpose: str, count: int) -> bytes:
        return bytes(self.choice(purpose, 6) + 1 for _ in range(count))


def faces(*shown: int) -> Dice:
    left = iter(shown)
    return Thrown(lambda: next(left) - 1)


@pytest.mark.parametrize(
    ("attack", "defence", "ways"),
    [
        (1, 1, {(0, 1): 15, (1, 0): 21}),
        (2, 1, {(0, 1): 125, (1, 0): 91}),
        (3, 1, {(0, 1): 855, (1, 0): 441}),
        (1, 2, {(0, 1): 55, (1, 0): 161}),
        (2, 2, {(0, 2): 295, (1, 1): 420, (2, 0): 581}),
        (3, 2, {(0, 2): 2890, (1, 1): 2611, (2, 0): 2275}),
    ],
)
def test_a_round_takes_as_many_of_each_side_as_counting_every_throw_says(
    attack: int, defence: int, ways: dict[tuple[int, int], int]
) -> None:
    throws = 6 ** (attack + defence)
    odds = {(lost, killed): chance for chance, lost, killed in round_odds(attack, defence)}
    assert odds == {losses: Fraction(count, throws) for losses, count in ways.items()}


def test_the_attacker_draws_first_and_the_highest_dice_meet() -> None:
    assert roll_battle(faces(1, 6, 3, 5, 3, 4, 1, 2, 1, 2), 3, 2)[2][:2] == [[1, 6, 3], [5, 3]]
    assert roll_battle(faces(2, 6, 4, 5, 3), 3, 2) == (3, 0, [[2, 6, 4], [5, 3]])


def test_the_defender_wins_ties() -> None:
    assert roll_battle(faces(6, 6), 1, 1) == (0, 1, [[6], [6]])
    assert roll_battle(faces(6, 5, 5, 6), 2, 2) == (0, 2, [[6, 5], [5, 6]])


def test_a_battle_goes_on_with_fewer_dice_until_one_side_is_gone() -> None:
    left = roll_battle(faces(6, 1, 1, 5, 5, 1, 6, 2, 6, 6, 6, 3), 4, 2)
    assert left == (2, 0, [[6, 1, 1], [5, 5], [1, 6, 2], [6], [6, 6], [3]])
    assert roll_battle(faces(1, 1, 1, 6, 6, 1, 6, 1), 3, 2) == (0, 2, [[1, 1, 1], [6, 6], [1], [6, 1]])


def by_rounds(dice: Dice, attackers: int, defenders: int) -> tuple[int, int, list[list[int]]]:
    """A battle as the rules tell it, one round and one die after the other."""
    rolls = []
    while attackers and defenders:
        attack = [dice.roll("attack") for _ in range(min(attackers, 3))]
        defence = [dice.roll("attack") for _ in range(min(defenders, 2))]
        for one, other in zip(sorted(attack)[::-1], sorted(defence)[::-1], strict=False):
            attackers, defenders = (attackers, defenders - 1) if one > other else (attackers - 1, defenders)
        rolls += [attack, defence]
    return attackers, defenders, rolls[: 2 * MAX_LISTED_ROUNDS]


@pytest.mark.parametrize(("attackers", "defenders"), [*ARMIES, (2, 90), (90, 2), (90, 90), (900, 1200), (1200, 900)])
def test_rounds_that_are_fought_at_once_are_those_fought_one_by_one(attackers: int, defenders: int) -> None:
    for ply in range(20):
        expected = by_rounds(Dice(b"battle", ply), attackers, defenders)
        assert roll_battle(Dice(b"battle", ply), attackers, defenders) == expected


def test_the_odds_of_a_small_battle_are_those_worked_out_by_hand() -> None:
    assert battle_odds(1, 1) == ((Fraction(15, 36), 1, 0), (Fraction(21, 36), 0, 1))
    second = Fraction(55, 216)  # one attacker beats the first of two defenders, and then has the odds of one to one
    expected = ((second * Fraction(15, 36), 1, 0), (second * Fraction(21, 36), 0, 1), (1 - second, 0, 2))
    assert battle_odds(1, 2) == expected


@pytest.mark.parametrize(("attackers", "defenders"), [*ARMIES, (30, 1), (1, 30), (40, 25)])
def test_the_odds_of_a_battle_sum_to_one_with_every_result_once(attackers: int, defenders: int) -> None:
    odds = battle_odds(attackers, defenders)
    assert sum(chance for chance, _, _ in odds) == 1
    won = [(left, 0) for left in range(attackers, 0, -1)]
    lost = [(0, left) for left in range(1, defenders + 1)]
    assert [left for _, *left in odds] == [list(left) for left in won + lost]


def plainly(attackers: int, defenders: int) -> dict[tuple[int, int], Fraction]:
    """The odds of a battle, round by round."""
    if not attackers or not defenders:
        return {(attackers, defenders): Fraction(1)}
    odds: dict[tuple[int, int], Fraction] = {}
    for chance, lost, killed in round_odds(min(3, attackers), min(2, defenders)):
        for left, then in plainly(attackers - lost, defenders - killed).items():
            odds[left] = odds.get(left, Fraction(0)) + chance * then
    return odds


@pytest.mark.parametrize(("attackers", "defenders"), [*ARMIES, (7, 7)])
def test_the_odds_of_a_battle_follow_from_those_of_its_rounds(attackers: int, defenders: int) -> None:
    odds = {(a, d): chance for chance, a, d in battle_odds(attackers, defenders)}
    assert odds == plainly(attackers, defenders)


def test_a_battle_of_hundreds_needs_no_deep_recursion() -> None:
    assert sum(chance for chance, _, _ in battle_odds(150, 150)) == 1


def farthest(fought: Counter[tuple[int, int]], attackers: int, defenders: int) -> float:
    """How far from its odds the result is that is farthest from them, in standard deviations; infinite without odds."""
    battles = fought.total()
    odds = {(a, d): float(chance) for chance, a, d in battle_odds(attackers, defenders)}
    far = [abs(fought[left] - battles * p) / math.sqrt(battles * p * (1 - p)) for left, p in odds.items()]
    return max(far) if fought.keys() <= odds.keys() else math.inf


@pytest.mark.no_cover
@pytest.mark.parametrize("battles", [50_000, pytest.param(1_000_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("attackers", "defenders"), ARMIES)
def test_many_battles_come_out_as_often_as_the_odds_say(attackers: int, defenders: int, battles: int) -> None:
    generator = random.Random(f"{attackers} {defenders}")
    dice = Thrown(lambda: int(generator.random() * 6))
    fought = Counter(roll_battle(dice, attackers, defenders)[:2] for _ in range(battles // len(ARMIES)))
    assert farthest(fought, attackers, defenders) < 4


@pytest.mark.parametrize(
    ("attackers", "defenders", "left"),
    [(5, 2, (3, 0)), (3, 2, (1, 0)), (2, 2, (0, 1)), (2, 3, (0, 1)), (2, 7, (0, 5)), (1, 1, (0, 1))],
)
def test_without_dice_more_units_win_and_a_defender_always_stays(
    attackers: int, defenders: int, left: tuple[int, int]
) -> None:
    assert battle_without_dice(attackers, defenders) == left

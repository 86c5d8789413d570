"""Dice for the reference rules of Risk. With them, a battle has the same result as in a batch of games for learning."""

from __future__ import annotations

from functools import cache
from itertools import accumulate, product
from operator import gt
from typing import Any

from bots.environments.batched.batch import ThrowCounts
from games.risk.rules.battle import DIE_SIDES, MAX_ATTACK_DICE, MAX_DEFENCE_DICE, round_odds
from machine.generator import DRAW_RANGE, draw
from protocol.dice import Dice


@cache
def loss_thresholds(attacking: int, defending: int) -> tuple[tuple[int, int], ...]:
    """Return how a random number decides a round of a battle: pairs of a threshold and the units that the attacker
    loses. The first pair counts whose threshold is above the random number.
    """
    odds = round_odds(attacking, defending)
    below = accumulate(chance for chance, *_ in odds)
    return tuple((int(limit * DRAW_RANGE), lost) for limit, (_, lost, _) in zip(below, odds, strict=True))


@cache
def dice_for_loss(attacking: int, defending: int, lost: int) -> bytes:
    """Return one possible throw of a round in which the attacker loses `lost` units: the numbers on the attacker's
    dice, then those on the defender's dice.
    """
    stake = min(attacking, defending)
    for dice in product(range(1, DIE_SIDES + 1), repeat=attacking + defending):
        sides = sorted(dice[:attacking], reverse=True), sorted(dice[attacking:], reverse=True)
        if stake - sum(map(gt, *sides)) == lost:
            return bytes(dice)
    raise ValueError(f"{attacking} dice against {defending} can't take {lost} attackers")


class ScriptedDice(Dice):
    """Dice that give the reference rules the same battle results as a batch of games. They draw each result from the
    batch's random generator, and show dice that lead to it.
    """

    def __init__(self, generator: Any, attackers: int, defenders: int, throw_counts: ThrowCounts) -> None:
        super().__init__(b"", 0)
        self._generator = generator
        self._attackers, self._defenders = attackers, defenders
        self._thrown = throw_counts
        self._left = b""

    def roll_many(self, purpose: str, count: int) -> bytes:
        while len(self._left) < count:
            attacking, defending = min(self._attackers, MAX_ATTACK_DICE), min(self._defenders, MAX_DEFENCE_DICE)
            drawn = draw(self._generator)
            lost = next(lost for limit, lost in loss_thresholds(attacking, defending) if drawn < limit)
            self._thrown[attacking, defending, lost] += 1
            self._attackers -= lost
            self._defenders -= min(attacking, defending) - lost
            self._left += dice_for_loss(attacking, defending, lost)
        given, self._left = self._left[:count], self._left[count:]
        return given

    def roll(self, purpose: str) -> int:
        return self.roll_many(purpose, 1)[0]

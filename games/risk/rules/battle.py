"""Battles in Risk: fought with dice, their exact odds, and their outcome without dice. A round is up to three attacking
and two defending dice, highest against highest; the defender wins ties.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, lru_cache
from itertools import product
from operator import gt

from protocol.dice import Dice
from protocol.messages import Event

DICE_PURPOSE = "attack"
"""The purpose under which `Dice` draws the dice of battles."""
MAX_ATTACK_DICE = 3
"""Maximum number of dice of the attacker in a round of a battle."""
MAX_DEFENCE_DICE = 2
"""Maximum number of dice of the defender in a round of a battle."""
DIE_SIDES = 6
"""The number of sides of a die."""
MAX_LISTED_ROUNDS = 500
"""Maximum number of rounds of a battle whose dice an event lists, because clients would refuse more. The dice of later
rounds can be computed again from the seed.
"""


def roll_battle(dice: Dice, attackers: int, defenders: int) -> tuple[int, int, list[list[int]]]:
    """Roll a battle. Return the attackers left, the defenders left (one of these numbers is 0) and the dice: for at
    most `MAX_LISTED_ROUNDS` rounds, the attacker's dice, then the defender's, in the order of the draws.
    """
    rolls: list[list[int]] = []
    while attackers and defenders:
        a, d = min(attackers, MAX_ATTACK_DICE), min(defenders, MAX_DEFENCE_DICE)
        # A round costs a side at most two units, so this many rounds certainly use all dice.
        sure = min((attackers - a) // 2, (defenders - d) // 2) + 1 if a + d == MAX_ATTACK_DICE + MAX_DEFENCE_DICE else 1
        thrown = dice.roll_many(DICE_PURPOSE, sure * (a + d))
        rounds = list(zip(*[iter(thrown)] * (a + d), strict=True))
        killed = sum(map(_LOSS_TABLES[a, d].__getitem__, rounds))
        attackers -= sure * min(a, d) - killed
        defenders -= killed
        for throw in rounds[: MAX_LISTED_ROUNDS - len(rolls) // 2]:
            rolls += list(throw[:a]), list(throw[a:])
    return attackers, defenders, rolls


def battle_without_dice(attackers: int, defenders: int) -> tuple[int, int]:
    """Return the attackers and defenders left after a battle without dice. A larger attacker wins and keeps the
    difference; otherwise all attackers fall, and at least one defender stays.
    """
    return (attackers - defenders, 0) if attackers > defenders else (0, max(1, defenders - attackers))


@cache
def round_odds(attack_dice: int, defence_dice: int) -> tuple[tuple[Fraction, int, int], ...]:
    """Return each possible result of a round of a battle: its exact probability, the lost attackers and the lost
    defenders. Results with fewer lost attackers come first.
    """
    throws = DIE_SIDES ** (attack_dice + defence_dice)
    ways = _round_ways(attack_dice, defence_dice)
    return tuple((Fraction(count, throws), lost, killed) for count, lost, killed in ways)


@lru_cache(maxsize=1024)
def battle_odds(attackers: int, defenders: int) -> tuple[tuple[Fraction, int, int], ...]:
    """Return each possible result of a battle: its exact probability, and the attackers and defenders left. Results
    that are better for the attacker come first. Time and memory grow with attackers × defenders.
    """
    # Counts over a common power of six, per state, are much faster than fractions.
    ways: dict[tuple[int, int], tuple[int, int]] = {(attackers, defenders): (1, 0)}
    ended: list[tuple[Fraction, int, int]] = []
    for total in range(attackers + defenders, 0, -1):
        for left in range(min(attackers, total), max(0, total - defenders) - 1, -1):
            state = left, total - left
            if state not in ways:
                continue
            count, power = ways.pop(state)
            if 0 in state:
                ended.append((Fraction(count, DIE_SIDES**power), *state))
                continue
            attack_dice, defence_dice = min(left, MAX_ATTACK_DICE), min(total - left, MAX_DEFENCE_DICE)
            thrown = attack_dice + defence_dice
            for throws, lost, killed in _round_ways(attack_dice, defence_dice):
                _add_ways(ways, (left - lost, total - left - killed), count * throws, power + thrown)
    return tuple(sorted(ended, key=lambda end: (-end[1], end[2])))


def _add_ways(ways: dict[tuple[int, int], tuple[int, int]], state: tuple[int, int], count: int, power: int) -> None:
    """Add the probability `count` / 6 ** `power` to that of `state` in `ways`, where probabilities are pairs (count,
    power). If the powers differ, both counts are first brought to the larger power.
    """
    before, over = ways.get(state, (0, power))
    if over < power:
        before *= DIE_SIDES ** (power - over)
    elif over > power:
        count *= DIE_SIDES ** (over - power)
    ways[state] = before + count, max(over, power)


@cache
def _round_ways(attack_dice: int, defence_dice: int) -> tuple[tuple[int, int, int], ...]:
    """Return each possible result of a round: the number of throws that lead to it, the lost attackers and the lost
    defenders. The result with the fewest lost attackers comes first.
    """
    ways = Counter(_LOSS_TABLES[attack_dice, defence_dice].values())
    most = min(attack_dice, defence_dice)
    return tuple((count, most - killed, killed) for killed, count in sorted(ways.items(), reverse=True))


def _loss_table(attack_dice: int, defence_dice: int) -> dict[tuple[int, ...], int]:
    """Return the number of lost defenders for each throw: the attacker's dice in a round, then the defender's."""
    defences = [(throw, sorted(throw, reverse=True)) for throw in _throws(defence_dice)]
    table = {}
    for attack in _throws(attack_dice):
        highest = sorted(attack, reverse=True)
        for defence, against in defences:
            table[attack + defence] = sum(map(gt, highest, against))
    return table


def _throws(dice: int) -> Iterator[tuple[int, ...]]:
    return product(range(1, DIE_SIDES + 1), repeat=dice)


_LOSS_TABLES = {
    (a, d): _loss_table(a, d) for a in range(1, MAX_ATTACK_DICE + 1) for d in range(1, MAX_DEFENCE_DICE + 1)
}
"""The number of lost defenders for each throw (see `_loss_table`). A key has the number of the attacker's dice and the
number of the defender's dice.
"""


def describe_attack(event: Event) -> str:
    """Describe the result of an attack: `6-3 taken`, or after several rounds `5 rounds, taken, 3 left`. Return an empty
    text for another move.
    """
    if event.result is None:
        return ""
    rows = event.dice or ()
    fought = len(rows) // 2
    more = "+" if fought == MAX_LISTED_ROUNDS else ""
    rounds = f"{fought}{more} rounds," if fought > 1 else "-".join(",".join(map(str, row)) for row in rows)
    outcome = "taken" if event.result["taken"] else "held"
    left = max(event.result.get("attackers", 0), event.result.get("defenders", 0))
    return f"{rounds} {outcome}".lstrip() + (f", {left} left" if left else "")

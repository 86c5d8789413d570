"""An auction among agents, one in every territory: MARS, the multi-agent system for Risk of Olsson and Johansson.

F. Olsson, A Multi-Agent System for Playing the Board Game Risk (Ronneby, 2005); S. J. Johansson, F. Olsson, Using
Multi-Agent System Technologies in Risk Bots (AIIDE 2006), where it outperforms other bots. Each territory's
agent says what holding it is worth, by friends and enemies next to it, by how much of its continent is held, and by
whole continents. It tells its neighbours, and they theirs, so that agents on the border bid for units by the goals that
they could reach with them. A mediator gives units to the highest bid, and orders the attack that is bid highest as long
as the odds are fair. The weights are this project's: those of the paper belong to rules with moves behind the front.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rival import Rival, Strike, View

from bots import run

BASE = 2.0
"""What any territory is worth."""
FRIEND, ENEMY = 0.3, 0.1
"""What it is worth more for each of the seat's territories next to it, and for each other one."""
SHARE, WHOLE, BROKEN = 0.5, 2.0, 1.0
"""What it is worth more, in units of its continent's bonus: by the share that is held, as the last that is lacking, and
as the first that an enemy with all of it loses."""
SURE = 0.9
"""The odds at which an agent asks for no more units."""
FAIR = 0.5
"""The odds of a battle below which the mediator orders no attack."""
FURTHEST = 3
"""Goals that an agent thinks of in one turn."""


class Bid(NamedTuple):
    """By territory `at`, for the units `wanted` to reach so many `goals`; the highest `worth` is the first in order."""

    worth: float
    at: int
    wanted: int
    goals: int


class Mars(Rival):
    """See the module."""

    def place(self, view: View, units: int) -> Mapping[int, int]:
        values = [_value(view, at) for at in range(len(view.owner))]
        placed: Counter[int] = Counter()
        left, attacks = units, view.attacks_left
        while bids := [
            bid
            for at in view.border()
            if at not in placed
            for goals in _ways(view, at, attacks)
            if (bid := _bid(view, values, at, goals, left)) is not None
        ]:
            best = max(bids)
            placed[best.at] += best.wanted
            left -= best.wanted
            attacks -= best.goals
        placed[next(iter(placed), _most_threatened(view))] += left
        return placed

    def strike(self, view: View) -> Strike | None:
        values = [_value(view, at) for at in range(len(view.owner))]
        best, found = 0.0, None
        for at in view.border():
            for goals in _ways(view, at, view.attacks_left):
                chances = _chances(view, goals, view.troops[at] - 1)
                worth = _worth(values, goals, chances)
                if chances[0] >= FAIR and worth > best:
                    best, found = worth, Strike(at, goals[0], view.troops[at] - 1)
        return found


def _value(view: View, at: int) -> float:
    """What a territory is worth to the seat."""
    friends = sum(view.owner[to] == view.seat for to in view.neighbours[at])
    worth = BASE + FRIEND * friends + ENEMY * (len(view.neighbours[at]) - friends)
    for members, bonus in zip(view.continents, view.bonuses, strict=True):
        if at in members:
            held = [view.owner[other] == view.seat for other in members if other != at]
            worth += bonus * (SHARE * sum(held) / len(members) + WHOLE * all(held))
            if view.owner[at] != view.seat and all(view.owner[other] == view.owner[at] for other in members):
                worth += bonus * BROKEN
    return worth


def _ways(view: View, at: int, attacks: int) -> Iterator[tuple[int, ...]]:
    """Ways from a territory through enemy land, of one goal or more."""
    ways: list[tuple[int, ...]] = [(enemy,) for enemy in view.enemies(at)] if attacks else []
    while ways:
        way = ways.pop()
        yield way
        if len(way) < min(FURTHEST, attacks):
            ways += [(*way, to) for to in view.enemies(way[-1]) if to not in way]


def _chances(view: View, goals: Sequence[int], units: int) -> list[float]:
    """How likely units that set out reach each goal of a way, with what is left on average where they won."""
    chances, sure, left = [], 1.0, float(units)
    for goal in goals:
        chance, left = view.battle(round(left), view.troops[goal])
        sure *= chance
        left -= 1
        chances.append(sure)
    return chances


def _worth(values: Sequence[float], goals: Sequence[int], chances: Sequence[float]) -> float:
    return sum(chance * values[goal] for chance, goal in zip(chances, goals, strict=True))


def _bid(view: View, values: Sequence[float], at: int, goals: Sequence[int], left: int) -> Bid | None:
    """None where all units that are `left` don't make the goals sure."""
    for wanted in range(left + 1):
        chances = _chances(view, goals, view.troops[at] - 1 + wanted)
        if chances[-1] >= SURE:
            return Bid(_worth(values, goals, chances), at, wanted, len(goals))
    return None


def _most_threatened(view: View) -> int:
    return max(view.border(), key=lambda at: sum(view.troops[to] for to in view.enemies(at)) / view.troops[at])


run(Mars("mars"))

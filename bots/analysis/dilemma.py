"""Memory-one strategies of the dilemma, read as users write them, and their scores against each other."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from machine.exact.memory_one import RESULTS, MemoryOne, Payoffs, memory_one, scores, strategies
from protocol.display import shown
from protocol.errors import UsageFault
from protocol.games.dilemma import MOST_PAYOFF

MOST_ROUNDS = 1000
"""A limit, as the fractions grow with every round."""
MOST_STRATEGIES = 20
LONGEST = 40
"""The greatest length of a probability in characters."""


def contest(
    names: Iterable[str], payoffs: Payoffs, *, noise: Fraction, go_on: Fraction, rounds: int | None
) -> dict[str, dict[str, Fraction]]:
    """Return the mean payoff a round of each strategy against each, itself included. No `names` means all known ones.

    Raises `UsageFault` for a text that is no strategy.
    """
    known = strategies(payoffs)
    chosen = {name: _read(name, known) for name in names} or known
    if len(chosen) > MOST_STRATEGIES:
        raise UsageFault(f"{len(chosen)} strategies: at most {MOST_STRATEGIES}")
    return {
        name: {
            other: scores(one, two, payoffs, noise=noise, go_on=go_on, rounds=rounds)[0]
            for other, two in chosen.items()
        }
        for name, one in chosen.items()
    }


def read_chance(what: str, text: str, most: str = "1") -> Fraction:
    """Return a probability given as a decimal or a fraction. Raises `UsageFault`."""
    try:
        chance = Fraction(text.strip()) if len(text) <= LONGEST and "e" not in text.lower() else Fraction(-1)
    except (ValueError, ZeroDivisionError):
        chance = Fraction(-1)
    if not 0 <= chance <= Fraction(most):
        raise UsageFault(f"{what} is {shown(text)}: a chance from 0 to {most}, like 0.05 or 1/20")
    return chance


def read_payoffs(text: str) -> Payoffs:
    """Return the payoffs of a symmetric round, from R,S,T,P. Raises `UsageFault`."""
    parts = [part.strip() for part in text.split(",")]
    try:
        numbers = [int(part) for part in parts if len(part) < LONGEST]
    except ValueError:
        numbers = []
    if len(parts) != len(RESULTS) or len(numbers) != len(parts) or max(map(abs, numbers)) > MOST_PAYOFF:
        form = f"four whole numbers up to {MOST_PAYOFF}, of CC, CD, DC and DD, like 3,0,5,1"
        raise UsageFault(f"--payoffs is {shown(text)}: {form}")
    reward, sucker, temptation, punishment = numbers
    return ((reward, reward), (sucker, temptation)), ((temptation, sucker), (punishment, punishment))


def _read(text: str, known: dict[str, MemoryOne]) -> MemoryOne:
    if text in known:
        return known[text]
    parts = text.split(",")
    if len(parts) != 1 + len(RESULTS):
        form = "or five chances to cooperate with commas, at first and after CC, CD, DC, DD"
        raise UsageFault(f"there is no strategy {shown(text)}: {', '.join(known)}, {form}")
    return memory_one(*(read_chance(f"a chance of {shown(text)}", part) for part in parts))

"""Scores of memory-one strategies of the dilemma against each other. Users write the strategies as texts."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from games.dilemma.memory_one import ROUND_RESULTS, MemoryOne, Payoffs, memory_one, scores, strategies
from games.dilemma.rules import MAX_PAYOFF
from protocol.display import short_repr
from protocol.errors import UsageFault

MAX_ROUNDS = 1000
"""The maximum number of rounds of a match that is scored exactly: the fractions grow with every round."""
MAX_STRATEGIES = 20
"""The maximum number of strategies that are scored against each other."""
MAX_NUMBER_LENGTH = 40
"""The maximum number of characters of a probability or payoff that a user gives."""


def score_strategies(
    names: Iterable[str], payoffs: Payoffs, *, noise: Fraction, go_on: Fraction, rounds: int | None
) -> dict[str, dict[str, Fraction]]:
    """Return the mean payoff per round of each strategy against every one of them, itself included. `names` are the
    strategies as users write them; without names, take all that have a name.

    Raise `UsageFault` if a text is not a strategy.
    """
    known = strategies(payoffs)
    chosen = {name: _read(name, known) for name in names} or known
    if len(chosen) > MAX_STRATEGIES:
        raise UsageFault(f"{len(chosen)} strategies: at most {MAX_STRATEGIES}")
    return {
        name: {
            other: scores(one, two, payoffs, noise=noise, go_on=go_on, rounds=rounds)[0]
            for other, two in chosen.items()
        }
        for name, one in chosen.items()
    }


def read_probability(what: str, text: str, max_probability: str = "1") -> Fraction:
    """Return the probability that a text gives as a decimal or a fraction. Raise `UsageFault`, which calls the value
    `what`, for any other text.
    """
    try:
        chance = Fraction(text.strip()) if len(text) <= MAX_NUMBER_LENGTH and "e" not in text.lower() else Fraction(-1)
    except (ValueError, ZeroDivisionError):
        chance = Fraction(-1)
    if not 0 <= chance <= Fraction(max_probability):
        raise UsageFault(
            f"{what} is {short_repr(text)}: it must be a chance from 0 to {max_probability}, like 0.05 or 1/20"
        )
    return chance


def read_payoffs(text: str) -> Payoffs:
    """Return the payoffs of a symmetric round from the text R,S,T,P. Raise `UsageFault` if it has another form."""
    parts = [part.strip() for part in text.split(",")]
    try:
        numbers = [int(part) for part in parts if len(part) < MAX_NUMBER_LENGTH]
    except ValueError:
        numbers = []
    if len(parts) != len(ROUND_RESULTS) or len(numbers) != len(parts) or max(map(abs, numbers)) > MAX_PAYOFF:
        form = f"give four whole numbers up to {MAX_PAYOFF}, of CC, CD, DC and DD, like 3,0,5,1"
        raise UsageFault(f"--payoffs is {short_repr(text)}: {form}")
    reward, sucker, temptation, punishment = numbers
    return ((reward, reward), (sucker, temptation)), ((temptation, sucker), (punishment, punishment))


def _read(text: str, known: dict[str, MemoryOne]) -> MemoryOne:
    if text in known:
        return known[text]
    parts = text.split(",")
    if len(parts) != 1 + len(ROUND_RESULTS):
        form = "or five chances to cooperate with commas, at first and after CC, CD, DC, DD"
        raise UsageFault(f"there is no strategy {short_repr(text)}: {', '.join(known)}, {form}")
    return memory_one(*(read_probability(f"a chance of {short_repr(text)}", part) for part in parts))

"""The chance events of a `TurnGame`: their weighted outcomes, of which the dice draw one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from protocol.dice import Dice
from protocol.display import short_repr
from protocol.errors import RulesError

MAX_WEIGHT_SUM = 65536
"""Maximum of the sum of the weights of a chance event's outcomes: the dice draw a number below it."""


def check_chances(outcomes: Sequence[tuple[int, Any]]) -> Sequence[tuple[int, Any]]:
    """Return the outcomes of a chance event. Raise `RulesError` if one is not a pair of a weight and a state."""
    if not outcomes:
        raise RulesError("chances returns no outcome: it needs one at least", "chances")
    for outcome in outcomes:
        is_pair = isinstance(outcome, (tuple, list)) and len(outcome) == 2
        if not is_pair or type(outcome[0]) is not int or outcome[0] < 1:
            raise RulesError(
                f"chances returns the outcome {short_repr(outcome)}: each is a pair of a weight, a whole number "
                "from 1, and the state after it",
                "chances",
            )
    total = sum(weight for weight, _ in outcomes)
    if total > MAX_WEIGHT_SUM:
        raise RulesError(f"the weights of chances sum to {total:,}: at most {MAX_WEIGHT_SUM:,}", "chances")
    return outcomes


def draw_number(dice: Dice, weights: Iterable[int]) -> int:
    """Return the number of the outcome that the dice draw, from the weights of the outcomes."""
    sums = list(accumulate(weights))
    drawn = dice.choice("chance", sums[-1])
    return next(number for number, summed in enumerate(sums) if drawn < summed)


def draw_outcome(dice: Dice, move: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the move of a chance event as the dice make it. `move` says among which outcomes they draw: `of` is their
    number if all are equally likely, else the list of their weights. Return None if `move` has another form.
    """
    among = move.get("of")
    if move.keys() != {"outcome", "of"}:
        return None
    weights = [1] * among if type(among) is int and 0 < among <= MAX_WEIGHT_SUM else among
    if not isinstance(weights, list) or not all(type(weight) is int and weight > 0 for weight in weights):
        return None
    if not 0 < sum(weights) <= MAX_WEIGHT_SUM:
        return None
    return {"outcome": draw_number(dice, weights), "of": among}

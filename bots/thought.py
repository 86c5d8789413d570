"""The settings and the purse that the reference bots that search have in common."""

from __future__ import annotations

from bots.bot import Turn
from bots.evaluation import evaluation, names_of
from bots.search.base import Evaluate, Limit
from protocol.errors import UsageFault

EVAL = "the evaluation: lines, parity or none; a game without it uses its own"
DEPTH = "plies to look ahead, 1 to 64; then the clock is not looked at"
NODES = "positions to visit a move instead of time, 1 or more: the same moves on every machine"

MOST_SECONDS = 0.1
"""Longer thought wins nothing in the small games, and tournaments stay quick."""


def read_number(bot: str, key: str, value: object, most: int) -> int | None:
    """A setting that is an integer from 1 to `most`, as text or number; None if it was not given.

    Raises `UsageFault`.
    """
    if value is None:
        return None
    try:
        number = int(value) if isinstance(value, (int, str)) else 0
    except ValueError:
        number = 0
    if not 1 <= number <= most:
        raise UsageFault(f"{bot}: {key} is {str(value)[:40]!r}: an integer from 1 to {most}")
    return number


def purse(turn: Turn, *, nodes: int | None, bounded: bool = False) -> Limit:
    """What this move may cost: `nodes` if given, nothing to watch where it is `bounded` otherwise, else a twentieth of
    the clock and half the increment, at most `MOST_SECONDS` (counted from when the turn came in).
    """
    if nodes is not None:
        return Limit(nodes=nodes)
    if bounded:
        return Limit()
    bank = turn.clock_ms[turn.seat] / 1000
    seconds = min(MOST_SECONDS, bank / 20 + turn.increment_ms / 2000, bank / 2)
    return Limit(deadline=turn.received + seconds)


def evaluation_for(game: str, name: str | None) -> Evaluate:
    """The evaluation called `name` if the game has it, else the game's own: a bot may play several games."""
    return evaluation(game, name if name in names_of(game) else None)

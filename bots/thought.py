"""What the reference bots that search have in common: their settings, what a move may cost, their evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bots.bot import Bot, Choice, Turn
from bots.evaluation import check_name, evaluation, names_of
from bots.search.base import Evaluate, Found, Limit
from protocol.errors import UsageFault

EVAL = "the evaluation: lines, parity or none; a game without it uses its own"

MOST_SECONDS = 0.1
"""Longer thought wins nothing in the small games, and tournaments stay quick."""


class SearchingBot(Bot):
    """A bot that plays what its `search` finds. Settings come as text or numbers; raises `UsageFault` for bad ones."""

    settings: ClassVar[Mapping[str, str]] = {
        "depth": "plies to look ahead, 1 to 64; then the clock is not looked at",
        "eval": EVAL,
        "nodes": "positions to visit a move instead of time, 1 or more: the same moves on every machine",
    }

    def __init__(
        self,
        name: str,
        version: str = "",
        *,
        depth: int | str | None = None,
        eval: str | None = None,  # noqa: A002
        nodes: int | str | None = None,
    ) -> None:
        super().__init__(name, version)
        kind = type(self).__name__.lower()
        self.depth = read_number(kind, "depth", depth, 64)
        self.nodes = read_number(kind, "nodes", nodes, 10**9)
        self._evaluation = None if eval is None else check_name(eval)

    def search(self, turn: Turn, limit: Limit, evaluate: Evaluate) -> Found[Any]:
        """The best move within the limit."""
        raise NotImplementedError(f"{type(self).__name__} needs a search(self, turn, limit, evaluate)")

    def choose(self, turn: Turn) -> Choice:
        limit = purse(turn, nodes=self.nodes, bounded=self.depth is not None)
        found = self.search(turn, limit, evaluation_for(turn.rules.name, self._evaluation))
        assert found.move is not None
        move = turn.rules.encode_move(found.move)
        return Choice(move, value=found.value, depth=found.depth, nodes=found.nodes)


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

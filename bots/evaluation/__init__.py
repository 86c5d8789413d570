"""Evaluations of unfinished states, one file a game; here they are found by name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from bots.evaluation.base import Evaluate, no_opinion
from protocol.errors import UsageFault

_WHERE: Mapping[str, Mapping[str, str]] = {
    "nim": {"parity": "bots.evaluation.heaps:nim_parity"},
    "grundy": {"parity": "bots.evaluation.heaps:grundy_parity"},
    "tictactoe": {"lines": "bots.evaluation.tictactoe:lines_share"},
    "risk-duel": {"features": "bots.evaluation.risk:features", "unam": "bots.evaluation.risk:unam"},
    "risk-campaign": {"features": "bots.evaluation.risk:features"},
}
"""By game, the best first: it is the default."""
NAMES = tuple(dict.fromkeys([*(name for names in _WHERE.values() for name in names), "none"]))
"""The evaluations that some game has."""


def names_of(game: str) -> tuple[str, ...]:
    """The evaluations that `game` has, its default first."""
    return (*_WHERE.get(game, {}), "none")


def evaluation(game: str, name: str | None = None) -> Evaluate:
    """The evaluation of `game` called `name`: `none` calls every state a draw, None is the game's default.

    Raises `UsageFault` for a name that the game does not have.
    """
    names = _WHERE.get(game, {})
    if name is None:
        name = names_of(game)[0]
    if name == "none":
        return no_opinion
    if name not in names:
        raise UsageFault(f"{game} has no evaluation {name[:40]!r}: one of {', '.join(names_of(game))}")
    module, _, attribute = names[name].partition(":")
    found: Evaluate = getattr(importlib.import_module(module), attribute)
    return found

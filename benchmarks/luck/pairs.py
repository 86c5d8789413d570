"""Pairs of games between two sets of weights, in process: one deal from both seats, own dice for each game."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bots.search.kernels import settings_of
from bots.tuning.genetic import Gene
from bots.tuning.selfplay import Seats, Setup, play, ready
from protocol.games.base import Game


class Pair(NamedTuple):
    """Two games of a start: `first` and `second` sit on seats 0 and 1, then the other way round.

    A search is `depth` plies deep or `nodes` large, one of them None.
    """

    game: str
    config: dict[str, Any]
    first: Gene
    second: Gene
    start: str
    depth: int | None = None
    nodes: int | None = None


class Walked(NamedTuple):
    """A game that was played: its rules, seat 0's score, and every move with the state before and after it."""

    rules: Game[Any, Any]
    score: float
    plies: Sequence[tuple[Any, Any, Any]]


def play_pair(pair: Pair) -> Iterator[Walked]:
    """Both games."""
    setup = Setup(pair.game, settings_of(pair.game)(), json.dumps(pair.config), pair.depth, pair.nodes)
    rules = ready(setup)[0]
    for order, weights in enumerate([(pair.first, pair.second), (pair.second, pair.first)]):
        played = play(setup, Seats(*weights, pair.start, dice=f"{pair.start}/{order}"))
        yield Walked(rules, played.score, list(zip(played.states, played.moves, played.states[1:], strict=False)))

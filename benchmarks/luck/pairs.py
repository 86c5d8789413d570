"""Pairs of games between two sets of evaluation weights: the same deal from both seats, with separate dice."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bots.search.kernels import settings_class_of
from bots.tuning.genetic import Gene
from bots.tuning.selfplay import Setup, TuningGame, play, rules_and_kernel
from protocol.games.base import Game


class GamePair(NamedTuple):
    """Two games from one start position between the sets of weights `first` and `second`. In the second game, their
    seats are swapped.

    The search is limited either to `depth` plies or to `nodes` nodes; the unused limit is None.
    """

    game: str
    config: dict[str, Any]
    first: Gene
    second: Gene
    start: str
    depth: int | None = None
    nodes: int | None = None


class PlayedGame(NamedTuple):
    """A played game: its rules, the score of seat 0, and its `plies`. Each ply is a tuple: the state before a move, the
    move, and the state after it.
    """

    rules: Game[Any, Any]
    score: float
    plies: Sequence[tuple[Any, Any, Any]]


def play_pair(pair: GamePair) -> Iterator[PlayedGame]:
    setup = Setup(pair.game, settings_class_of(pair.game)(), json.dumps(pair.config), pair.depth, pair.nodes)
    rules = rules_and_kernel(setup)[0]
    for order, weights in enumerate([(pair.first, pair.second), (pair.second, pair.first)]):
        played = play(setup, TuningGame(*weights, pair.start, dice=f"{pair.start}/{order}"))
        yield PlayedGame(rules, played.score, list(zip(played.states, played.moves, played.states[1:], strict=False)))

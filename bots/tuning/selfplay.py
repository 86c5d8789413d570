"""Games between two sets of weights, played in this process with the compiled search: the work of a tuning.

Equal setups, weights and starts give equal games on every machine. The module uses no files, processes or clocks.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from msgspec.structs import asdict

from bots.client.bot import seeded
from bots.client.settings import read_number, read_one
from bots.evaluation import names_of, weights_of
from bots.search.base import DEEPEST, Limit
from bots.search.kernels import Kernel, SearchSettings, choices_of, kernel_for
from bots.tuning.genetic import Gene
from bots.tuning.weights import WEIGHED
from measuring.luck import luck_along
from measuring.value_function import ValueFunction
from measuring.value_registry import value_of
from protocol import VERSION
from protocol.dice import Dice
from protocol.display import shown
from protocol.errors import ArenaFault, BadConfig, UsageFault
from protocol.games import game_class
from protocol.games.base import Game
from referee.result import points_of

FEATURES = "features"
KEPT = 4
"""Setups for which a thread caches rules and search."""
SCORE_DECIMALS = 4
"""Decimals of a luck-adjusted score. The rounding is a hundredth of their spread."""


class Setup(NamedTuple):
    """The common parameters of a tuning's games: the game, and how a move is searched.

    `settings` are an instance of `settings_of` the game. `config` is the game's config in JSON. One of `depth` and
    `nodes` is given; with `depth` None only `nodes` limits the search. `evaluation` is the one whose weights are tuned.
    """

    game: str
    settings: SearchSettings
    config: str = "{}"
    depth: int | None = None
    nodes: int | None = None
    evaluation: str = FEATURES

    @property
    def search(self) -> dict[str, Any]:
        """The parameters of the search by the keys of `--set`. Without `eval` it uses the features."""
        search = {"depth": self.depth, "nodes": self.nodes, **asdict(self.settings)}
        return search if self.evaluation == FEATURES else {**search, "eval": self.evaluation}

    @property
    def usual(self) -> Gene:
        """The default weights of the evaluation."""
        return weights_of(self.game, self.evaluation)


class Seats(NamedTuple):
    """A game to play: the weights of seats 0 and 1, and the seed of deal, dice and random drafts.

    If `dice` is given, it seeds dice and drafts instead, so that games of one deal can have different dice.
    """

    first: Gene
    second: Gene
    start: str
    dice: str | None = None


class PlayedGame(NamedTuple):
    """A finished game: its moves as objects of the rules, all states from first to last, and the points of seat 0."""

    moves: tuple[Any, ...]
    states: tuple[Any, ...]
    score: float


class Freed(NamedTuple):
    """The points of seat 0 in a game, and the part of them that is luck."""

    score: float
    luck: float


def check(setup: Setup) -> Game[Any, Any]:
    """Return the rules of the games. Raises `UsageFault` for a setup that can't be played."""
    game = setup.game
    if game not in WEIGHED:
        raise UsageFault(f"{shown(game)} has no weights to tune: one of {', '.join(WEIGHED)}")
    read_number(game, "depth", setup.depth, 64)
    read_number(game, "nodes", setup.nodes, 10**9)
    if setup.depth is None and setup.nodes is None:
        raise UsageFault(f"{game}: a search has no end without depth (1 to 64) or nodes (1 to {10**9:,})")
    for key, names in choices_of(type(setup.settings)).items():
        read_one(game, key, getattr(setup.settings, key), names)
    read_one(game, "eval", setup.evaluation, [name for name in names_of(game) if weights_of(game, name)])
    rules = _rules(setup)
    if rules.seats != 2:
        raise UsageFault(f"{game}: players is {rules.seats}: 2, as weights are tuned one against one")
    return rules


def play_all(setup: Setup, games: Sequence[Seats], version: str) -> list[float]:
    """Return the score of every game. Raises `ArenaFault` for another version, `UsageFault` as `check` does."""
    _check_version(version)
    return [play(setup, seats).score for seats in games]


def play_freed(
    setup: Setup, games: Sequence[Seats], version: str, value: str, second: Setup | None = None
) -> list[Freed]:
    """Play as `play_all` does, and measure the luck of every game by the value function of this name.

    This may solve an exact table first. Games of one start need different dice: otherwise they come out alike and make
    the result look too certain.
    """
    _check_version(version)
    freed = []
    for seats in games:
        game = play(setup, seats, second)
        plies = zip(game.states, game.moves, game.states[1:], strict=False)
        luck = luck_along(ready(setup)[0], value_for(setup, value), plies)
        freed.append(Freed(game.score, luck.total[0]))
    return freed


def play_adjusted(setup: Setup, games: Sequence[Seats], version: str, value: str) -> list[float]:
    """Return the score of every game minus its luck, rounded to `SCORE_DECIMALS`, as a tuning stores it."""
    return [round(game.score - game.luck, SCORE_DECIMALS) for game in play_freed(setup, games, version, value)]


def _check_version(version: str) -> None:
    if version != VERSION:
        raise ArenaFault(f"a worker has bot-arena {VERSION}, the tuning {version}: all of it needs the same version")


def play(setup: Setup, seats: Seats, second: Setup | None = None) -> PlayedGame:
    """Play one game. Seat 1 may have its own search, that of `second`. Raises `UsageFault` as `check` does."""
    rules = ready(setup)[0]
    setups = setup, second or setup
    kernels = [ready(each)[1] for each in setups]
    deal = hashlib.sha256(seats.start.encode()).digest()
    own = seats.start if seats.dice is None else seats.dice
    key = hashlib.sha256(own.encode()).digest()
    weights = seats.first, seats.second
    state, moves = rules.initial(Dice(deal, 0))[0], []
    states = [state]
    while (seat := rules.to_move(state)) is not None:
        ply = rules.ply(state)
        how = setups[seat]
        found = kernels[seat].search(
            state,
            depth=how.depth or DEEPEST,
            algorithm="alphabeta",
            evaluation=how.evaluation,
            weights=weights[seat],
            settings=how.settings,
            # A generator is made only if it is used, as making it takes a tenth of the time of a quick search.
            below=seeded(own, str(seat), ply).randrange if how.settings.draws else None,
            limit=Limit(nodes=how.nodes),
        )
        moves.append(found.move)
        state = rules.apply(state, found.move, Dice(key, ply))[0]
        states.append(state)
    return PlayedGame(tuple(moves), tuple(states), points_of(rules.ranks(state))[0])


def _rules(setup: Setup) -> Game[Any, Any]:
    """Return the rules of the setup's game. Raises `UsageFault` for a config that the game does not have."""
    try:
        config = json.loads(setup.config)
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        raise UsageFault(f"{setup.game}: config is {shown(setup.config)}: a map in JSON")
    try:
        return game_class(setup.game)(config)
    except BadConfig as exc:
        raise UsageFault(str(exc)) from exc


def ready(setup: Setup) -> tuple[Game[Any, Any], Kernel]:
    """Return the rules and the search, cached for the last few setups. Each thread has its own, as a search is not
    thread-safe.

    Raises `UsageFault` as `check` does.
    """
    return _kept.last(setup)


@lru_cache(KEPT)
def value_for(setup: Setup, name: str) -> ValueFunction:
    """Return a value function of the setup's game, cached for the last few. Raises `UsageFault` if there is none."""
    return value_of(ready(setup)[0], name)


def _make_ready(setup: Setup) -> tuple[Game[Any, Any], Kernel]:
    rules = check(setup)
    kernel = kernel_for(rules)
    assert kernel is not None
    return rules, kernel


class _Kept(threading.local):
    def __init__(self) -> None:
        self.last = lru_cache(KEPT)(_make_ready)


_kept = _Kept()

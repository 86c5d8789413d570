"""Games between two sets of weights, played in this process with the compiled search: the work of a tuning.

Equal setups, weights and seeds give equal games on every machine. The module uses no files, processes or clocks.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from msgspec.structs import asdict

from bots.client.bot import make_turn_rng
from bots.client.settings import read_choice, read_integer
from bots.evaluation import default_weights, names_of
from bots.search.base import DEFAULT_MAX_DEPTH, SearchLimit
from bots.search.kernels import Kernel, SearchSettings, choices_of, kernel_for
from bots.tuning.genetic import Gene
from bots.tuning.weights import weighted_games
from measuring.luck import luck_along
from measuring.value_function import ValueFunction
from measuring.value_registry import load_value
from protocol import VERSION
from protocol.dice import Dice
from protocol.display import short_repr
from protocol.errors import ArenaFault, BadConfig, UsageFault
from protocol.games import game_class
from protocol.games.base import Game
from referee.result import points_from_ranks

FEATURES_EVALUATION = "features"
"""The name of the evaluation by features, which a setup uses by default."""
CACHED_SETUPS = 4
"""The number of setups for which a thread caches rules and search."""
SCORE_DECIMALS = 4
"""The number of decimal places of a luck-adjusted score. The rounding error is about a hundredth of the scores'
spread."""


class Setup(NamedTuple):
    """The common parameters of a tuning's games: the game, and how a move is searched.

    - `config`: the game's config in JSON.
    - `depth`, `nodes`: the limits of the search; at least one of them is given.
    - `evaluation`: the name of the evaluation whose weights are tuned.
    - `settings`: an instance of the game's settings class (see `settings_class_of`).
    """

    game: str
    settings: SearchSettings
    config: str = "{}"
    depth: int | None = None
    nodes: int | None = None
    evaluation: str = FEATURES_EVALUATION

    @property
    def search(self) -> dict[str, Any]:
        """The parameters of the search, by their keys in `--set`. A missing `eval` means `features`."""
        search = {"depth": self.depth, "nodes": self.nodes, **asdict(self.settings)}
        return search if self.evaluation == FEATURES_EVALUATION else {**search, "eval": self.evaluation}

    @property
    def default_weights(self) -> Gene:
        """The default weights of the setup's evaluation."""
        return default_weights(self.game, self.evaluation)


class TuningGame(NamedTuple):
    """A game to play: the weights with which seats 0 and 1 play, and `start`, the seed of deal, dice and random drafts.
    If `dice` is given, it seeds dice and drafts instead, so that games with the same deal can have different dice.
    """

    first: Gene
    second: Gene
    start: str
    dice: str | None = None


class FinishedGame(NamedTuple):
    """A finished game: its moves as objects of the rules, all states from first to last, and the points of seat 0."""

    moves: tuple[Any, ...]
    states: tuple[Any, ...]
    score: float


class ScoreAndLuck(NamedTuple):
    """The points of seat 0 in a game, and the part of them that is luck."""

    score: float
    luck: float


def check_setup(setup: Setup) -> Game[Any, Any]:
    """Return the rules of a setup's games. Raise `UsageFault` if the setup can't be played."""
    game = setup.game
    if game not in weighted_games():
        raise UsageFault(f"{short_repr(game)} has no weights to tune: one of {', '.join(weighted_games())}")
    read_integer(game, "depth", setup.depth, 64)
    read_integer(game, "nodes", setup.nodes, 10**9)
    if setup.depth is None and setup.nodes is None:
        raise UsageFault(f"{game}: the search needs depth (1 to 64) or nodes (1 to {10**9:,}), else it never ends")
    for key, names in choices_of(type(setup.settings)).items():
        read_choice(game, key, getattr(setup.settings, key), names)
    read_choice(game, "eval", setup.evaluation, [name for name in names_of(game) if default_weights(game, name)])
    rules = _load_rules(setup)
    if rules.seats != 2:
        raise UsageFault(f"{game}: players is {rules.seats}: it must be 2, because weights are tuned one against one")
    return rules


def play_all(setup: Setup, games: Sequence[TuningGame], version: str) -> list[float]:
    """Play games and return the score of each. Raise `ArenaFault` if this program has another version than `version`.
    Raise `UsageFault` if `check_setup` would raise it.
    """
    _check_version(version)
    return [play(setup, seats).score for seats in games]


def play_with_luck(
    setup: Setup, games: Sequence[TuningGame], version: str, value: str, second_setup: Setup | None = None
) -> list[ScoreAndLuck]:
    """Play as `play_all` does, and measure the luck of every game by the value function named `value`.

    The value function may need an exact table, which is solved first. The caller must give games with the same start
    position different dice: with equal dice their results would be alike, and their mean would look more certain than
    it is.
    """
    _check_version(version)
    freed = []
    for seats in games:
        game = play(setup, seats, second_setup)
        plies = zip(game.states, game.moves, game.states[1:], strict=False)
        luck = luck_along(rules_and_kernel(setup)[0], load_value_function(setup, value), plies)
        freed.append(ScoreAndLuck(game.score, luck.total[0]))
    return freed


def play_adjusted(setup: Setup, games: Sequence[TuningGame], version: str, value: str) -> list[float]:
    """Return the score of every game minus its luck, rounded to `SCORE_DECIMALS`, as a tuning stores it."""
    return [round(game.score - game.luck, SCORE_DECIMALS) for game in play_with_luck(setup, games, version, value)]


def _check_version(version: str) -> None:
    if version != VERSION:
        raise ArenaFault(
            f"a worker has bot-arena {VERSION}, but the tuning has {version}: use the same version everywhere"
        )


def play(setup: Setup, tuning_game: TuningGame, second_setup: Setup | None = None) -> FinishedGame:
    """Play one game. With `second_setup`, seat 1 has a search of its own. Raise the `UsageFault` of `check_setup`."""
    rules = rules_and_kernel(setup)[0]
    setups = setup, second_setup or setup
    kernels = [rules_and_kernel(each)[1] for each in setups]
    deal = hashlib.sha256(tuning_game.start.encode()).digest()
    own = tuning_game.start if tuning_game.dice is None else tuning_game.dice
    key = hashlib.sha256(own.encode()).digest()
    weights = tuning_game.first, tuning_game.second
    state, moves = rules.initial(Dice(deal, 0))[0], []
    states = [state]
    while (seat := rules.to_move(state)) is not None:
        ply = rules.ply(state)
        how = setups[seat]
        found = kernels[seat].search(
            state,
            depth=how.depth or DEFAULT_MAX_DEPTH,
            algorithm="alphabeta",
            evaluation=how.evaluation,
            weights=weights[seat],
            settings=how.settings,
            # A generator is made only if it is used, as making it takes a tenth of the time of a quick search.
            below=make_turn_rng(own, str(seat), ply).randrange if how.settings.needs_rng else None,
            limit=SearchLimit(nodes=how.nodes),
        )
        moves.append(found.move)
        state = rules.apply(state, found.move, Dice(key, ply))[0]
        states.append(state)
    return FinishedGame(tuple(moves), tuple(states), points_from_ranks(rules.ranks(state))[0])


def _load_rules(setup: Setup) -> Game[Any, Any]:
    try:
        config = json.loads(setup.config)
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        raise UsageFault(f"{setup.game}: config is {short_repr(setup.config)}: it must be a map in JSON")
    try:
        return game_class(setup.game)(config)
    except BadConfig as exc:
        raise UsageFault(str(exc)) from exc


def rules_and_kernel(setup: Setup) -> tuple[Game[Any, Any], Kernel]:
    """Return the rules and the compiled search of a setup, from a cache of the last few setups. Each thread has its own
    cache, because a compiled search is not thread-safe. Raise `UsageFault` if `check_setup` would raise it.
    """
    return _thread_cache.last(setup)


@lru_cache(CACHED_SETUPS)
def load_value_function(setup: Setup, name: str) -> ValueFunction:
    """Return the value function `name` of the setup's game, cached. Raise `UsageFault` if there is none."""
    return load_value(rules_and_kernel(setup)[0], name)


def _load_rules_and_kernel(setup: Setup) -> tuple[Game[Any, Any], Kernel]:
    rules = check_setup(setup)
    kernel = kernel_for(rules)
    assert kernel is not None
    return rules, kernel


class _ThreadCache(threading.local):
    def __init__(self) -> None:
        self.last = lru_cache(CACHED_SETUPS)(_load_rules_and_kernel)


_thread_cache = _ThreadCache()

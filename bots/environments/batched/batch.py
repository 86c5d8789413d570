"""The interface of games played in a batch, each with its own dice."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property
from pkgutil import resolve_name
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from bots.environments.encodings import Encoding, encoding_of
from machine.compiled import entry
from machine.generator import SEED_COUNT, draw, seed_state
from measuring.value_function import NoLuck
from measuring.value_registry import value_names
from protocol.dice import SEED_BYTES, Dice
from protocol.display import short_repr
from protocol.errors import UsageFault
from protocol.games import game_part
from protocol.games.base import Game

S = TypeVar("S")

_SINGLE_GAMES_BATCH = "bots.environments.batched.single_games:SingleGamesBatch"
"""The import path of the batch of games that have no rules for batches."""
Numbers = NDArray[np.int64]
Vectors = NDArray[np.float32]
"""The vectors that one seat of each game sees: an array of games × numbers."""
Masks = NDArray[np.int8]
"""The action masks of one seat of each game: an array of games × actions."""


ThrowCounts = Counter[tuple[int, int, int]]
"""The number of throws of each kind, by the attacker's dice, the defender's dice, and the attacker's loss."""


class Batch(ABC, Generic[S]):
    """A batch of `count` games under one config. Vectors, masks and action numbers are those of the game's `Encoding`.

    `luck` names the value function by which the luck of dice is measured and subtracted from rewards.
    """

    luck_value_functions: ClassVar[tuple[str, ...]] = (NoLuck.name,)
    """The names, in `measuring.value_registry`, of the value functions by which a batch of this game can measure
    luck."""

    def __init__(self, rules: Game[S, Any], count: int, luck: str = NoLuck.name) -> None:
        self.rules = rules
        self.count = count
        self.luck = luck
        self.encoding: Encoding[S, Any] = encoding_of(rules)
        self._generators: Numbers = np.ones((count, 2), np.int64)

        # `turn`, `over` and `generators` may be views of an array of states. They are not stored as attributes:
        # numpy copies and pickles a view as an array of its own, so a copied batch would read stale data.

    @property
    @abstractmethod
    def turn(self) -> Numbers:
        """The seat to move, for each game. The number has no meaning for a game that is over."""

    @property
    @abstractmethod
    def over(self) -> Numbers:
        """An array with 1 for each game that is over and 0 for each unfinished game."""

    @property
    def generators(self) -> Numbers:
        """The state of the random generator that throws a game's dice, for each game."""
        return self._generators

    def seed(self, seeds: Iterable[int]) -> None:
        """Set the state of each game's dice by a seed of its own."""
        self.generators[:] = [seed_state(seed % SEED_COUNT) for seed in seeds]

    @abstractmethod
    def start_games(self, games: Numbers) -> None:
        """Start these games from the beginning. If the rules deal at random, each game deals by its own dice."""

    @abstractmethod
    def position(self, game: int) -> S:
        """Return the position of a game as an object of the rules."""

    @abstractmethod
    def observe(self, games: Numbers, seats: Numbers, vectors: Vectors, masks: Masks) -> None:
        """Write what one seat of each of these games sees to `vectors`, and the seat's action mask to `masks`.

        A mask is all 0 unless the seat is to move.
        """

    def step(self, games: Numbers, actions: Numbers, rewards: NDArray[np.float64], ended: NDArray[np.int8]) -> int:
        """Play an action in each of these games, which must be unfinished.

        `rewards` and `ended` are arrays by game and seat, over all games. A step adds to `rewards`, and sets `ended` to
        1 for a seat whose rank is settled. Return −1, or the index in `games` of the first illegal action; then nothing
        has changed.
        """
        return int(self._step(games, np.ascontiguousarray(actions, np.int64), rewards, ended))

    @abstractmethod
    def _step(self, games: Numbers, actions: Numbers, rewards: NDArray[np.float64], ended: NDArray[np.int8]) -> int: ...

    def reference_dice(self, position: S, move: Any, generator: Any, throw_counts: ThrowCounts) -> Dice:
        """Return dice with which the reference rules decide `move` as this batch does. The dice draw from the game's
        random generator, `generator`, and count each throw in `throw_counts`. A game without dice need not override
        this method.
        """
        return Dice(bytes(SEED_BYTES), 0)


class ArrayBatch(Batch[S]):
    """A batch that holds positions in arrays of numbers."""

    def start_games(self, games: Numbers) -> None:
        if self._initial_state is not None:
            self._set_states(games, self._initial_state)
            return
        for game in games:
            key = draw_numbers(self.generators, np.full(SEED_BYTES, game), 256).astype(np.uint8).tobytes()
            self.set_position(np.array([game]), self.rules.initial(Dice(key, 0))[0])

    @cached_property
    def _initial_state(self) -> Numbers | None:
        """The initial state of every game as `_flatten` returns it; None if games begin with a random deal."""
        first, deal = self.rules.initial(Dice(bytes(SEED_BYTES), 0))
        return self._flatten(first) if deal is None else None

    def set_position(self, games: Numbers, position: S) -> None:
        """Set each of the games with the indices `games` to `position`."""
        self._set_states(games, self._flatten(position))

    @abstractmethod
    def _flatten(self, position: S) -> Numbers:
        """Return a position in the flat form that `_set_states` takes."""

    @abstractmethod
    def _set_states(self, games: Numbers, flat: Numbers) -> None: ...


class RowBatch(ArrayBatch[S]):
    """A batch that holds its games in one array: a row of `width` numbers is the state of a game."""

    columns: ClassVar[tuple[int, int]]
    """The indices of two numbers in a row: the seat to move, and whether the game is over."""

    def __init__(self, rules: Game[S, Any], count: int, luck: str, *, width: int) -> None:
        super().__init__(rules, count, luck)
        self._states = np.zeros((count, width), np.int64)

    @property
    def turn(self) -> Numbers:
        return self._states[:, self.columns[0]]

    @property
    def over(self) -> Numbers:
        return self._states[:, self.columns[1]]

    def _set_states(self, games: Numbers, flat: Numbers) -> None:
        self._states[games] = flat


@entry
def _draw_numbers(generators: Any, games: Any, below: int, drawn: Any) -> None:
    for i in range(len(games)):
        drawn[i] = draw(generators[games[i]]) % below


def draw_numbers(generators: Numbers, games: Numbers, below: int) -> Numbers:
    """Return a random number from 0 to `below` − 1 for each of these games, drawn by the game's own dice."""
    drawn = np.empty(len(games), np.int64)
    _draw_numbers(generators, games, below, drawn)
    return drawn


def make_batch(rules: Game[Any, Any], count: int, luck: str | None) -> Batch[Any]:
    """Return a batch of `count` games by these rules; `luck` None chooses the best value function. A game without rules
    for batches is played as that many single games, which is slower.

    Raise `UsageFault` if the game has no encoding, or the batch does not have the value function.
    """
    found: type[Batch[Any]] | None = game_part(rules.name, "batch")
    if found is None:
        single: Callable[..., Batch[Any]] = resolve_name(_SINGLE_GAMES_BATCH)
        return single(rules, count, luck)
    offered = [name for name in value_names(rules) if name in found.luck_value_functions]
    if luck is not None and luck not in offered:
        raise UsageFault(
            f"{rules.name} in batches has no value function {short_repr(luck)}: it has {', '.join(offered)}"
        )
    return found(rules, count, offered[0] if luck is None else luck)

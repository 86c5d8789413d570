"""Many games at once as one environment, for learners that play all seats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from bots.environments.batched.batch import Masks, Numbers, Vectors, make_batch
from bots.environments.copying import DeepCopied
from machine.game_discovery import resolve_game
from machine.generator import SEED_COUNT
from measuring.value_function import NoLuck
from protocol.display import list_first, short_repr
from protocol.errors import UsageFault
from protocol.games import load_game
from protocol.games.parsing import raise_illegal

Seeds = int | Sequence[int] | None
"""The seeds of the games' dice. An integer n gives game i the seed n + i. A sequence has one seed for each game. The
value None lets dice that have a seed continue, and gives others a random seed."""


class VectorGames(DeepCopied):
    """`num_envs` games, each of which waits for the seat in `to_move`, like an AEC environment of PettingZoo.
    `Environment` and `Encoding` explain vectors, masks, actions, rewards and `luck`.

    The rules are compiled if numba is installed. Dice have the same odds as in the arena, but come from a random
    generator. A game that is over restarts at once. The constructor raises `UnknownGame`, `BadConfig` or `UsageFault`
    if an argument is wrong.
    """

    def __init__(
        self, game: str, config: Mapping[str, Any] | None = None, *, num_envs: int, luck: str | None = NoLuck.name
    ) -> None:
        if not isinstance(num_envs, int | np.integer) or num_envs < 1:
            raise UsageFault(f"num_envs is {short_repr(num_envs)}: it must be a whole number, 1 or more")
        self.rules = load_game(resolve_game(game), config)
        self.num_envs = num_envs
        self.batch = make_batch(self.rules, num_envs, luck)
        self.encoding = self.batch.encoding
        self.single_observation_space = Box(*self.encoding.bounds, (self.encoding.size,), np.float32)
        self.single_action_space = Discrete(self.encoding.actions)
        self._all = np.arange(num_envs)
        self._seeded = False
        self.rewards = np.zeros((num_envs, self.rules.seats))
        """The rewards of the last step, by game and seat."""
        self.ended = np.zeros((num_envs, self.rules.seats), np.int8)
        """1 for each game and seat whose rank is settled, else 0."""

    @property
    def to_move(self) -> Numbers:
        """The seat to move in each game."""
        self.check_reset()
        return self.batch.turn.copy()

    def reset(self, *, seed: Seeds = None) -> None:
        """Restart all games. `seed` seeds their dice (see `Seeds`). Raise `UsageFault` if it has another form."""
        self.reseed(seed)
        self.start_games(self._all)

    def reseed(self, seed: Seeds) -> None:
        """Set the seeds of all games' dice. With None, dice that have a seed continue."""
        if seed is not None or not self._seeded:
            self.batch.seed(_spread_seeds(seed, self.num_envs))
            self._seeded = True

    def observe(self) -> tuple[Vectors, Masks]:
        """Return the vectors that the seats to move see, and their action masks."""
        return self.observe_seats(self._all, self.batch.turn)

    def step(self, actions: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Play an action in every game.

        Return three arrays: the rewards by game and seat, whether the rank is settled by game and seat, and whether the
        game was over and has restarted, by game. Raise `IllegalMove` or `UsageFault` before any change.
        """
        self.play(self._all, actions)
        rewards, ended, over = self.rewards.copy(), self.ended.astype(bool), self.batch.over.astype(bool)
        if over.any():
            self.start_games(np.flatnonzero(over))
        return rewards, ended, over

    def check_reset(self) -> None:
        """Raise `UsageFault` if the games have not been reset yet."""
        if not self._seeded:
            raise UsageFault("the games have not begun: call reset() first")

    def start_games(self, games: Numbers) -> None:
        """Restart these games. Raise `UsageFault` if the config allows no move at all."""
        self.batch.start_games(games)
        self.rewards[games], self.ended[games] = 0, 0
        if self.batch.over[games].all():
            raise UsageFault(
                f"{self.rules.name}: under this config the game is over before it begins: no seat can move"
            )

    def observe_seats(self, games: Numbers, seats: Numbers) -> tuple[Vectors, Masks]:
        """Return the vectors that one seat of each of these games sees, and the seats' action masks."""
        self.check_reset()
        vectors = np.empty((len(games), self.encoding.size), np.float32)
        masks = np.empty((len(games), self.encoding.actions), np.int8)
        self.batch.observe(games, seats, vectors, masks)
        return vectors, masks

    def play(self, games: Numbers, actions: NDArray[Any]) -> None:
        """Play an action in each of these games and set `rewards` to the rewards for it. Raise what `step` raises."""
        self.check_reset()
        actions = check_actions(actions, len(games))
        self.rewards[games] = 0
        wrong = self.batch.step(games, actions, self.rewards, self.ended)
        if wrong >= 0:
            game = games[wrong : wrong + 1]
            legal = np.flatnonzero(self.observe_seats(game, self.batch.turn[game])[1])
            which, seat = int(game[0]), int(self.batch.turn[game[0]])
            raise_illegal(
                f"action {int(actions[wrong])} is masked for seat_{seat} of game {which}; legal: "
                f"{list_first(legal.tolist())}"
            )


def check_actions(actions: NDArray[Any], count: int) -> NDArray[Any]:
    """Return the actions as an array. Raise `UsageFault` unless they are `count` integers."""
    found = np.asarray(actions)
    if found.shape != (count,) or not np.issubdtype(found.dtype, np.integer):
        is_given = f"an array of {found.dtype} {found.shape}"
        raise UsageFault(f"actions are {is_given}: give an array of integers, one for each game that moves, ({count},)")
    return found


def _spread_seeds(seed: Seeds, count: int) -> list[int]:
    """Return one seed for every game. Raise `UsageFault` if `seed` has another form than `Seeds`."""
    if seed is None:
        return [int(each) for each in np.random.default_rng().integers(SEED_COUNT, size=count)]
    try:
        each_own = seed if isinstance(seed, Iterable) else [index(seed) + game for game in range(count)]
        seeds = [index(each) for each in each_own]
    except TypeError:
        seeds = [-1]
    if min(seeds, default=0) < 0:
        raise UsageFault(f"seed is {short_repr(seed)}: it must be a whole number from 0, or one for each game")
    if len(seeds) != count:
        raise UsageFault(f"seed has {len(seeds)} numbers: give one, or {count}, one for each game")
    return [int(np.random.SeedSequence(each).generate_state(1)[0]) for each in seeds]

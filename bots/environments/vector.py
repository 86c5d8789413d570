"""Many games at once for learners that play all seats of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from bots.environments.batched.batch import Masks, Numbers, Vectors, batch_of
from bots.environments.copying import CopiedWhole
from machine.generator import SEEDS
from measuring.value_function import NoLuck
from protocol.display import few, shown
from protocol.errors import UsageFault
from protocol.games import load
from protocol.games.parsing import raise_illegal

Seeds = int | Sequence[int] | None
"""Game i has the dice of seed + i, or of the i-th of as many seeds; None: they go on from where they are."""


class VectorGames(CopiedWhole):
    """`num_envs` games, each of which waits for the seat that is `to_move`, as an AEC environment of PettingZoo does.
    What vectors, masks, actions and rewards are, `bots.environments.env` says, and what `luck` is.

    The rules are compiled where numba is installed, and the dice a generator's: not those of the arena, with the same
    odds. A game that is over begins anew at once. Raises `UnknownGame`, `BadConfig` or `UsageFault`.
    """

    def __init__(
        self, game: str, config: Mapping[str, Any] | None = None, *, num_envs: int, luck: str | None = NoLuck.name
    ) -> None:
        if not isinstance(num_envs, int | np.integer) or num_envs < 1:
            raise UsageFault(f"num_envs is {shown(num_envs)}: it is a whole number, 1 or more")
        self.rules = load(game, config)
        self.num_envs = num_envs
        self.batch = batch_of(self.rules, num_envs, luck)
        self.encoding = self.batch.encoding
        self.single_observation_space = Box(0, 1, (self.encoding.size,), np.float32)
        self.single_action_space = Discrete(self.encoding.actions)
        self._all = np.arange(num_envs)
        self._seeded = False
        self.rewards = np.zeros((num_envs, self.rules.seats))
        """By game and seat, what the last step gave."""
        self.ended = np.zeros((num_envs, self.rules.seats), np.int8)
        """By game and seat, 1 from when its rank is settled."""

    @property
    def to_move(self) -> Numbers:
        """By game, the seat whose turn it is."""
        self.check_begun()
        return self.batch.turn.copy()

    def reset(self, *, seed: Seeds = None) -> None:
        """Begin all games anew; see `Seeds`. Raises `UsageFault`."""
        self.reseed(seed)
        self.begin(self._all)

    def reseed(self, seed: Seeds) -> None:
        """Give all games other dice; None: only where they have none yet."""
        if seed is not None or not self._seeded:
            self.batch.seed(_spread(seed, self.num_envs))
            self._seeded = True

    def observe(self) -> tuple[Vectors, Masks]:
        """What the seats that are to move see, and what each may do: games × numbers, games × actions."""
        return self.seen(self._all, self.batch.turn)

    def step(self, actions: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Play an action in every game. Returns the rewards, and whether a rank is settled, by game and seat; and by
        game whether it was over, and begins anew. Raises `IllegalMove` and `UsageFault`, and nothing has happened.
        """
        self.play(self._all, actions)
        rewards, ended, over = self.rewards.copy(), self.ended.astype(bool), self.batch.over.astype(bool)
        if over.any():
            self.begin(np.flatnonzero(over))
        return rewards, ended, over

    def check_begun(self) -> None:
        """Raises `UsageFault` before the first reset."""
        if not self._seeded:
            raise UsageFault("the games have not begun: call reset() first")

    def begin(self, games: Numbers) -> None:
        """Begin some of the games anew. Raises `UsageFault` where they would be over."""
        self.batch.begin(games)
        self.rewards[games], self.ended[games] = 0, 0
        if self.batch.over[games].all():
            raise UsageFault(f"{self.rules.name}: under this config the game is over before it begins: nobody can move")

    def seen(self, games: Numbers, seats: Numbers) -> tuple[Vectors, Masks]:
        """What a seat of each of some games sees, and its mask."""
        self.check_begun()
        vectors = np.empty((len(games), self.encoding.size), np.float32)
        masks = np.empty((len(games), self.encoding.actions), np.int8)
        self.batch.observe(games, seats, vectors, masks)
        return vectors, masks

    def play(self, games: Numbers, actions: NDArray[Any]) -> None:
        """Play an action in some of the games: `rewards` are those of this step. Raises as `step`."""
        self.check_begun()
        actions = checked_actions(actions, len(games))
        self.rewards[games] = 0
        wrong = self.batch.step(games, actions, self.rewards, self.ended)
        if wrong >= 0:
            game = games[wrong : wrong + 1]
            legal = np.flatnonzero(self.seen(game, self.batch.turn[game])[1])
            which, seat = int(game[0]), int(self.batch.turn[game[0]])
            raise_illegal(
                f"action {int(actions[wrong])} is masked for seat_{seat} of game {which}; legal: {few(legal.tolist())}"
            )


def checked_actions(actions: NDArray[Any], count: int) -> NDArray[Any]:
    """As an array; raises `UsageFault` where it is not one of so many integers."""
    found = np.asarray(actions)
    if found.shape != (count,) or not np.issubdtype(found.dtype, np.integer):
        is_given = f"an array of {found.dtype} {found.shape}"
        raise UsageFault(f"actions are {is_given}: it is one of integers, of as many as games move, ({count},)")
    return found


def _spread(seed: Seeds, count: int) -> list[int]:
    """A seed for every game. Raises `UsageFault`."""
    if seed is None:
        return [int(each) for each in np.random.default_rng().integers(SEEDS, size=count)]
    try:
        each_own = seed if isinstance(seed, Iterable) else [index(seed) + game for game in range(count)]
        seeds = [index(each) for each in each_own]
    except TypeError:
        seeds = [-1]
    if min(seeds, default=0) < 0:
        raise UsageFault(f"seed is {shown(seed)}: it is a whole number from 0, or one for each game")
    if len(seeds) != count:
        raise UsageFault(f"seed has {len(seeds)} numbers: one, or as many as there are games, {count}")
    return [int(np.random.SeedSequence(each).generate_state(1)[0]) for each in seeds]

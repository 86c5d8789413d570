"""Many games at once for learners: all seats of each, or one seat of each as a vector environment of Gymnasium."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from bots.environments.batched.batch import Masks, Numbers, Vectors, batch_of, draws
from machine.generator import SEEDS
from measuring.value_function import NoLuck
from protocol.display import few, shown
from protocol.errors import UsageFault
from protocol.games import load
from protocol.games.parsing import raise_illegal

Seeds = int | Sequence[int] | None
"""Game i has the dice of seed + i, or of the i-th of as many seeds; None: they go on from where they are."""
Opponents = Callable[[Vectors, Masks, np.random.Generator], NDArray[Any]]
"""(vectors, masks, random): the actions of seats that see this, one a row. `random` is one for all games: where
opponents draw from it, how a game goes depends on those beside it too."""


class VectorGames:
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


def at_random(vectors: Vectors, masks: Masks, random: np.random.Generator) -> NDArray[np.int64]:
    """The opponents that take any legal action, each as likely as any other; for who has none, some other."""
    ranks = masks.cumsum(1, dtype=np.int32)
    drawn = random.integers(np.maximum(ranks[:, -1:], 1))
    actions: NDArray[np.int64] = np.minimum((ranks <= drawn).sum(1), masks.shape[1] - 1)
    return actions


class VectorSingle(VectorEnv[Vectors, NDArray[Any], NDArray[Any]]):
    """`Single`, `num_envs` times: a learner in a seat of each game, drawn anew for every one, while `opponent` plays
    the others, all that wait at once; at random, where none is given.

    Observations are vectors, games × numbers; the masks are `infos["action_mask"]`, and `action_masks()`. A game that
    is over, or in which the learner is out, begins anew: with the next step, whose action has no meaning for it, or in
    the same with `AutoresetMode.SAME_STEP`, `infos["final_obs"]` being the last that the learner saw. Games and dice
    are those of `VectorGames`. Raises what that raises.
    """

    def __init__(
        self,
        game: str,
        config: Mapping[str, Any] | None = None,
        *,
        num_envs: int,
        opponent: Opponents = at_random,
        luck: str | None = NoLuck.name,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise UsageFault(f"render_mode is {shown(render_mode)}: it is None or 'ansi'")
        if not callable(opponent):
            raise UsageFault(f"opponent is {shown(opponent)}: it is a function of vectors, masks and a generator")
        if autoreset_mode not in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
            raise UsageFault("autoreset_mode is one of AutoresetMode.NEXT_STEP and SAME_STEP")
        self.games = VectorGames(game, config, num_envs=num_envs, luck=luck)
        name = f"{self.games.rules.name}_v{self.games.encoding.version}"
        self.metadata = {"name": name, "render_modes": ["ansi"], "autoreset_mode": autoreset_mode}
        self.num_envs, self.opponent, self.render_mode = num_envs, opponent, render_mode
        self.single_observation_space = self.games.single_observation_space
        self.single_action_space = self.games.single_action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._same_step = autoreset_mode is AutoresetMode.SAME_STEP
        self._all = np.arange(num_envs)
        self._over = np.zeros(num_envs, bool)
        self.seats: Numbers = np.zeros(num_envs, np.int64)
        """By game, the learner's."""

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Vectors, dict[str, Any]]:
        """Begin all games anew; see `Seeds`. `options` have no meaning here. Raises `UsageFault`."""
        self.games.reseed(seed)
        if seed is not None:
            self.np_random = np.random.default_rng(seed)
        self._begin(self._all)
        self._over = np.zeros(self.num_envs, bool)
        return self._see(), self._infos()

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Vectors, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play an action in every game, and those of the others up to the learner's next turn or end.

        Raises `IllegalMove` and `UsageFault`, and nothing has happened where it is the learner's fault.
        """
        self.games.check_begun()
        actions = checked_actions(actions, self.num_envs)
        playing, rewards = np.flatnonzero(~self._over), np.zeros(self.num_envs)
        if len(playing):
            self._play(playing, actions[playing], rewards)
            self._let_others_play(playing, rewards)
        if self._over.any():
            self._begin(np.flatnonzero(self._over))
        over = self._out(self._all)
        self._over = over.copy()
        vectors, ends = self._see(), {}
        if self._same_step and over.any():
            final = np.full(self.num_envs, None, object)
            for game in np.flatnonzero(over):
                final[game] = vectors[game]
            ends = {"final_obs": final, "_final_obs": over.copy(), "final_info": {}, "_final_info": over.copy()}
            self._begin(np.flatnonzero(over))
            self._over[:] = False
            vectors = self._see()
        return vectors, rewards, over, np.zeros(self.num_envs, bool), self._infos() | ends

    def action_masks(self) -> Masks:
        """1 for every action that is legal now, 0 for the others: games × actions; none is where a game is over."""
        self.games.check_begun()
        return self._masks.copy()

    def render(self) -> tuple[str, ...] | None:
        """The boards drawn for a terminal, with `render_mode="ansi"`."""
        if self.render_mode is None:
            return None
        self.games.check_begun()
        batch = self.games.batch
        return tuple(batch.rules.board(batch.position(game)) for game in range(self.num_envs))

    def _infos(self) -> dict[str, Any]:
        return {"action_mask": self._masks.copy(), "_action_mask": np.ones(self.num_envs, bool)}

    def _see(self) -> Vectors:
        """What the learner sees now in every game; its masks are kept."""
        vectors, self._masks = self.games.seen(self._all, self.seats)
        return vectors

    def _out(self, games: Numbers) -> NDArray[np.bool_]:
        """In which of these games the learner has nothing more to do."""
        out: NDArray[np.bool_] = (self.games.batch.over[games] + self.games.ended[games, self.seats[games]]) > 0
        return out

    def _play(self, games: Numbers, actions: NDArray[Any], rewards: NDArray[np.float64]) -> None:
        self.games.play(games, actions)
        rewards[games] += self.games.rewards[games, self.seats[games]]

    def _let_others_play(self, games: Numbers, rewards: NDArray[np.float64]) -> None:
        """Up to the learner's turn, or its end, in each of these games."""
        turn = self.games.batch.turn
        while len(games := games[(turn[games] != self.seats[games]) & ~self._out(games)]):
            vectors, masks = self.games.seen(games, turn[games])
            self._play(games, self.opponent(vectors, masks, self.np_random), rewards)

    def _begin(self, games: Numbers) -> None:
        """Begin these games anew, and again where the learner is out before its first turn."""
        while len(games):
            self.games.begin(games)
            self.seats[games] = draws(self.games.batch.generators, games, self.games.rules.seats)
            self._let_others_play(games, np.zeros(self.num_envs))
            games = games[self._out(games)]


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

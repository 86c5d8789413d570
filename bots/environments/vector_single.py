"""One seat of many games at once as a vector environment of Gymnasium, and the opponents in the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from bots.environments.batched.batch import Masks, Numbers, Vectors, draws
from bots.environments.copying import CopiedWhole
from bots.environments.vector import VectorGames, checked_actions
from measuring.value_function import NoLuck
from protocol.display import shown
from protocol.errors import UsageFault

Opponents = Callable[[Vectors, Masks, np.random.Generator], NDArray[Any]]
"""(vectors, masks, random): the actions of seats that see this, one a row. `random` is one for all games: where
opponents draw from it, how a game goes depends on those beside it too."""


def at_random(vectors: Vectors, masks: Masks, random: np.random.Generator) -> NDArray[np.int64]:
    """The opponents that take any legal action, each as likely as any other; for who has none, some other."""
    ranks = masks.cumsum(1, dtype=np.int32)
    drawn = random.integers(np.maximum(ranks[:, -1:], 1))
    actions: NDArray[np.int64] = np.minimum((ranks <= drawn).sum(1), masks.shape[1] - 1)
    return actions


class VectorSingle(CopiedWhole, VectorEnv[Vectors, NDArray[Any], NDArray[Any]]):
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
        """Begin all games anew, as `VectorGames.reset`. `options` have no meaning here. Raises `UsageFault`."""
        self.games.reseed(seed)
        if seed is not None:
            # Not the stream of `default_rng(seed)`, from which a learner of the same seed may draw its own moves.
            self.np_random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
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

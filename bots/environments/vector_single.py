"""A vector environment of Gymnasium: a learner in one seat of many games at once, with opponents in the other seats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from bots.environments.batched.batch import Masks, Numbers, Vectors, draw_numbers
from bots.environments.copying import DeepCopied
from bots.environments.vector import VectorGames, check_actions
from measuring.value_function import NoLuck
from protocol.display import short_repr
from protocol.errors import UsageFault

Opponents = Callable[[Vectors, Masks, np.random.Generator], NDArray[Any]]
"""The opponents of a learner: (vectors, masks, rng) -> the actions of seats that see these vectors and masks, one for
each row. All games share `rng`: if opponents use it, each game depends on the other games."""


def choose_uniformly(vectors: Vectors, masks: Masks, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a random legal action for each row of `masks` (a game). If no action is legal, the action is arbitrary."""
    ranks = masks.cumsum(1, dtype=np.int32)
    drawn = rng.integers(np.maximum(ranks[:, -1:], 1))
    actions: NDArray[np.int64] = np.minimum((ranks <= drawn).sum(1), masks.shape[1] - 1)
    return actions


class VectorSingle(DeepCopied, VectorEnv[Vectors, NDArray[Any], NDArray[Any]]):
    """`num_envs` environments like `Single`: a learner in a random seat of each game, while `opponent` plays all other
    seats, by default uniformly at random.

    Observations are vectors, games × numbers; the masks are in `infos["action_mask"]` and `action_masks()`. A game that
    is over, or has eliminated the learner, restarts with the next step and ignores the action of this step. With
    `AutoresetMode.SAME_STEP` it restarts in the same step, and `infos["final_obs"]` is its last observation. Games,
    dice and exceptions are those of `VectorGames`.
    """

    def __init__(
        self,
        game: str,
        config: Mapping[str, Any] | None = None,
        *,
        num_envs: int,
        opponent: Opponents = choose_uniformly,
        luck: str | None = NoLuck.name,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise UsageFault(f"render_mode is {short_repr(render_mode)}: it must be None or 'ansi'")
        if not callable(opponent):
            raise UsageFault(
                f"opponent is {short_repr(opponent)}: it must be a function of vectors, masks and a generator"
            )
        if autoreset_mode not in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
            raise UsageFault("autoreset_mode must be one of AutoresetMode.NEXT_STEP and SAME_STEP")
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
        self._done = np.zeros(num_envs, bool)
        self.seats: Numbers = np.zeros(num_envs, np.int64)
        """The learner's seat in each game."""

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Vectors, dict[str, Any]]:
        """Restart all games as `VectorGames.reset` does. `options` is ignored. Raise `UsageFault` for a bad `seed`."""
        self.games.reseed(seed)
        if seed is not None:
            # Not the stream of `default_rng(seed)`, from which a learner of the same seed may draw its own moves.
            self.np_random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
        self._start_games(self._all)
        self._done = np.zeros(self.num_envs, bool)
        return self._observe(), self._infos()

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Vectors, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play an action in every game, then the opponents' moves up to the learner's next turn or the end of the game.

        Raise `IllegalMove` or `UsageFault` for wrong actions. If the learner's actions are wrong, nothing has changed.
        """
        self.games.check_reset()
        actions = check_actions(actions, self.num_envs)
        playing, rewards = np.flatnonzero(~self._done), np.zeros(self.num_envs)
        if len(playing):
            self._play(playing, actions[playing], rewards)
            self._let_others_play(playing, rewards)
        if self._done.any():
            self._start_games(np.flatnonzero(self._done))
        over = self._is_done(self._all)
        self._done = over.copy()
        vectors, ends = self._observe(), {}
        if self._same_step and over.any():
            final = np.full(self.num_envs, None, object)
            for game in np.flatnonzero(over):
                final[game] = vectors[game]
            ends = {"final_obs": final, "_final_obs": over.copy(), "final_info": {}, "_final_info": over.copy()}
            self._start_games(np.flatnonzero(over))
            self._done[:] = False
            vectors = self._observe()
        return vectors, rewards, over, np.zeros(self.num_envs, bool), self._infos() | ends

    def action_masks(self) -> Masks:
        """Return an array by game and action: 1 for a legal action, else 0. In a game that is over all are 0."""
        self.games.check_reset()
        return self._masks.copy()

    def render(self) -> tuple[str, ...] | None:
        """Return the boards as text if `render_mode` is "ansi", else None."""
        if self.render_mode is None:
            return None
        self.games.check_reset()
        batch = self.games.batch
        return tuple(batch.rules.draw_board(batch.position(game)) for game in range(self.num_envs))

    def _infos(self) -> dict[str, Any]:
        return {"action_mask": self._masks.copy(), "_action_mask": np.ones(self.num_envs, bool)}

    def _observe(self) -> Vectors:
        """Return what the learner sees in every game, and store its masks."""
        vectors, self._masks = self.games.observe_seats(self._all, self.seats)
        return vectors

    def _is_done(self, games: Numbers) -> NDArray[np.bool_]:
        """Return an array that is true for each of these games in which the learner will not move again."""
        out: NDArray[np.bool_] = (self.games.batch.over[games] + self.games.ended[games, self.seats[games]]) > 0
        return out

    def _play(self, games: Numbers, actions: NDArray[Any], rewards: NDArray[np.float64]) -> None:
        self.games.play(games, actions)
        rewards[games] += self.games.rewards[games, self.seats[games]]

    def _let_others_play(self, games: Numbers, rewards: NDArray[np.float64]) -> None:
        """Play the opponents' moves in each of these games, up to the learner's turn or the end."""
        turn = self.games.batch.turn
        while len(games := games[(turn[games] != self.seats[games]) & ~self._is_done(games)]):
            vectors, masks = self.games.observe_seats(games, turn[games])
            self._play(games, self.opponent(vectors, masks, self.np_random), rewards)

    def _start_games(self, games: Numbers) -> None:
        """Restart these games, repeatedly if the learner is eliminated before its first turn."""
        while len(games):
            self.games.start_games(games)
            self.seats[games] = draw_numbers(self.games.batch.generators, games, self.games.rules.seats)
            self._let_others_play(games, np.zeros(self.num_envs))
            games = games[self._is_done(games)]

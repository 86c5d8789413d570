"""A batch of any game that has an encoding: single environments, one for each game, which are played one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bots.environments.batched.batch import Batch, Masks, Numbers, Vectors, draw_numbers
from bots.environments.environment import Environment
from machine.generator import SEED_COUNT
from protocol.games.base import Game


class SingleGamesBatch(Batch[Any]):
    """A batch of games by the rules of the game. In a round of simultaneous moves, seats choose one after the other
    without knowing each other's choices.
    """

    def __init__(self, rules: Game[Any, Any], count: int, luck: str | None) -> None:
        self._environments = [Environment(rules.name, rules.config, luck=luck) for _ in range(count)]
        super().__init__(rules, count, self._environments[0].luck)
        self._turn = np.zeros(count, np.int64)
        self._over = np.zeros(count, np.int64)

    @property
    def turn(self) -> Numbers:
        return self._turn

    @property
    def over(self) -> Numbers:
        return self._over

    def start_games(self, games: Numbers) -> None:
        seeds = draw_numbers(self.generators, games, SEED_COUNT)
        for game, seed in zip(games, seeds, strict=True):
            self._environments[game].reset(int(seed))
            self._note_turn(game)

    def position(self, game: int) -> Any:
        return self._environments[game].position

    def observe(self, games: Numbers, seats: Numbers, vectors: Vectors, masks: Masks) -> None:
        for row, (game, seat) in enumerate(zip(games, seats, strict=True)):
            environment = self._environments[game]
            seen = environment.observe(environment.possible_agents[seat])
            vectors[row], masks[row] = seen["observation"], seen["action_mask"]

    def _step(self, games: Numbers, actions: Numbers, rewards: NDArray[np.float64], ended: NDArray[np.int8]) -> int:
        for row, (game, action) in enumerate(zip(games, actions, strict=True)):
            if not self._environments[game].is_legal(int(action)):
                return row
        for game, action in zip(games, actions, strict=True):
            environment = self._environments[game]
            given, settled = environment.step_to_next_turn(int(action))
            for seat, agent in enumerate(environment.possible_agents):
                rewards[game, seat] += given.get(agent, 0.0)
                ended[game, seat] = settled.get(agent, True)
            self._note_turn(game)
        return -1

    def _note_turn(self, game: int) -> None:
        """Store which seat is to move in a game, and whether the game is over."""
        environment = self._environments[game]
        self._over[game] = not environment.agents or all(environment.terminations.values())
        if not self._over[game]:
            self._turn[game] = environment.possible_agents.index(environment.agent_selection)

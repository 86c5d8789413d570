"""The encoding for learners: OpenSpiel's tensors, and its numbers of actions."""

from __future__ import annotations

from math import prod

import numpy as np

from bot_arena_openspiel.rules import OpenSpielGame, OpenSpielRounds, SpielState
from bots.environments.encodings import Encoding, Vector
from protocol.errors import UsageFault
from protocol.games.base import Game


class TensorEncoding(Encoding[SpielState, int]):
    """The observation tensor of OpenSpiel, or the information state tensor of a game without one."""

    bounds = (-np.inf, np.inf)

    def __init__(self, rules: Game[SpielState, int]) -> None:
        assert isinstance(rules, OpenSpielGame)
        self._rules = rules
        kind = rules.spiel_game.get_type()
        self._has_observations = kind.provides_observation_tensor
        if self._has_observations:
            shape = rules.spiel_game.observation_tensor_shape()
        elif kind.provides_information_state_tensor:
            shape = rules.spiel_game.information_state_tensor_shape()
        else:
            raise UsageFault(f"{rules.name} has no encoding: OpenSpiel provides no tensor of it")
        self.size = prod(shape)
        self.actions = rules.spiel_game.num_distinct_actions()

    def vector(self, state: SpielState, seat: int) -> Vector:
        if state.node.is_terminal() and not self._has_observations:
            return np.zeros(self.size, np.float32)
        node = state.node
        values = node.observation_tensor(seat) if self._has_observations else node.information_state_tensor(seat)
        return np.array(values, np.float32)

    def moves(self, state: SpielState) -> dict[int, int]:
        return {move: move for move in self._rules.legal_moves(state)}

    def moves_of(self, state: SpielState, seat: int) -> dict[int, int]:
        if not isinstance(self._rules, OpenSpielRounds):
            return self.moves(state)
        return {move: move for move in self._rules.legal_moves_of(state, seat)}

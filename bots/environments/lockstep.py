"""A check of batches: random games with the same moves and dice must be equal in a batch and by the reference rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from bots.environments.batched.batch import Batch, ThrowCounts, draw_numbers, make_batch
from bots.environments.environment import Environment
from bots.environments.vector_single import choose_uniformly
from measuring.value_function import NoLuck
from protocol.dice import SEED_BYTES, Dice


class Disagreement(Exception):
    """A value in a batch differs from that by the reference rules. The message has both values."""


class ReferenceEnvironment(Environment):
    """An environment that uses the reference rules. Its initial position and its dice are given."""

    def begin(self, position: Any) -> None:
        self.reset(seed=0)
        self._set_position(position)

    def play(
        self, action: int, batch: Batch[Any], generator: Any, throw_counts: ThrowCounts
    ) -> tuple[dict[str, float], dict[str, bool]]:
        """Play an action. Return two dicts, by agent: its reward, and whether its rank is settled."""
        move, position = self.encoding.moves(self.position)[action], self.position
        self._dice = lambda ply: batch.reference_dice(position, move, generator, throw_counts)
        return self.step_to_next_turn(action)


class Lockstep:
    """Random games under one config, played both in a batch and by the reference rules. `steps` and `playouts` count
    the steps and the whole games in which both agreed.
    """

    def __init__(self, game: str, config: Mapping[str, Any], count: int, seed: int, luck: str = NoLuck.name) -> None:
        self.referees = [ReferenceEnvironment(game, config, luck=luck) for _ in range(count)]
        self.rules = self.referees[0].rules
        self.batch: Batch[Any] = make_batch(self.rules, count, luck)
        self.steps = self.playouts = 0
        self._tolerance = 1e-12 if luck == NoLuck.name else 1e-7  # features are sums of integers in the batch
        self.throw_counts: ThrowCounts = Counter()
        self._random = np.random.default_rng(seed)
        self._all = np.arange(count)
        self._ended = np.zeros((count, self.rules.seats), np.int8)
        self.batch.seed(self._random.integers(2**31, size=count).tolist())
        self._begin(self._all)

    def run(self, playouts: int) -> None:
        """Play until `playouts` games have ended. Raise `Disagreement` as soon as the batch and the rules differ."""
        while self.playouts < playouts:
            self._step()

    def _begin(self, games: Any) -> None:
        before = self.batch.generators.copy()
        self.batch.start_games(games)
        self._ended[games] = 0
        for game in games:
            key = draw_numbers(before, np.full(SEED_BYTES, game), 256).astype(np.uint8).tobytes()
            start, _ = self.rules.initial(Dice(key, 0))
            _check_equal("start", self.batch.position(game), start)
            self.referees[game].begin(start)

    def _step(self) -> None:
        batch, count = self.batch, len(self._all)
        masks = self._compare_observations(batch.turn)
        self._compare_observations((batch.turn + 1) % self.rules.seats)
        actions = choose_uniformly(np.empty((0, 0), np.float32), masks, self._random)
        rewards, generators = np.zeros((count, self.rules.seats)), batch.generators.copy()
        _check_equal("first action that is refused", batch.step(self._all, actions, rewards, self._ended), -1)
        for game, referee in enumerate(self.referees):
            given, ended = referee.play(int(actions[game]), batch, generators[game], self.throw_counts)
            _check_equal(f"position after action {actions[game]}", batch.position(game), referee.position)
            _check_equal("end", bool(batch.over[game]), self.rules.to_move(referee.position) is None)
            for seat, agent in enumerate(referee.possible_agents):
                _check_equal(
                    f"reward of {agent}", float(rewards[game, seat]), given.get(agent, 0.0), tolerance=self._tolerance
                )
                _check_equal(f"rank of {agent} is settled", bool(self._ended[game, seat]), ended.get(agent, True))
        _check_equal("dice after as many throws", batch.generators.tolist(), generators.tolist())
        self.steps += count
        over = np.flatnonzero(batch.over)
        self.playouts += len(over)
        self._begin(over)

    def _compare_observations(self, seats: Any) -> Any:
        """Compare what one seat of each game sees in the batch and by the reference rules. Return the seats' masks."""
        encoding = self.batch.encoding
        vectors = np.full((len(self._all), encoding.size), np.nan, np.float32)
        masks = np.full((len(self._all), encoding.actions), -1, np.int8)
        self.batch.observe(self._all, seats, vectors, masks)
        for game, referee in enumerate(self.referees):
            seen = referee.observe(referee.possible_agents[seats[game]])
            _check_equal("vector", vectors[game].tolist(), seen["observation"].tolist())
            _check_equal("mask", masks[game].tolist(), seen["action_mask"].tolist())
        return masks


def _check_equal(what: str, batch: Any, reference: Any, tolerance: float = 0) -> None:
    """Raise `Disagreement` unless the two values are equal. With a `tolerance`, they may differ by less than that."""
    if abs(batch - reference) >= tolerance if tolerance else batch != reference:
        raise Disagreement(f"{what}: {batch} in the batch, {reference} by the reference rules")

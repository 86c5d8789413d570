"""A check of batches against the reference rules: with the same moves and dice, random games must be equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import accumulate, product
from operator import gt
from typing import Any

import numpy as np

from bots.environments.batched.batch import Batch, draw_numbers, make_batch
from bots.environments.environment import Environment
from bots.environments.vector_single import choose_uniformly
from machine.generator import DRAW_RANGE, draw
from measuring.value_function import NoLuck
from protocol.dice import SEED_BYTES, Dice
from protocol.games.risk.battle import DIE_SIDES, MAX_ATTACK_DICE, MAX_DEFENCE_DICE, round_odds
from protocol.games.risk.campaign import Attack


class Disagreement(Exception):
    """A batch and the reference rules disagree; the message has the value of each."""


ThrowCounts = Counter[tuple[int, int, int]]
"""The number of throws of each kind. A kind is the number of attacking dice, of defending dice and of attackers
lost."""


@cache
def loss_thresholds(attacking: int, defending: int) -> tuple[tuple[int, int], ...]:
    """Return each possible loss of the attacker in a round, and the threshold below which a random number means it."""
    odds = round_odds(attacking, defending)
    below = accumulate(chance for chance, *_ in odds)
    return tuple((int(limit * DRAW_RANGE), lost) for limit, (_, lost, _) in zip(below, odds, strict=True))


@cache
def dice_for_loss(attacking: int, defending: int, lost: int) -> bytes:
    """Return a throw of dice by which the attacker loses `lost` troops."""
    stake = min(attacking, defending)
    for dice in product(range(1, DIE_SIDES + 1), repeat=attacking + defending):
        sides = sorted(dice[:attacking], reverse=True), sorted(dice[attacking:], reverse=True)
        if stake - sum(map(gt, *sides)) == lost:
            return bytes(dice)
    raise ValueError(f"{attacking} dice against {defending} can't take {lost} attackers")


class ScriptedDice(Dice):
    """Dice for the reference rules that decide a battle as a batch would, from the same random generator."""

    def __init__(self, generator: Any, attackers: int, defenders: int, throw_counts: ThrowCounts) -> None:
        super().__init__(b"", 0)
        self._generator = generator
        self._attackers, self._defenders = attackers, defenders
        self._thrown = throw_counts
        self._left = b""

    def roll_many(self, purpose: str, count: int) -> bytes:
        while len(self._left) < count:
            attacking, defending = min(self._attackers, MAX_ATTACK_DICE), min(self._defenders, MAX_DEFENCE_DICE)
            drawn = draw(self._generator)
            lost = next(lost for limit, lost in loss_thresholds(attacking, defending) if drawn < limit)
            self._thrown[attacking, defending, lost] += 1
            self._attackers -= lost
            self._defenders -= min(attacking, defending) - lost
            self._left += dice_for_loss(attacking, defending, lost)
        given, self._left = self._left[:count], self._left[count:]
        return given

    def roll(self, purpose: str) -> int:
        return self.roll_many(purpose, 1)[0]


class ReferenceEnvironment(Environment):
    """An environment by the reference rules, whose initial position and dice are given."""

    def begin(self, position: Any) -> None:
        self.reset(seed=0)
        self._set_position(position)

    def play(self, action: int, generator: Any, thrown: ThrowCounts) -> tuple[dict[str, float], dict[str, bool]]:
        """Play an action. Return two maps by agent: its reward, and whether its rank is settled."""
        move, position = self.encoding.moves(self.position)[action], self.position
        battle: tuple[int, int] = (move.units, position.troops[move.to]) if isinstance(move, Attack) else (1, 1)
        self._dice = lambda ply: ScriptedDice(generator, *battle, thrown)
        self.step(action)
        rewards, ended = {**self.rewards}, {**self.terminations}
        while self.agents and self.terminations[self.agent_selection]:
            self.step(None)
        return rewards, ended


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
            given, ended = referee.play(int(actions[game]), generators[game], self.throw_counts)
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
        """Check what one seat of each game sees in the batch against the reference rules. Return the seats' masks."""
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
    """Raise `Disagreement` unless both values are equal, or with a `tolerance` differ by less than that."""
    if abs(batch - reference) >= tolerance if tolerance else batch != reference:
        raise Disagreement(f"{what}: {batch} in the batch, {reference} by the reference rules")

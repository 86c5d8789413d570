"""A game as an environment: of PettingZoo, with an agent in each seat, or of Gymnasium, with a learner in one seat.

A step is a move. Dice are made as in the arena.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import index
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.utils import seeding
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.conversions import aec_to_parallel_wrapper
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from bots.environments.copying import DeepCopied
from bots.environments.encodings import Mask, Vector, encoding_of
from machine.game_discovery import resolve_game
from machine.terminal import say
from measuring.luck import luck_along
from measuring.value_function import POINTS_UNIT, NoLuck
from measuring.value_registry import load_value
from protocol.dice import SEED_BYTES, Dice
from protocol.display import list_first, short_repr
from protocol.errors import UsageFault
from protocol.games import load_game
from protocol.games.parsing import raise_illegal
from protocol.games.simultaneous import SimultaneousGame
from protocol.messages import CHANCE
from referee.result import points_from_ranks

Observation = dict[str, Any]

REWARD_PER_POINT = 2.0
"""The factor f in a seat's reward, f × points − 1. So a win (1 point) gives 1, the last place (0 points) −1."""
Opponent = Callable[[Vector, Mask, np.random.Generator], int]
"""An opponent of a learner: (vector, mask, rng) -> the action of a seat that sees this vector and mask."""
RENDER_MODES = "ansi", "human"
"""The ways to show the board: "ansi" returns it as text, "human" prints it at every change."""


def env(
    game: str,
    config: Mapping[str, Any] | None = None,
    *,
    luck: str | None = NoLuck.name,
    render_mode: str | None = None,
) -> AECEnv:
    """Return the environment of `game` under `config`, in a wrapper that reports calls in the wrong order.

    Raise `UnknownGame`, `BadConfig` or `UsageFault` if an argument is wrong.
    """
    return _OrderEnforced(Environment(game, config, luck=luck, render_mode=render_mode))


def parallel_env(
    game: str,
    config: Mapping[str, Any] | None = None,
    *,
    render_mode: str | None = None,
) -> ParallelEnv:
    """Return a game with simultaneous moves as an environment in which all agents step at once.

    Raise `UnknownGame`, `BadConfig` or `UsageFault` if an argument is wrong.
    """
    world = env(game, config, render_mode=render_mode)
    if not world.metadata["is_parallelizable"]:
        raise UsageFault(f"in {game} agents take turns: use env")
    return _Parallel(world)


class _OrderEnforced(DeepCopied, OrderEnforcingWrapper):  # type: ignore[misc]  # PettingZoo comes without types
    """A copyable form of PettingZoo's wrapper that reports calls in the wrong order."""


class _Parallel(DeepCopied, aec_to_parallel_wrapper):  # type: ignore[misc]  # PettingZoo comes without types
    """A copyable form of PettingZoo's wrapper in which all agents step at once."""


class Environment(DeepCopied, AECEnv):  # type: ignore[misc]  # PettingZoo comes without types
    """A game as an environment with agents `seat_0`, `seat_1`, …

    An observation holds the `vector` of the game's encoding as `observation`, and the `action_mask`, which is all 0
    unless the agent is to move. With simultaneous moves, agents step one after the other; no agent sees a choice before
    all have chosen.

    In the dilemma and in poker, rewards are the payoffs of each round or hand. In other games a seat is rewarded when
    its rank is settled: from 1 for the first place, in equal steps, to −1 for the last. Tied seats get the mean of
    their places' rewards, so rewards sum to 0. Nothing is truncated: limits of plies or rounds are rules of the game.
    `reset(seed=…)` seeds the dice of this game and of all games until the next seed.

    `luck` names a value function of `measuring.value_registry`; None chooses the best one. After every throw, and every
    deal after a move, each agent's luck is subtracted from its reward. No value function changes a policy's expected
    reward; rewards vary less.
    """

    def __init__(
        self,
        game: str,
        config: Mapping[str, Any] | None = None,
        *,
        luck: str | None = NoLuck.name,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise UsageFault(
                f"render_mode is {short_repr(render_mode)}: it must be None or one of {', '.join(RENDER_MODES)}"
            )
        self.render_mode = render_mode
        self.rules = load_game(resolve_game(game), config)
        self.encoding = encoding_of(self.rules)
        self._measure_luck(luck)
        name = f"{self.rules.name}_v{self.encoding.version}"
        self.metadata = {
            "name": name,
            "render_modes": [*RENDER_MODES],
            "is_parallelizable": isinstance(self.rules, SimultaneousGame),
        }
        self.possible_agents = [f"seat_{seat}" for seat in range(self.rules.seats)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.action_spaces = {agent: Discrete(self.encoding.actions) for agent in self.possible_agents}
        self.observation_spaces = {agent: self._observation_space() for agent in self.possible_agents}
        self._random, _ = seeding.np_random()

    def _measure_luck(self, luck: str | None) -> None:
        value = load_value(self.rules, luck)
        self.luck = value.name
        self._value = None if isinstance(value, NoLuck) else value

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle. It leaves out the value function, which cannot be pickled but has a name."""
        return {name: kept for name, kept in self.__dict__.items() if name != "_value"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._measure_luck(self.luck)

    def _observation_space(self) -> Dict:
        vector = Box(*self.encoding.bounds, (self.encoding.size,), np.float32)
        return Dict({"observation": vector, "action_mask": Box(0, 1, (self.encoding.actions,), np.int8)})

    def action_space(self, agent: str) -> Discrete:
        return self.action_spaces[agent]

    def observation_space(self, agent: str) -> Dict:
        return self.observation_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Start a new game. `options` is ignored."""
        if seed is not None:
            self._random, _ = seeding.np_random(seed)
        self._dice: Callable[[int], Dice] = partial(Dice, self._random.bytes(SEED_BYTES))
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None
        self._choices: dict[int, Any] = {}
        self._payoffs = (0,) * self.rules.seats
        self.agent_selection = self.agents[0]
        self._set_position(self.rules.initial(self._dice(0))[0])
        self._accumulate_rewards()

    def observe(self, agent: str) -> Observation:
        seat = self._seats[agent]
        legal: Mapping[int, Any] = {}
        if isinstance(self.rules, SimultaneousGame):
            if seat in self.rules.movers(self.position) and seat not in self._choices:
                legal = self.encoding.moves_of(self.position, seat)
        elif self.rules.to_move(self.position) == seat:
            legal = self._moves
        return {
            "observation": self.encoding.vector(self.position, seat),
            "action_mask": self.encoding.make_mask(legal),
        }

    def step(self, action: int | None) -> None:
        """Play the move with this number; a terminated agent plays None. Raise `IllegalMove` if the mask forbids it."""
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        number = None if action is None else index(action)
        if number not in self._moves:
            raise_illegal(f"action {short_repr(number)} is masked for {agent}; legal: {list_first(self._moves)}")
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        move = self._moves[number]
        if isinstance(self.rules, SimultaneousGame):
            self._choose(self.rules, self._seats[agent], move)
        else:
            self._play_ply(move, self.rules.apply(self.position, move, self._dice(self.rules.ply(self.position)))[0])
        self._accumulate_rewards()
        self._deads_step_first()

    def is_legal(self, action: int) -> bool:
        """Return whether the agent to move may play the move with this number."""
        return action in self._moves

    def step_to_next_turn(self, action: int) -> tuple[dict[str, float], dict[str, bool]]:
        """Play a move, and the empty steps of the agents whose rank it settles. Return two dicts, by agent: its reward,
        and whether its rank is settled.
        """
        self.step(action)
        rewards, settled = {**self.rewards}, {**self.terminations}
        while self.agents and self.terminations[self.agent_selection]:
            self.step(None)
        return rewards, settled

    def _choose(self, rules: SimultaneousGame[Any, Any], seat: int, move: Any) -> None:
        """Store a seat's choice. Play the round once all seats to move have chosen."""
        self._choices[seat] = move
        waiting = [other for other in rules.movers(self.position) if other not in self._choices]
        if waiting:
            self.agent_selection = self.possible_agents[waiting[0]]
            self._moves = self.encoding.moves_of(self.position, waiting[0])
            return
        chosen, self._choices = self._choices, {}
        self._play_ply(chosen, rules.resolve_round(self.position, chosen, self._dice(rules.ply(self.position)))[0])

    def _play_ply(self, move: Any, after: Any) -> None:
        """Set the position after a move or round and its deals. Subtract the luck in them from the rewards."""
        if self._value is None:
            self._set_position(after)
            return
        plies = [(self.position, move, after)]
        while self.rules.to_move(after) == CHANCE:
            before, after = after, self._deal(after)
            plies.append((before, None, after))
        self._set_position(after)
        luck = luck_along(self.rules, self._value, plies).total
        scale = REWARD_PER_POINT if self._value.unit == POINTS_UNIT else 1.0
        for agent in self.agents:
            self.rewards[agent] -= scale * luck[self._seats[agent]]

    def _deal(self, position: Any) -> Any:
        return self.rules.apply_chance(position, self._dice(self.rules.ply(position)))[0]

    def _set_position(self, position: Any) -> None:
        """Store a position, after the deals that are due in it. Update the legal moves, the agent to move, the payoffs
        and the settled ranks. In the render mode `human`, print the board.
        """
        while self.rules.to_move(position) == CHANCE:
            position = self._deal(position)
        self.position = position
        self._moves = self.encoding.moves(position)
        mover = self.rules.to_move(position)
        if mover is not None:
            self.agent_selection = self.possible_agents[mover]
        if (paid := self.rules.returns(position)) is not None:
            self._pay(paid, over=mover is None)
        elif mover is None or self.rules.seats > 2:
            self._settle_ranks(over=mover is None)
        if self.render_mode == "human":
            say(f"{self.rules.draw_board(position)}\n", flush=True)

    def _pay(self, paid: tuple[int, ...], *, over: bool) -> None:
        for agent, now, before in zip(self.possible_agents, paid, self._payoffs, strict=True):
            self.rewards[agent] = float(now - before)
            self.terminations[agent] = over
        self._payoffs = paid

    def _settle_ranks(self, *, over: bool) -> None:
        """Terminate and reward the agents whose rank is settled: all if the game is over, else the eliminated ones."""
        ranks = self.rules.ranks(self.position)
        points = points_from_ranks(ranks)
        for agent in self.agents:
            seat = self._seats[agent]
            if not self.terminations[agent] and (over or ranks[seat] > 1):
                self.terminations[agent] = True
                self.rewards[agent] = REWARD_PER_POINT * points[seat] - 1

    def render(self) -> str | None:
        """Return the board as text if `render_mode` is "ansi", else None: "human" has already printed the board."""
        return self.rules.draw_board(self.position) if self.render_mode == "ansi" else None


def choose_uniformly(vector: Vector, mask: Mask, rng: np.random.Generator) -> int:
    """Return a random legal action, for an opponent that plays uniformly."""
    return int(rng.choice(np.flatnonzero(mask)))


class Single(DeepCopied, Env[Vector, np.int64]):
    """An environment with a learner in a random seat of each game. `opponent` plays all other seats, by default
    uniformly at random.

    Games that eliminate the learner before its first turn are skipped. Observations are vectors of the game's encoding;
    `Environment` explains rewards and `luck`. `action_masks()` returns the legal actions, as sb3-contrib expects.
    """

    metadata = {"render_modes": [*RENDER_MODES]}  # noqa: RUF012  the base class declares it so

    def __init__(
        self,
        game: str,
        config: Mapping[str, Any] | None = None,
        *,
        opponent: Opponent = choose_uniformly,
        luck: str | None = NoLuck.name,
        render_mode: str | None = None,
    ) -> None:
        if not callable(opponent):
            raise UsageFault(
                f"opponent is {short_repr(opponent)}: it must be a function of a vector, a mask and a generator"
            )
        self.environment = Environment(game, config, luck=luck, render_mode=render_mode)
        self.agent: str | None = None
        self.render_mode = render_mode
        self.opponent = opponent
        first = self.environment.possible_agents[0]
        self.observation_space = self.environment.observation_space(first)["observation"]
        self.action_space = self.environment.action_space(first)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Vector, dict[str, Any]]:
        """Start a new game. `options` is ignored. Raise `UsageFault` if the config never lets the learner move."""
        super().reset(seed=seed)
        self.environment.reset(seed)
        while True:
            if all(self.environment.terminations.values()):
                raise UsageFault(
                    f"{self.environment}: under this config the game is over before it begins: no seat can move"
                )
            self.agent = str(self.np_random.choice(self.environment.possible_agents))
            vector, _, out, *_ = self._proceed()
            if not out:
                return vector, {}
            self.environment.reset()

    def step(self, action: np.int64) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        """Play the learner's move, then the opponents' moves up to the learner's next turn or the end of its game.

        Raise `IllegalMove` if the mask forbids the action, `UsageFault` before the first reset.
        """
        self._check_begun()
        self.environment.step(int(action))
        return self._proceed()

    def action_masks(self) -> Mask:
        """Return an array: 1 for every legal action, else 0. Raise `UsageFault` before the first reset."""
        self._check_begun()
        return self._mask

    def _check_begun(self) -> None:
        if self.agent is None:
            raise UsageFault("the game has not begun: call reset() first")

    def _proceed(self) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        """Play the opponents' moves up to the learner's turn. Sum the learner's rewards. Return `step`'s result."""
        while self.environment.agent_selection != self.agent:
            agent = self.environment.agent_selection
            seen = None if self.environment.terminations[agent] else self.environment.observe(agent)
            self.environment.step(
                None if seen is None else self.opponent(seen["observation"], seen["action_mask"], self.np_random)
            )
        seen, reward, terminated, truncated, info = self.environment.last()
        self._mask: Mask = seen["action_mask"]
        return seen["observation"], float(reward), terminated, truncated, {**info}

    def render(self) -> str | None:
        """Return the board as `Environment.render` does. Raise `UsageFault` before the first reset."""
        self._check_begun()
        return self.environment.render()

"""One seat of a game as an environment of Gymnasium, for learners that know one agent only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium import Env

from bots.environments.base import Mask, Vector
from bots.environments.environment import Environment
from measuring.value_function import NoLuck
from protocol.errors import UsageFault

Opponent = Callable[[Vector, Mask, np.random.Generator], int]
"""(vector, mask, random): the action of a seat that sees this."""


def at_random(vector: Vector, mask: Mask, random: np.random.Generator) -> int:
    """The opponent that takes any legal action, each as likely as any other."""
    return int(random.choice(np.flatnonzero(mask)))


class Single(Env[Vector, np.int64]):
    """A learner in a seat that is drawn for each game, while `opponent` plays all others. Games in which it is out
    before its first turn are left out.

    Observations are vectors of the game's encoding, rewards those of `Environment`, which says what `luck` is. The
    legal actions are `action_masks()`, as sb3-contrib asks for them. A masked action raises `IllegalMove`.
    """

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012  the base class declares it so

    def __init__(
        self,
        game: str,
        config: Mapping[str, Any] | None = None,
        *,
        opponent: Opponent = at_random,
        luck: str | None = NoLuck.name,
        render_mode: str | None = None,
    ) -> None:
        self.world = Environment(game, config, luck=luck, render_mode=render_mode)
        self.render_mode = render_mode
        self.opponent = opponent
        first = self.world.possible_agents[0]
        self.observation_space = self.world.observation_space(first)["observation"]
        self.action_space = self.world.action_space(first)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Vector, dict[str, Any]]:
        """Begin a new game; `options` has no meaning here. Raises `UsageFault` where nobody ever has a turn."""
        super().reset(seed=seed)
        self.world.reset(seed)
        while True:
            if all(self.world.terminations.values()):
                raise UsageFault(f"{self.world}: under this config the game is over before it begins")
            self.agent = str(self.np_random.choice(self.world.possible_agents))
            vector, _, out, *_ = self._proceed()
            if not out:
                return vector, {}
            self.world.reset()

    def step(self, action: np.int64) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        """Play a move, and those of the others up to the learner's next turn or end."""
        self.world.step(int(action))
        return self._proceed()

    def action_masks(self) -> Mask:
        """1 for every action that is legal now, 0 for the others."""
        return self._mask

    def _proceed(self) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        """Let the others play. What the learner was rewarded since its last move is not lost."""
        while self.world.agent_selection != self.agent:
            agent = self.world.agent_selection
            seen = None if self.world.terminations[agent] else self.world.observe(agent)
            self.world.step(
                None if seen is None else self.opponent(seen["observation"], seen["action_mask"], self.np_random)
            )
        seen, reward, terminated, truncated, info = self.world.last()
        self._mask: Mask = seen["action_mask"]
        return seen["observation"], float(reward), terminated, truncated, info

    def render(self) -> str | None:
        """The board drawn for a terminal, with `render_mode="ansi"`."""
        return self.world.render()

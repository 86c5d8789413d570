"""Learns bounded Risk by playing itself for some minutes, and keeps what bot.py plays: `pip install sb3-contrib` first.

Maskable PPO against what it was a while ago, with rewards freed of luck.
"""

import argparse
import time
from collections import deque

import numpy as np
import torch
from bot import KEPT, Policy
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv

from bots.environments import Single

SEATS = 16
ROUNDS_OF_MEMORY = 20


def policy_of(model):
    """The network as bot.py plays it."""
    net = model.policy.mlp_extractor.policy_net
    layers = [layer for layer in (*net, model.policy.action_net) if isinstance(layer, torch.nn.Linear)]
    return Policy((layer.weight.detach().numpy().copy(), layer.bias.detach().numpy().copy()) for layer in layers)


class Past:
    """An opponent: one of the last policies, drawn anew for every round of learning."""

    def __init__(self):
        self.policies: deque[Policy] = deque(maxlen=ROUNDS_OF_MEMORY)

    def add(self, policy):
        self.policies.append(policy)
        self.policy = self.policies[np.random.default_rng().integers(len(self.policies))]

    def __call__(self, vector, mask, random):
        preferences = np.where(mask, self.policy.preferences(vector), -np.inf)
        chances = np.exp(preferences - preferences.max())
        return random.choice(len(chances), p=chances / chances.sum())


class SelfPlay(BaseCallback):
    """Has opponents keep up with the policy, and stops when so many minutes of a processor are used up."""

    def __init__(self, opponents, minutes):
        super().__init__()
        self.opponents = opponents
        self.ends = time.process_time() + 60 * minutes

    def _on_rollout_end(self):
        for past in self.opponents:
            past.add(policy_of(self.model))

    def _on_step(self):
        return time.process_time() < self.ends


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=5)
    options.add_argument(
        "--luck", help="by what rewards are freed of luck, if not by the best there is; none: not at all"
    )
    options.add_argument("--to", default=KEPT)
    given = options.parse_args()
    torch.set_num_threads(1)
    opponents = [Past() for _ in range(SEATS)]
    worlds = DummyVecEnv([lambda past=past: Single("risk-duel", opponent=past, luck=given.luck) for past in opponents])
    model = MaskablePPO("MlpPolicy", worlds, n_steps=256, batch_size=512, n_epochs=4, gamma=1.0, ent_coef=0.01, seed=1)
    first = policy_of(model)
    for past in opponents:
        past.add(first)
    model.learn(10**9, callback=SelfPlay(opponents, given.minutes))
    policy_of(model).write(given.to)
    print(f"{model.num_timesteps:,} moves learnt from: {given.to}")


if __name__ == "__main__":
    main()

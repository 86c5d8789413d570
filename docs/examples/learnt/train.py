"""Learns bounded Risk by playing itself for some minutes, and keeps what bot.py plays. Of the extras it needs `rl` and
`fast`.

Proximal policy optimization (J. Schulman et al., 2017) in numpy: two small networks, of which one prefers actions and
the other foretells rewards, which are freed of luck. A move's advantage counts what the other seat can expect after it
as lost.
"""

import argparse
import os
import time
from math import inf
from pathlib import Path

import numpy as np
from bot import KEPT, Policy

from bots.environments import VectorGames
from protocol.errors import UsageFault

GAMES, STEPS = 512, 64
"""`GAMES` is the number of games played at a time, `STEPS` the number of moves of each game from which the
networks learn at a time.
"""
HIDDEN = 128
BATCH, EPOCHS = 4096, 4
LEARNING_RATE, CLIP, TRACE, ENTROPY = 1e-3, 0.2, 0.8, 0.01


class Net:
    """A network of layers with tanh between them, trained by Adam (Kingma, Ba 2015)."""

    def __init__(self, sizes, last, random):
        """Set random weights. `last` is a factor for those of the last layer, and so for the initial outputs."""
        spreads = [(1 / inputs) ** 0.5 for inputs in sizes[:-2]] + [last * (1 / sizes[-2]) ** 0.5]
        self.arrays = []
        for spread, inputs, outputs in zip(spreads, sizes, sizes[1:], strict=False):
            self.arrays.append((spread * random.standard_normal((outputs, inputs))).astype(np.float32))
            self.arrays.append(np.zeros(outputs, np.float32))
        self.means = [np.zeros_like(array) for array in self.arrays]
        self.squares = [np.zeros_like(array) for array in self.arrays]
        self.learnt = 0

    @property
    def layers(self):
        return [*zip(self.arrays[::2], self.arrays[1::2], strict=True)]

    def outputs(self, vectors):
        """Return the outputs for each row of `vectors`, and the inputs of each layer, which `learn` needs."""
        kept = [vectors]
        for weights, added in self.layers[:-1]:
            kept.append(np.tanh(kept[-1] @ weights.T + added))
        weights, added = self.layers[-1]
        return kept[-1] @ weights.T + added, kept

    def learn(self, kept, slopes, rate):
        """Take a step of Adam with learning rate `rate`. `kept` has the inputs of each layer, `slopes` the derivatives
        of the loss with respect to the outputs.
        """
        down = []
        for (weights, _), inputs in zip(reversed(self.layers), reversed(kept), strict=True):
            down += [slopes.sum(0), slopes.T @ inputs]
            slopes = (slopes @ weights) * (1 - inputs * inputs)
        self.learnt += 1
        rate *= (1 - 0.999**self.learnt) ** 0.5 / (1 - 0.9**self.learnt)
        for array, mean, square, slope in zip(self.arrays, self.means, self.squares, reversed(down), strict=True):
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope * slope - square)
            array -= rate * mean / (np.sqrt(square) + 1e-8)


def chances_of(preferences, masks):
    """Return the probability of each action, by row and action."""
    preferences = np.where(masks, preferences, -np.inf)
    chances = np.exp(preferences - preferences.max(1, keepdims=True))
    return chances / chances.sum(1, keepdims=True)


def played(games, policy, value, random):
    """Play `STEPS` moves of each game, and return an array with a row per move for each of these: the observations, the
    masks, the actions, their probabilities, the advantages, and the target values.
    """
    seen, worths, rewards, over = [], [], [], []
    every = np.arange(games.num_envs)
    for _ in range(STEPS):
        vectors, masks = games.observe()
        chances = chances_of(policy.outputs(vectors)[0], masks)
        drawn = chances.cumsum(1)
        actions = (drawn > random.random((games.num_envs, 1)) * drawn[:, -1:]).argmax(1)
        seen.append((vectors, masks, actions, chances[every, actions]))
        worths.append(value.outputs(vectors)[0][:, 0])
        seats = games.to_move
        given, _, ended = games.step(actions)
        rewards.append(given[every, seats])
        over.append(ended)
    following, advantages, after = value.outputs(games.observe()[0])[0][:, 0], [], 0.0
    for reward, ended, worth in zip(reversed(rewards), reversed(over), reversed(worths), strict=True):
        after = reward - worth - ~ended * (following + TRACE * after)
        following = worth
        advantages.append(after)
    columns = [np.concatenate(column) for column in zip(*seen, strict=True)]
    gains = np.concatenate(advantages[::-1]).astype(np.float32)
    return [*columns, gains, gains + np.concatenate(worths)]


def improve(policy, value, rows, rate):
    """Update both networks by a batch of moves. `rows` has the columns that `played` returns."""
    vectors, masks, actions, before, gains, returns = rows
    every = np.arange(len(actions))
    preferences, kept = policy.outputs(vectors)
    chances = chances_of(preferences, masks)
    ratios = chances[every, actions] / before
    gains = (gains - gains.mean()) / (gains.std() + 1e-8)
    counts = np.where(gains > 0, ratios < 1 + CLIP, ratios > 1 - CLIP)
    slopes = chances * (counts * gains * ratios)[:, None]
    slopes[every, actions] -= counts * gains * ratios
    logs = np.log(np.maximum(chances, 1e-20))
    slopes += ENTROPY * chances * (logs - (chances * logs).sum(1, keepdims=True))
    policy.learn(kept, slopes / len(every), rate)
    worths, kept = value.outputs(vectors)
    value.learn(kept, (worths - returns[:, None]) / len(every), rate)


def minutes(word):
    if not 0 < (value := float(word)) < inf:
        raise argparse.ArgumentTypeError(f"{word} is not a number above 0")
    return value


def place(word):
    """Return the path of a file, for argparse. Raise `ArgumentTypeError` if the file cannot be written."""
    path = Path(word)
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"{word} cannot be written: give a file in a folder that there is")
    return path


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=minutes, default=1, help="of a processor's time, more than 0")
    options.add_argument(
        "--luck", help="by what rewards are freed of luck, if not by the best there is; none: not at all"
    )
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--to", type=place, default=KEPT, help="the file to write; if not given, the one bot.py plays")
    given = options.parse_args()
    random = np.random.default_rng(given.seed)
    try:
        games = VectorGames("risk-duel", num_envs=GAMES, luck=given.luck)
    except UsageFault as fault:
        options.error(str(fault))
    games.reset(seed=given.seed)
    inputs, outputs = games.encoding.size, games.encoding.actions
    policy = Net((inputs, HIDDEN, HIDDEN, outputs), 0.01, random)
    value = Net((inputs, HIDDEN, HIDDEN, 1), 1.0, random)
    moves, began = 0, time.process_time()
    while (spent := (time.process_time() - began) / 60) < given.minutes:
        rows = played(games, policy, value, random)
        rate = LEARNING_RATE * (1 - spent / given.minutes)
        for _ in range(EPOCHS):
            order = random.permutation(len(rows[0]))
            for at in range(0, len(order), BATCH):
                improve(policy, value, [column[order[at : at + BATCH]] for column in rows], rate)
        moves += len(order)
    Policy(policy.layers).write(given.to)
    print(f"{moves:,} moves learnt from: {given.to}")


if __name__ == "__main__":
    main()

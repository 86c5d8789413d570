"""A bot that plays what train.py learnt: `python docs/examples/learnt/bot.py --game risk-duel`. From the
extra `rl` it needs only numpy.
"""

from pathlib import Path
from typing import ClassVar

import numpy as np

from bots import Bot, Turn, run
from bots.environments import encoding_of
from protocol.errors import UsageFault
from protocol.games import load_game

KEPT = Path(__file__).with_name("policy.npz")


class Policy:
    """A network of layers with tanh between them, from an encoding's vector to a preference for every action."""

    def __init__(self, layers):
        """Set the layers, from first to last. Each is a pair: a matrix (outputs × inputs), and a vector that is added
        to the outputs.
        """
        self.layers = [*layers]

    @classmethod
    def read(cls, file):
        arrays = list(np.load(file).values())
        return cls(zip(arrays[::2], arrays[1::2], strict=True))

    def write(self, file):
        with Path(file).open("wb") as opened:  # by name it would be given a suffix
            np.savez_compressed(opened, *(array for layer in self.layers for array in layer))

    def preferences(self, vector):
        for weights, added in self.layers[:-1]:
            vector = np.tanh(weights @ vector + added)
        weights, added = self.layers[-1]
        return weights @ vector + added


class Learnt(Bot):
    games = ("risk-duel",)
    settings: ClassVar = {"policy": "the file that train.py wrote"}

    def __init__(self, name, policy=KEPT):
        super().__init__(name)
        self.policy = Policy.read(policy)

    def warm_up(self, game):
        (first, _), (last, _) = self.policy.layers[0], self.policy.layers[-1]
        encoding = encoding_of(game or load_game(self.games[0]))
        learnt, asked = (first.shape[1], last.shape[0]), (encoding.size, encoding.actions)
        if learnt != asked:
            raise UsageFault(f"the policy was learnt under another config: sizes {learnt}, not {asked}")

    def choose(self, turn: Turn):
        encoding = encoding_of(turn.rules)
        preferences = self.policy.preferences(encoding.vector(turn.position, turn.seat))
        moves = encoding.moves(turn.position)
        return turn.rules.encode_move(moves[max(moves, key=preferences.__getitem__)])


if __name__ == "__main__":
    run(Learnt("learnt"))

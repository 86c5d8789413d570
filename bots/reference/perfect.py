"""The reference bot `perfect`, which knows the best moves of solved games without a search."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from bots.client.bot import Bot, Choice, Turn
from protocol.games import game_part, games_with


class PerfectPlayer(Protocol):
    """The functions for perfect play of one game. They are in a module or an object of the game's package."""

    def choose(self, turn: Turn) -> Choice:
        """Return a best move."""

    def move_probabilities(self, turn: Turn) -> Sequence[float | Fraction] | None:
        """Return the probability that `choose` plays each legal move, in their order; None if it is not random."""


class Perfect(Bot):
    """Plays nim and Grundy's game by theory, so that it never loses from a won position. Plays poker by an equilibrium,
    so that no opponent gains on average over both seats.

    In a lost position it leaves the opponent the smallest fraction of winning replies. Among such moves in nim, it
    takes the fewest objects: the longer the game, the more often the opponent must find the right move.
    """

    games = games_with("perfect_player")

    def choose(self, turn: Turn) -> Choice:
        return _player_for(turn).choose(turn)

    def move_probabilities(self, turn: Turn) -> Sequence[float | Fraction] | None:
        return _player_for(turn).move_probabilities(turn)


def _player_for(turn: Turn) -> PerfectPlayer:
    player: PerfectPlayer = game_part(turn.rules.name, "perfect_player")
    return player

"""`perfect`: nim and Grundy's game by theory; from a lost position the move that is hardest to answer."""

from __future__ import annotations

from bots.client.bot import Bot, Choice, Turn
from machine.exact.heaps import as_sent, theory_of
from protocol.games.theory.impartial import Move, hardest_moves, winning_moves


class Perfect(Bot):
    """Never loses from a won position.

    From a lost one it leaves the opponent the least share of right replies and, among such moves, the most objects
    in nim: the longer the game, the more often the opponent must be right.
    """

    games = ("nim", "grundy")

    def choose(self, turn: Turn) -> Choice:
        heaps: tuple[int, ...] = turn.position.heaps
        rule, misere = theory_of(turn.rules)
        winning = winning_moves(heaps, rule, misere=misere)
        move = winning[0] if winning else longest(hardest_moves(heaps, rule, misere=misere))
        return Choice(as_sent(heaps, move), value=1.0 if winning else -1.0)


def longest(moves: list[Move]) -> Move:
    """The move that takes the fewest; the first of equals."""
    return min(moves, key=lambda move: move.heap - sum(move.parts))

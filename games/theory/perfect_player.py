"""Perfect play of heap games by their theory, for the bot `perfect`."""

from __future__ import annotations

from bots.client.bot import Choice, Turn
from games.theory.grader import theory_of, to_message_move
from games.theory.impartial import HeapMove, hardest_moves, winning_moves


def choose(turn: Turn) -> Choice:
    """Return a winning move; if there is none, a move after which the opponent has the fewest winning replies."""
    heaps: tuple[int, ...] = turn.position.heaps
    rule, misere = theory_of(turn.rules)
    winning = winning_moves(heaps, rule, misere=misere)
    move = winning[0] if winning else smallest_take(hardest_moves(heaps, rule, misere=misere))
    return Choice(to_message_move(heaps, move), value=1.0 if winning else -1.0)


def move_probabilities(turn: Turn) -> None:
    """Return None: the move is not drawn at random."""


def smallest_take(moves: list[HeapMove]) -> HeapMove:
    """Return the move that takes the fewest objects, the first if there are several."""
    return min(moves, key=lambda move: move.heap - sum(move.parts))

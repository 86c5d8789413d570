"""The reference bots that search nothing, as they know what every move is worth: `perfect`, `oracle`, `equilibrium`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

from bots.client.bot import Bot, Choice, GiveUp, Turn
from machine.exact.duel import Table, table_of
from machine.exact.hand_strategies import GAMES as POKER
from machine.exact.hand_strategies import equilibrium_of, knowledge
from machine.exact.heaps import as_sent, theory_of
from machine.exact.matrix_equilibrium import equilibrium
from protocol.errors import UsageFault
from protocol.games import load
from protocol.games.base import Game
from protocol.games.dilemma import Dilemma
from protocol.games.risk.duel import Duel
from protocol.games.theory.impartial import Move, hardest_moves, winning_moves
from protocol.messages import Start


class Perfect(Bot):
    """Plays nim and Grundy's game by theory, and never loses from a won position; poker by an equilibrium, which loses
    nothing on average to anybody.

    From a lost position it leaves the opponent the least share of right replies and, among such moves, the most objects
    in nim: the longer the game, the more often the opponent must be right.
    """

    games = ("nim", "grundy", *POKER)

    def choose(self, turn: Turn) -> Choice:
        if turn.rules.name in POKER:
            return Choice(dealt(turn))
        heaps: tuple[int, ...] = turn.position.heaps
        rule, misere = theory_of(turn.rules)
        winning = winning_moves(heaps, rule, misere=misere)
        move = winning[0] if winning else longest(hardest_moves(heaps, rule, misere=misere))
        return Choice(as_sent(heaps, move), value=1.0 if winning else -1.0)

    def move_probabilities(self, turn: Turn) -> Sequence[float | Fraction] | None:
        return _in_equilibrium(turn) if turn.rules.name in POKER else None


def dealt(turn: Turn) -> Mapping[str, Any]:
    """A move of poker by lot, each as likely as in the equilibrium. What it is worth is told nobody: it gives the card
    away.
    """
    rules = turn.rules
    chances = [float(chance) for chance in _in_equilibrium(turn)]
    (move,) = turn.random.choices(rules.legal_moves(turn.position), chances)
    return rules.encode_move(move)


def _in_equilibrium(turn: Turn) -> Sequence[float | Fraction]:
    return equilibrium_of(turn.rules.name)[knowledge(turn.rules, turn.position)]


def longest(moves: list[Move]) -> Move:
    """The move that takes the fewest; the first of equals."""
    return min(moves, key=lambda move: move.heap - sum(move.parts))


class Oracle(Bot):
    """Plays bounded Risk by exact tables: a move that nothing beats in expectation, one of equals by lot; its value is
    the expected result.

    The table knows no ply limit. It is made before the bot connects, or before a match on another map; a large one
    takes minutes the first time, then seconds from the disk. One that is larger still is `arena-bot solve`'s to make.
    """

    games = ("risk-duel",)

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        """Raises `UsageFault` where the map is too large and not solved, or numba is not there."""
        table_for(load("risk-duel") if game is None else game)

    def prepare(self, start: Start) -> None:
        try:
            table_for(load(start.game, start.config))
        except UsageFault as exc:
            raise GiveUp(str(exc)) from exc

    def choose(self, turn: Turn) -> Choice:
        table = table_for(turn.rules)
        move = turn.random.choice(table.best_moves(turn.position))
        return Choice(turn.rules.encode_move(move), value=table.value(turn.position))


class Equilibrium(Bot):
    """Plays one round of a matrix in equilibrium, every round anew, by lot where that is mixed: nobody gains by playing
    otherwise than its equilibrium against it. It knows nothing of later rounds.
    """

    games = ("dilemma",)

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        rules = turn.rules
        assert isinstance(rules, Dilemma)
        mix = equilibrium(rules.payoffs)[turn.seat]
        whole = math.lcm(*(chance.denominator for chance in mix))
        drawn = Fraction(turn.random.randrange(whole), whole)
        move = next(move for move, most in enumerate(accumulate(mix)) if drawn < most)
        return rules.encode_move(move)


def table_for(rules: Game[Any, Any]) -> Table:
    """The table of a risk-duel. Raises `UsageFault` where there can be none."""
    assert isinstance(rules, Duel)
    return table_of(rules.map, rules.max_troops, rules.armies)

"""The reference bots that know the value of every move without a search: `perfect`, `oracle`, `equilibrium`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

from bots.client.bot import Bot, Choice, GiveUp, Turn
from machine.exact.duel import Table, cached_table, check_table
from machine.exact.hand_strategies import SOLVED_GAMES as POKER
from machine.exact.hand_strategies import equilibrium_of, knowledge_of
from machine.exact.heaps import theory_of, to_message_move
from machine.exact.matrix_equilibrium import equilibrium
from protocol.errors import UsageFault
from protocol.games import load_game
from protocol.games.base import Game
from protocol.games.dilemma import Dilemma
from protocol.games.risk.duel import Duel
from protocol.games.theory.impartial import HeapMove, hardest_moves, winning_moves
from protocol.messages import Start


class Perfect(Bot):
    """Plays nim and Grundy's game by theory, so that it never loses from a won position. Plays poker by an equilibrium,
    so that no opponent gains on average over both seats.

    In a lost position it leaves the opponent the smallest fraction of winning replies. Among such moves in nim, it
    takes the fewest objects: the longer the game, the more often the opponent must find the right move.
    """

    games = ("nim", "grundy", *POKER)

    def choose(self, turn: Turn) -> Choice:
        if turn.rules.name in POKER:
            return Choice(draw_equilibrium_move(turn))
        heaps: tuple[int, ...] = turn.position.heaps
        rule, misere = theory_of(turn.rules)
        winning = winning_moves(heaps, rule, misere=misere)
        move = winning[0] if winning else smallest_take(hardest_moves(heaps, rule, misere=misere))
        return Choice(to_message_move(heaps, move), value=1.0 if winning else -1.0)

    def move_probabilities(self, turn: Turn) -> Sequence[float | Fraction] | None:
        return _equilibrium_probabilities(turn) if turn.rules.name in POKER else None


def draw_equilibrium_move(turn: Turn) -> Mapping[str, Any]:
    """Draw a move of poker by an equilibrium's probabilities. Report no value, because it would reveal the card."""
    rules = turn.rules
    chances = [float(chance) for chance in _equilibrium_probabilities(turn)]
    (move,) = turn.random.choices(rules.legal_moves(turn.position), chances)
    return rules.encode_move(move)


def _equilibrium_probabilities(turn: Turn) -> Sequence[float | Fraction]:
    return equilibrium_of(turn.rules.name)[knowledge_of(turn.rules, turn.position)]


def smallest_take(moves: list[HeapMove]) -> HeapMove:
    """Return the first of those moves that take the fewest objects."""
    return min(moves, key=lambda move: move.heap - sum(move.parts))


class Oracle(Bot):
    """Plays bounded Risk by exact tables: it chooses at random among the moves with the best expected result, and
    reports this result as value.

    The table ignores the limit of plies. It is made before the bot connects, or before a match on another map. Making a
    large table takes minutes; later it is read from the disk in seconds. For the largest maps, `arena-bot solve` must
    have made the table.
    """

    games = ("risk-duel",)

    def check_game(self, game: Game[Any, Any]) -> None:
        """Raise `UsageFault` if the bot does not play the game, numba is missing, or the map is too large and has not
        been solved by `arena-bot solve`.
        """
        super().check_game(game)
        assert isinstance(game, Duel)
        try:
            check_table(game.map, game.max_troops)
        except UsageFault as fault:
            raise UsageFault(f"{self.name}: {fault}") from fault

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        """Load or make the table of the game's map. Raise `UsageFault` if `check_game` would."""
        load_table(load_game("risk-duel") if game is None else game)

    def prepare(self, start: Start) -> None:
        try:
            load_table(load_game(start.game, start.config))
        except UsageFault as exc:
            raise GiveUp(str(exc)) from exc

    def choose(self, turn: Turn) -> Choice:
        table = load_table(turn.rules)
        move = turn.random.choice(table.best_moves(turn.position))
        return Choice(turn.rules.encode_move(move), value=table.value(turn.position))


class Equilibrium(Bot):
    """Plays each round of a matrix game by an equilibrium of the single round, at random if the equilibrium is mixed.
    No opponent gains if only it leaves the equilibrium. The bot ignores earlier and later rounds.
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


def load_table(rules: Game[Any, Any]) -> Table:
    """Return the table of exact values for a map of bounded Risk. Raise `UsageFault` if it can't be made."""
    assert isinstance(rules, Duel)
    return cached_table(rules.map, rules.max_troops, rules.armies)

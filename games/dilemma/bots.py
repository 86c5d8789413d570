"""The reference bots of the repeated prisoner's dilemma and of other games of two choices each. Choice 0 is
cooperation.

The bots react to the moves that were played, which under noise may differ from the moves that were chosen.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from itertools import accumulate
from typing import Any

from bots.client.bot import Bot, Turn
from games.dilemma import memory_one
from games.dilemma.memory_one import COOPERATE, DEFECT, ROUND_RESULTS, MemoryOne, payoff_table_of
from games.dilemma.rules import Dilemma
from machine.exact.matrix_equilibrium import equilibrium
from protocol.errors import UsageFault
from protocol.games.base import Game
from protocol.messages import Event


class MemoryOneBot(Bot):
    """A bot whose probability of cooperating depends on what both players played in the last round."""

    games = ("dilemma",)

    @abstractmethod
    def strategy(self, game: Dilemma, seat: int) -> MemoryOne:
        """Return the bot's strategy in `seat`. Raise `UsageFault` if it does not exist with the game's payoffs."""

    def check_game(self, game: Game[Any, Any]) -> None:
        super().check_game(game)
        assert isinstance(game, Dilemma)
        rows, columns = map(len, game.choices)
        if (rows, columns) != (2, 2):
            raise UsageFault(
                f"{self.name} plays with 2 choices for each seat, to cooperate and to defect, not with {rows} and "
                f"{columns}: equilibrium plays any number"
            )
        for seat in range(game.seats):
            self.strategy(game, seat)

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        rules, last = turn.rules, turn.position.last
        assert isinstance(rules, Dilemma)
        chances = self.strategy(rules, turn.seat)
        chance = (
            chances.first
            if last is None
            else chances.after[ROUND_RESULTS.index((last[turn.seat], last[1 - turn.seat]))]
        )
        cooperates = turn.random.randrange(chance.denominator) < chance.numerator
        return rules.encode_move(COOPERATE if cooperates else DEFECT)


class AlwaysCooperate(MemoryOneBot):
    """Always cooperates."""

    def strategy(self, game: Dilemma, seat: int) -> MemoryOne:
        return memory_one.ALWAYS_COOPERATE


class AlwaysDefect(MemoryOneBot):
    """Always defects."""

    def strategy(self, game: Dilemma, seat: int) -> MemoryOne:
        return memory_one.ALWAYS_DEFECT


class TitForTat(MemoryOneBot):
    """Cooperates first, then repeats the opponent's last move. It won both tournaments of Axelrod (1980)."""

    def strategy(self, game: Dilemma, seat: int) -> MemoryOne:
        return memory_one.TIT_FOR_TAT


class Grim(TitForTat):
    """Cooperates until the opponent defects once, then always defects."""

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        other = 1 - turn.seat
        last = turn.position.last
        seen = [moves_played(turn.rules, event)[other] for event in turn.events if event.moves is not None]
        if DEFECT in seen or (last is not None and last[other] == DEFECT):
            turn.memory["betrayed"] = True
        return turn.rules.encode_move(DEFECT if "betrayed" in turn.memory else COOPERATE)


class Pavlov(MemoryOneBot):
    """Repeats its move if the opponent cooperated, else changes it: win-stay, lose-shift (Nowak and Sigmund, 1993)."""

    def strategy(self, game: Dilemma, seat: int) -> MemoryOne:
        return memory_one.PAVLOV


class Generous(MemoryOneBot):
    """Tit for tat that forgives as often as it can without tempting the opponent (Nowak and Sigmund, 1992)."""

    def strategy(self, game: Dilemma, seat: int) -> MemoryOne:
        _check_dilemma(self.name, game)
        return memory_one.generous_tit_for_tat(payoff_table_of(game.payoffs, 1 - seat))


class Extort(MemoryOneBot):
    """Extorts twice the opponent's gain: against any opponent, its mean gain over mutual defection is twice that of the
    opponent (Press and Dyson, 2012). With Axelrod's payoffs this is the zero-determinant strategy extort-2.
    """

    def strategy(self, game: Dilemma, seat: int) -> MemoryOne:
        _check_dilemma(self.name, game)
        found = memory_one.extortion(payoff_table_of(game.payoffs, seat), payoff_table_of(game.payoffs, 1 - seat))
        if found is None:
            raise UsageFault(
                f"{self.name} can't hold seat {1 - seat} to half of its own gain, because mutual cooperation gives "
                "more: tit-for-tat, grim and pavlov play any two choices"
            )
        return found


class Equilibrium(Bot):
    """Plays each round of a matrix game by an equilibrium of the single round, at random if the equilibrium is mixed.
    No opponent gains by leaving the equilibrium. The bot ignores earlier and later rounds.
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


def moves_played(rules: Game[Any, Any], event: Event) -> tuple[int, int]:
    """Return the moves that both seats played in a round. With noise, they may differ from the choices."""
    result = event.result or {}
    if "played" in result:
        one, two = result["played"]
        return one, two
    assert event.moves is not None
    one, two = (rules.decode_move(move) for move in event.moves)
    return one, two


def _check_dilemma(name: str, game: Dilemma) -> None:
    """Raise `UsageFault` unless the game's payoffs are a prisoner's dilemma for both seats."""
    for seat in range(game.seats):
        stakes = payoff_table_of(game.payoffs, seat)
        if not stakes.is_prisoners_dilemma:
            reward, sucker, temptation, punishment = stakes
            raise UsageFault(
                f"{name} plays prisoner's dilemmas: temptation > reward > punishment > sucker, which for seat {seat} "
                f"are {temptation}, {reward}, {punishment} and {sucker}; tit-for-tat, grim and pavlov play any two "
                "choices"
            )

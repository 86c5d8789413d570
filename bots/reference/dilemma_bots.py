"""The reference bots of the repeated prisoner's dilemma, and of any game of two choices each: choice 0 is to cooperate.

They look at what was played, which with noise is not always what was meant.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from bots.client.bot import Bot, Turn
from protocol.errors import UsageFault
from protocol.games.base import Game
from protocol.games.dilemma import Dilemma
from protocol.messages import Event

COOPERATE, DEFECT = 0, 1
ALWAYS, NEVER = Fraction(1), Fraction(0)
EXTORTED = 2
"""How many times as much as the other `extort` gains over mutual defection."""


class Payoffs(NamedTuple):
    """What a seat gets where both cooperate, the other alone defects, it alone does, and both do: R, S, T, P."""

    reward: int
    sucker: int
    temptation: int
    punishment: int

    @property
    def tempt(self) -> bool:
        """Whether they make the game a prisoner's dilemma for the seat."""
        return self.temptation > self.reward > self.punishment > self.sucker


class Chances(NamedTuple):
    """How likely a seat cooperates after a round, its own choice first; and in the first round."""

    cc: Fraction
    cd: Fraction
    dc: Fraction
    dd: Fraction
    first: Fraction = ALWAYS

    def after(self, own: int, other: int) -> Fraction:
        """That after these choices."""
        return self[2 * own + other]


class MemoryOne(Bot):
    """Plays by what both played in the round before."""

    games = ("dilemma",)

    @abstractmethod
    def chances(self, game: Dilemma, seat: int) -> Chances:
        """How it plays on a seat. Raises `UsageFault` where it can't by these payoffs."""

    def check_game(self, game: Game[Any, Any]) -> None:
        super().check_game(game)
        assert isinstance(game, Dilemma)
        rows, columns = map(len, game.choices)
        if (rows, columns) != (2, 2):
            raise UsageFault(
                f"{self.name} plays matrices of 2 choices each, to cooperate and to defect, not of {rows} and "
                f"{columns}: equilibrium plays any"
            )
        for seat in range(game.seats):
            self.chances(game, seat)

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        rules, last = turn.rules, turn.position.last
        assert isinstance(rules, Dilemma)
        chances = self.chances(rules, turn.seat)
        chance = chances.first if last is None else chances.after(last[turn.seat], last[1 - turn.seat])
        cooperates = turn.random.randrange(chance.denominator) < chance.numerator
        return rules.encode_move(COOPERATE if cooperates else DEFECT)


class AlwaysCooperate(MemoryOne):
    """Cooperates whatever comes."""

    def chances(self, game: Dilemma, seat: int) -> Chances:
        return Chances(ALWAYS, ALWAYS, ALWAYS, ALWAYS)


class AlwaysDefect(MemoryOne):
    """Defects whatever comes."""

    def chances(self, game: Dilemma, seat: int) -> Chances:
        return Chances(NEVER, NEVER, NEVER, NEVER, first=NEVER)


class TitForTat(MemoryOne):
    """Cooperates, then does what the other did: the winner of both tournaments in Axelrod, 1980."""

    def chances(self, game: Dilemma, seat: int) -> Chances:
        return Chances(ALWAYS, NEVER, ALWAYS, NEVER)


class Grim(TitForTat):
    """Cooperates until the other has defected once, then never again."""

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        other = 1 - turn.seat
        last = turn.position.last
        seen = [played(turn.rules, event)[other] for event in turn.events if event.moves is not None]
        if DEFECT in seen or (last is not None and last[other] == DEFECT):
            turn.memory["betrayed"] = True
        return turn.rules.encode_move(DEFECT if "betrayed" in turn.memory else COOPERATE)


class Pavlov(MemoryOne):
    """Keeps its choice if the other cooperated, else changes it: win-stay, lose-shift (Nowak and Sigmund, 1993)."""

    def chances(self, game: Dilemma, seat: int) -> Chances:
        return Chances(ALWAYS, NEVER, NEVER, ALWAYS)


class Generous(MemoryOne):
    """Tit for tat that forgives as often as it can without tempting the other (Nowak and Sigmund, 1992)."""

    def chances(self, game: Dilemma, seat: int) -> Chances:
        _check_dilemma(self.name, game)
        reward, sucker, temptation, punishment = payoffs_of(game, 1 - seat)
        forgives = max(
            NEVER,
            min(
                1 - Fraction(temptation - reward, reward - sucker),
                Fraction(reward - punishment, temptation - punishment),
            ),
        )
        return Chances(ALWAYS, forgives, ALWAYS, forgives)


class Extort(MemoryOne):
    """Zero-determinant: whatever the other does, over mutual defection it gains twice as much as that, on average for
    ever (Press and Dyson, 2012). Of the strategies that do it is the one half way to the sharpest, as extort-2 is.
    """

    def chances(self, game: Dilemma, seat: int) -> Chances:
        _check_dilemma(self.name, game)
        own, other = payoffs_of(game, seat), payoffs_of(game, 1 - seat)
        # What it gains over mutual defection, less twice what the other does: in the mean this is to be 0.
        both, exploited, exploits = (
            mine - own.punishment - EXTORTED * (theirs - other.punishment)
            for mine, theirs in (
                (own.reward, other.reward),
                (own.sucker, other.temptation),
                (own.temptation, other.sucker),
            )
        )
        if both > 0:
            raise UsageFault(
                f"{self.name} can't hold seat {1 - seat} to half of what it gains itself, as mutual cooperation gives "
                "more: tit-for-tat, grim and pavlov play any two choices"
            )
        scale = Fraction(1, 2 * max(-both, -exploited, exploits))
        return Chances(1 + scale * both, 1 + scale * exploited, scale * exploits, NEVER)


def payoffs_of(game: Dilemma, seat: int) -> Payoffs:
    """The payoffs of a seat, which are its own however the matrix is written."""
    cells = (game.payoffs[own][other] if seat == 0 else game.payoffs[other][own] for own in (0, 1) for other in (0, 1))
    return Payoffs(*(cell[seat] for cell in cells))


def played(rules: Game[Any, Any], event: Event) -> tuple[int, int]:
    """What both seats played in the round of an event, which with noise is in its result."""
    result = event.result or {}
    if "played" in result:
        one, two = result["played"]
        return one, two
    assert event.moves is not None
    one, two = (rules.decode_move(move) for move in event.moves)
    return one, two


def _check_dilemma(name: str, game: Dilemma) -> None:
    """Raises `UsageFault` where the matrix is no prisoner's dilemma for both."""
    for seat in range(game.seats):
        payoffs = payoffs_of(game, seat)
        if not payoffs.tempt:
            reward, sucker, temptation, punishment = payoffs
            raise UsageFault(
                f"{name} plays prisoner's dilemmas: temptation > reward > punishment > sucker, which for seat {seat} "
                f"are {temptation}, {reward}, {punishment} and {sucker}; tit-for-tat, grim and pavlov play any two "
                "choices"
            )

"""The contracts of the entry points `PLAYER_ENTRY_POINT_GROUP` and `APPRAISER_ENTRY_POINT_GROUP` of
protocol.bot_launch: packages that play bots, or estimate moves, inside the arena's process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from protocol.errors import UsageFault
from protocol.messages import FromClient, FromServer
from referee.effects import MatchEvent
from referee.footer import ClosedMatch
from referee.record import Header, Ply, Strike
from referee.state import MatchStanding

MatchObserver = Callable[[Ply | Strike | None, Any], object]
"""A callback that observes a match. The first call gets (None, first state); each later call gets a line of the record
and the state after the line.
"""
SeatPlayer = Callable[[FromServer], Sequence[FromClient]]
"""A bot in a seat: it takes a message from the server and returns the bot's answers."""


class InProcessPlayers(Protocol):
    """Bots that play without processes of their own. A package offers a function that makes them, as an entry point of
    the group `PLAYER_ENTRY_POINT_GROUP`.

    The function takes the specs of the bots, the game, a callback and the flag `strict`. The callback
    `on_message(bot, line)` gets each line that is meant for a bot's author.
    """

    failed_bots: Mapping[str, str]
    """The bots that cannot play, each with the reason. They miss their matches. With `strict`, there are none."""

    def play(self, header: Header, seed: bytes, observer: MatchObserver | None = None) -> ClosedMatch:
        """Play and referee the match of a header whose seats name these bots. `seed` is the one that the header commits
        to. Clocks do not run during calls of `observer`. Raise `RulesFault` if the rules of the game fail.
        """

    def play_on(
        self,
        header: Header,
        seed: bytes,
        standing: MatchStanding,
        events: Sequence[MatchEvent],
        observer: MatchObserver | None = None,
    ) -> ClosedMatch:
        """Continue a match from its standing between two events, after first applying `events`. Clocks do not run.

        The `observer` and the returned lines get only what happens from `events` on. The message `end` reveals `seed`,
        but the dice come from the standing and need not derive from `seed`. Bots join as after a restart of their
        programs: their first turn has all events so far.
        """

    def join_seat(self, bot: str, seed: str) -> SeatPlayer:
        """Return the player for one of these bots, `bot`, in a match that another referee runs. The bot's randomness
        and its nonce derive from `seed`.
        """


class CannotEstimate(UsageFault):
    """Raised if an evaluator cannot estimate the moves of a game."""


class MoveEvaluation(NamedTuple):
    """The estimated values of a move and of the move that the search prefers, as expected results for the seat, −1 to
    1. `standard_error` is the standard error of the difference between these values; 0 if the two moves are the same.
    """

    value: float
    best: Any
    best_value: float
    standard_error: float


class MoveEvaluator(Protocol):
    """An estimator of the moves of one match. The entry point makes it from the game, the number of simulations per
    move and a seed, from which all randomness derives. It raises `CannotEstimate` for a game that it does not know and
    `UsageFault` for a number of simulations out of range.
    """

    description: str
    """A description of the method, such as `uct, 1,000 simulations a move`."""

    @classmethod
    def supports(cls, game: str) -> bool:
        """Return whether the evaluator can estimate moves of the game with this name."""

    def evaluate_move(self, state: Any, move: Any, ply: int) -> MoveEvaluation:
        """Estimate the value of a legal move in a state. `ply` is the ply of the state."""

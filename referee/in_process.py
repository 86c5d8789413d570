"""The contracts of the entry points `PLAYERS` and `APPRAISERS` of protocol.bot_launch: who plays bots for an arena,
and who estimates moves for it, in its own process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from protocol.errors import UsageFault
from protocol.messages import FromClient, FromServer
from referee.effects import MatchEvent
from referee.footer import Closed
from referee.record import Header, Ply, Strike
from referee.state import MatchStanding

Told = Callable[[Ply | Strike | None, Any], object]
"""Is told a match as it goes on: None with the first state, then each line of its record with the state after it."""
Listener = Callable[[FromServer], Sequence[FromClient]]
"""A bot in a seat: what is said to it, and what it says then."""


class InProcess(Protocol):
    """Bots that play without processes of their own: what an entry point makes of their specs, the game, and a
    `say(bot, line)` that is told what an author has to know; and whether to be `strict`.
    """

    failing: Mapping[str, str]
    """The bots that can't play, and why, where that is not strict: they do not come to their matches."""

    def play(self, header: Header, seed: bytes, told: Told | None = None) -> Closed:
        """Referee the match of a header, whose seats name these bots; `seed` is that of its commitment. Whoever is
        `told` of it meanwhile takes no time from any clock.
        """

    def play_on(
        self, header: Header, seed: bytes, standing: MatchStanding, acts: Sequence[MatchEvent], told: Told | None = None
    ) -> Closed:
        """The end of the match of a header from where it stands, after these acts, where nobody's thinking takes time;
        what is told, and closed, begins with the acts. `seed` is what its `end` says; the dice are the standing's.

        Bots come in as after a restart of their programs: their first turn has all events so far.
        """

    def listen(self, bot: str, seed: str) -> Listener:
        """One of these bots for a match that is refereed elsewhere: its chance and nonce follow from `seed`."""


class NoEstimate(UsageFault):
    """A game whose moves this appraiser can't estimate."""


class Appraisal(NamedTuple):
    """What a move was worth to its seat and what the search would have played: expected results, -1 to 1, as estimated.

    `error` is the standard error of the difference; 0 where the two are the same move.
    """

    value: float
    best: Any
    best_value: float
    error: float


class Appraiser(Protocol):
    """Who estimates moves of one match: what an entry point makes of the game, the simulations that a move may take and
    a seed, from which all chance follows.

    Raises `NoEstimate` for a game that it does not know, `UsageFault` for simulations that are too few or too many.
    """

    told: str
    """By what it estimates, in words: `uct, 1,000 simulations a move`."""

    @classmethod
    def knows(cls, game: str) -> bool:
        """Whether it estimates moves of the game of this name."""

    def judge(self, state: Any, move: Any, ply: int) -> Appraisal:
        """The estimate of a legal move in a state, at that ply."""

"""The contract of the entry points of `protocol.launch.PLAYERS`: who plays bots for an arena, in its own process."""

from __future__ import annotations

from typing import Protocol

from referee.closing import Closed
from referee.record import Header


class InProcess(Protocol):
    """Bots that play without processes of their own: what an entry point makes of their specs, the game, and a
    `say(bot, line)` that is told what an author has to know.
    """

    def play(self, header: Header, seed: bytes) -> Closed:
        """Referee the match of a header, whose seats name these bots; `seed` is that of its commitment."""

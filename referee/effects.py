"""What comes into the referee (`MatchEvent`) and what it wants done (`Effect`), as values."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from protocol.messages import End, Error, Rejected, Start, Turn
from referee.record import AnyLine


class Readied(Struct, frozen=True, gc=False):
    """A seat is ready and adds its nonce (empty if it has none)."""

    seat: int
    nonce: bytes


class Played(Struct, frozen=True, gc=False):
    """A seat answers the turn of `ply`. In seconds, `round_trip` is what its connection costs and `waited` how long the
    move had lain unread; None: nobody knows."""

    seat: int
    ply: int
    move: Any
    info: Any = None
    round_trip: float = 0.0
    waited: float | None = None


class Resigned(Struct, frozen=True, gc=False):
    """A seat gives up, or its program `failed`."""

    seat: int
    failed: bool = False


class Left(Struct, frozen=True, gc=False):
    """A seat's connection is gone; its clock goes on."""

    seat: int


class Returned(Struct, frozen=True, gc=False):
    """A seat's connection is back."""

    seat: int


class Forfeited(Struct, frozen=True, gc=False):
    """A seat is gone for good: nothing will come back to use its clock."""

    seat: int


class Absent(Struct, frozen=True, gc=False):
    """A seat will not come: its bot can't play."""

    seat: int


class Expired(Struct, frozen=True, gc=False):
    """The deadline has passed, and every frame that had arrived by then has been looked at."""


class Delayed(Struct, frozen=True, gc=False):
    """What was to be told to a seat later than at `after` could be written only at `until`."""

    seat: int
    after: float
    until: float


class Held(Struct, frozen=True, gc=False):
    """The match was held for so many seconds until it was recorded: its clocks stood."""

    by: float


class Voided(Struct, frozen=True, gc=False):
    """The arena cannot go on with the match."""

    undo: bool = False
    """Whether to take back what the last event did: the arena failed before it could be recorded."""


class Write(Struct, frozen=True, gc=False):
    """Write this line to the journal before anything that follows."""

    line: AnyLine
    state: Any = None
    """The game's state after it, where it is an event."""


class Tell(Struct, frozen=True, gc=False):
    """Send a seat a message."""

    seat: int
    message: Start | Turn | Rejected | Error | End


class TellMany(Struct, frozen=True, gc=False):
    """Send seats that are not to move, and have been told the same so far, the same turn."""

    seats: tuple[int, ...]
    message: Turn


class Show(Struct, frozen=True, gc=False):
    """Send watchers what every watcher may see."""

    message: Start | Turn


class Release(Struct, frozen=True, gc=False):
    """A seat has been told its own end; its bot is free although the match goes on."""

    seat: int


class Deadline(Struct, frozen=True, gc=False):
    """Send `Expired` at this time; None: no more."""

    at: float | None


class Finish(Struct, frozen=True, gc=False):
    """The match is over: store `result()`, then send `farewell()` to everyone who was not released."""


MatchEvent = Readied | Played | Resigned | Left | Returned | Forfeited | Absent | Expired | Delayed | Held | Voided
Effect = Write | Tell | TellMany | Show | Release | Deadline | Finish

"""The events that the referee receives (`MatchEvent`) and the effects that it asks for (`Effect`)."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from protocol.errors import RulesFault
from protocol.messages import End, Error, Rejected, Start, Turn
from referee.record import AnyLine


class SeatReady(Struct, frozen=True, gc=False):
    """A seat is ready and adds its nonce (empty if it has none)."""

    seat: int
    nonce: bytes


class MoveReceived(Struct, frozen=True, gc=False):
    """A seat answers the turn of `ply`. `round_trip_s` is the round trip of its connection in seconds. `waited_s` is
    the time in seconds that the move lay unread, or None if that is unknown.
    """

    seat: int
    ply: int
    move: Any
    info: Any = None
    round_trip_s: float = 0.0
    waited_s: float | None = None


class Resignation(Struct, frozen=True, gc=False):
    """A seat gives up, or its program `failed`."""

    seat: int
    failed: bool = False


class Disconnect(Struct, frozen=True, gc=False):
    """A seat lost its connection; its clock runs on."""

    seat: int


class Reconnect(Struct, frozen=True, gc=False):
    """A seat is connected again."""

    seat: int


class RunnerLost(Struct, frozen=True, gc=False):
    """The arena has lost the runner of a seat's bot, and starts the bot on another one. This is no fault of the bot."""

    seat: int


class Forfeit(Struct, frozen=True, gc=False):
    """A seat will not come back, so it loses at once, before its clock runs out."""

    seat: int


class NoShow(Struct, frozen=True, gc=False):
    """A seat will not come to the match, because its bot cannot play."""

    seat: int


class DeadlineReached(Struct, frozen=True, gc=False):
    """The deadline of the match has passed, and every frame that arrived before it has been handled."""


class SendDelay(Struct, frozen=True, gc=False):
    """A report that messages to a seat were delayed. Messages that were sent after the time `sent_after` were not
    written to the connection before the time `written_at`.
    """

    seat: int
    sent_after: float
    written_at: float


class Pause(Struct, frozen=True, gc=False):
    """The match and its clocks stood still for the last `pause_s` seconds, because the journal could not be written."""

    pause_s: float


class Abort(Struct, frozen=True, gc=False):
    """The arena cannot go on with the match."""

    undo_last_event: bool = False
    """True if the last event must first be undone, because the arena failed before storing it."""


class WriteLine(Struct, frozen=True, gc=False):
    """Write a line to the journal, before performing any later effect."""

    line: AnyLine
    state: Any = None
    """The state of the game after the event, if the line is an event."""


class SendToSeat(Struct, frozen=True, gc=False):
    """Send a message to a seat."""

    seat: int
    message: Start | Turn | Rejected | Error | End


class SendToSeats(Struct, frozen=True, gc=False):
    """Send the same turn to seats that are not to move and have seen the same events so far."""

    seats: tuple[int, ...]
    message: Turn


class SendToWatchers(Struct, frozen=True, gc=False):
    """Send a message to all watchers. It has only what every watcher may see."""

    message: Start | Turn


class ReleaseSeat(Struct, frozen=True, gc=False):
    """Release a seat that has been sent its `end`. Its bot is free, although the match goes on."""

    seat: int


class SetDeadline(Struct, frozen=True, gc=False):
    """Send `DeadlineReached` to the referee at this time. None cancels the deadline."""

    time: float | None


class ReportRulesFault(Struct, frozen=True, gc=False):
    """Report that the match is void because the rules of its game failed."""

    fault: RulesFault


class FinishMatch(Struct, frozen=True, gc=False):
    """Finish the match: store `result()`, then send `end_message()` to every seat that was not released."""


MatchEvent = (
    SeatReady
    | MoveReceived
    | Resignation
    | Disconnect
    | Reconnect
    | RunnerLost
    | Forfeit
    | NoShow
    | DeadlineReached
    | SendDelay
    | Pause
    | Abort
)
Effect = (
    WriteLine | SendToSeat | SendToSeats | SendToWatchers | ReleaseSeat | SetDeadline | ReportRulesFault | FinishMatch
)

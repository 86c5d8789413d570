"""The events of a match that arrive while the match waits to be recorded."""

from __future__ import annotations

from collections import Counter

from arena.host.broadcast import Peer
from referee.effects import MatchEvent, MoveReceived, Resignation, SeatReady

MAX_QUEUED_PER_SEAT = 8
"""Maximum number of messages of one seat that are kept while its match waits to be recorded. An honest bot sends one or
two in that time.
"""


class Backlog:
    """The events that arrive while a match waits to be recorded."""

    def __init__(self) -> None:
        self.events: list[MatchEvent] = []
        """The events in order of arrival."""
        self.lost_seats: set[int] = set()
        """The seats whose connection has gone."""
        self.returned_seats: dict[int, tuple[Peer, bool]] = {}
        """The seats that have a new connection, each with this connection and whether it gets every turn."""
        self.watchers: dict[Peer, None] = {}
        """The peers that asked to watch the match."""
        self._message_counts: Counter[int] = Counter()

    def add(self, event: MatchEvent) -> None:
        """Keep an event for later, unless its seat has sent too many messages."""
        if isinstance(event, (SeatReady, MoveReceived, Resignation)):
            self._message_counts[event.seat] += 1
            if self._message_counts[event.seat] > MAX_QUEUED_PER_SEAT:
                return
        self.events.append(event)

    def note_lost(self, seat: int, peer: Peer, current_peer: Peer | None) -> bool:
        """Note that the connection `peer` of a seat has gone. Return whether it was the seat's `current_peer`."""
        if seat in self.returned_seats and self.returned_seats[seat][0] is peer:
            del self.returned_seats[seat]
        if current_peer is not peer:
            return False
        self.lost_seats.add(seat)
        return True

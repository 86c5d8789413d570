"""A match that is held: what could not be recorded, and what came in since, kept until it can be."""

from __future__ import annotations

from collections import Counter

from arena.host.peer import Peer
from referee.effects import Delayed, Effect, Expired, MatchEvent, Played, Readied, Resigned

MOST_KEPT = 8
"""So many messages of a seat are kept; an honest bot sends one or two."""


class SuspendedMatch:
    """`effects` wait to be recorded `since` then, in seconds of the event loop. Time that passes is nobody's."""

    def __init__(self, effects: list[Effect], since: float) -> None:
        self.effects = effects
        self.since = since
        self.told = False
        """Whether the seats have been told of it."""
        self.events: list[MatchEvent] = []
        """What came in, in order."""
        self.lost: set[int] = set()
        """The seats whose connection is gone."""
        self.back: dict[int, tuple[Peer, bool]] = {}
        """The seats with a new connection, and whether it follows."""
        self.watchers: dict[Peer, None] = {}
        """Who asked to watch."""
        self._sent: Counter[int] = Counter()

    def keep(self, event: MatchEvent) -> None:
        """Keep an event for later; what tells of time is dropped, as all of it is given back."""
        if isinstance(event, (Expired, Delayed)):
            return
        if isinstance(event, (Readied, Played, Resigned)):
            self._sent[event.seat] += 1
            if self._sent[event.seat] > MOST_KEPT:
                return
        self.events.append(event)

    def lose(self, seat: int, peer: Peer, seated: Peer | None) -> bool:
        """A connection is gone; whether it was the one that is `seated`."""
        if seat in self.back and self.back[seat][0] is peer:
            del self.back[seat]
        if seated is not peer:
            return False
        self.lost.add(seat)
        return True

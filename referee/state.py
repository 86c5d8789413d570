"""The standing of a match: everything that an event may change, and how to undo an event."""

from __future__ import annotations

import enum
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from protocol.errors import MalformedMessage
from protocol.messages import Event, Info
from protocol.reasons import ABSENCES, FAILED
from referee.clock import TimeBanks
from referee.course import Course
from referee.footer import moves_of
from referee.record import MOST_INFO, size_of

MOST_KEPT, KEPT = 256, 128
"""Above the first number of events in memory, a match keeps only the second, if it can fetch older ones."""
MOST_BYTES, BYTES = 32 * 1024, 16 * 1024
"""The limits of the same kind in bytes of JSON, which are counted every `LOOK_EVERY` events."""
LOOK_EVERY = 64

_encode = msgspec.json.Encoder().encode

Older = Callable[[Event, int], list[Event]]
"""`older(event, most)` returns the last `most` events before this one, or fewer if a message has no room for them."""


class Phase(enum.IntEnum):
    """A phase of a match: until every seat is ready, until the game is over, and after that."""

    WAITING = 0
    PLAYING = 1
    OVER = 2


class MatchStanding(Struct, gc=False):
    """A match between two events. Mappings by seat have no entry for a seat without a value. No value is changed in
    place, except `events`, which only grows: a shallow copy and a length are a full snapshot.
    """

    clock: TimeBanks
    phase: Phase = Phase.WAITING
    course: Course | None = None
    """The course of the match; None until every seat is ready."""
    until: float | None = None
    """The end of the time to be ready, or to come back after a restart; None once the clocks run."""
    nonces: Mapping[int, bytes] = {}
    quitting: Mapping[int, str] = {}
    """The seats that drop out as soon as the match begins, each with the reason."""
    away: Mapping[int, float] = {}
    """The disconnected seats, each with the time of the disconnect."""
    follows: frozenset[int] = frozenset()
    """The seats that get the turn of every ply."""
    strikes: Mapping[int, int] = {}
    answered: Mapping[int, int] = {}
    """The number of events before each seat's last accepted move."""
    told: Mapping[int, int] = {}
    """The number of events that each seat has been sent."""
    shown: int = 0
    """The number of events that watchers have been sent."""
    events: list[Event] = []
    """The latest events; all of them, unless there is `older`."""
    looked_at: int = 0
    size: int = 0
    """The approximate bytes of the events when they were last counted, at the number of events `looked_at`."""
    dropped: int = 0
    """The number of events before those in memory."""
    moves_dropped: Mapping[int, int] = {}
    """The number of moves among the dropped events, by seat."""
    older: Older | None = None
    said: Mapping[int, int] = {}
    """The bytes of `info` from each seat in the record."""
    round_ms: Sequence[int] = ()
    """The clocks at the start of the current simultaneous round."""
    noted: tuple[int, ...] = ()
    """The lag compensation of each seat that lines of the record already report, in milliseconds."""

    @property
    def playing(self) -> Course:
        """The course of a match that has begun."""
        assert self.course is not None
        return self.course

    @property
    def mixed_in(self) -> list[bytes]:
        """The nonces by seat, empty for a seat that gave none."""
        return [self.nonces.get(seat, b"") for seat in range(len(self.clock.banks))]

    @property
    def nonces_in_hex(self) -> list[str]:
        """The nonces by seat, in hex."""
        return [nonce.hex() for nonce in self.mixed_in]

    def begin(self, course: Course) -> Event | None:
        """Start playing a course. Return its deal, if there is one."""
        self.course, deal = course.begin()
        self.phase = Phase.PLAYING
        return deal

    def stop_waiting(self) -> None:
        """End the wait after a restart once every seat still in the match is back."""
        if not self.away.keys() - self.playing.out.keys():
            self.until = None

    def lose(self, seat: int, now: float) -> None:
        """Note that a seat is disconnected."""
        self.away = {seat: now, **self.away}
        self.follows -= {seat}

    def regain(self, seat: int) -> None:
        """Note that a seat is connected again."""
        self.away = {other: since for other, since in self.away.items() if other != seat}

    def hold(self, by: float, now: float) -> None:
        """Shift all times by a pause of `by` seconds that ends now."""
        self.away = {seat: min(since + by, now) for seat, since in self.away.items()}
        if self.until is not None:
            self.until += by
        else:
            self.clock = self.clock.held(by, now)

    def deadline(self, away: float) -> float | None:
        """Return when the wait for seats ends, or in play when a bank is empty or a seat has been disconnected for too
        long. `away` is the limit in seconds for a disconnected seat; 0: no limit. None: there is no deadline.
        """
        if self.until is not None:
            return self.until
        ends = [self.clock.deadline, *(since + away for since, _, _ in self._missing() if away)]
        return min((end for end in ends if end is not None), default=None)

    def longest_away(self) -> int:
        """Return the seat that has been disconnected for longest; in a tie a seat to move comes first."""
        return min(self._missing())[2]

    def _missing(self) -> list[tuple[float, bool, int]]:
        """Return the disconnected seats still in the match, as tuples (disconnected since, not to move, seat)."""
        course = self.playing
        return [(since, not course.awaits(at), at) for at, since in self.away.items() if at not in course.out]

    def accept(self, event: Event) -> None:
        """Note a seat's move."""
        self.answered = {**self.answered, event.seat: self.dropped + len(self.events)}
        self.events.append(event)

    def seal(self, seat: int) -> None:
        """Note a seat's move in a simultaneous round."""
        self.answered = {**self.answered, seat: self.dropped + len(self.events)}

    def accepted(self, seat: int, ply: int) -> dict[str, Any] | None:
        """Return the move of a seat at an earlier ply, if it is still in memory."""
        for event in islice(self.events, bisect_left(self.events, ply, key=lambda event: event.ply), None):
            if event.ply != ply:
                break
            if event.moves is not None:
                return event.moves[seat]
            if event.seat == seat and event.out is None:
                return event.move
        return None

    def strike(self, seat: int) -> int:
        """Count a strike of a seat. Return its number of strikes."""
        strikes = self.strikes.get(seat, 0) + 1
        self.strikes = {**self.strikes, seat: strikes}
        return strikes

    def keep(self, seat: int, info: Info | None) -> Info | None:
        """Count the bytes of an `info`. Raises `MalformedMessage` if the record has no room for it."""
        if info is not None:
            said, size = sum(self.said.values()), size_of(info)
            if said + size > MOST_INFO:
                raise MalformedMessage(f"info: {said} bytes are kept of this match, of {MOST_INFO} at most")
            self.count_info(seat, size)
        return info

    def note(self, seat: int, given: int, info: Info | None) -> None:
        """Note what the line of a seat's move reports besides it: lag compensation in milliseconds, and an `info`."""
        if info is not None:
            self.count_info(seat, size_of(info))
        if given:
            self.clock = self.clock.give(seat, given)
            self.newly_given(seat)

    def newly_given(self, seat: int) -> int:
        """Return a seat's lag compensation that no line reports yet, in milliseconds, and count it as reported."""
        given, noted = self.clock.given, self.noted
        self.noted = (*noted[:seat], given[seat], *noted[seat + 1 :])
        return given[seat] - noted[seat]

    def count_info(self, seat: int, size: int) -> None:
        """Add to the bytes of a seat's `info`."""
        self.said = {**self.said, seat: self.said.get(seat, 0) + size}

    def since(self, number: int) -> list[Event]:
        """Return the events from a number on, counted from 0; of too many for a message, the last."""
        at = number - self.dropped
        if at >= 0 or self.older is None:
            return self.events[max(at, 0) :]
        return [*self.older(self.events[0], -at), *self.events]

    def news(self, seat: int | None) -> list[Event]:
        """Return the events that a seat, or the watchers (None), have not been sent yet."""
        return self.since(self.shown if seat is None else self.told.get(seat, 0))

    def tell(self, seat: int) -> list[Event]:
        """Return the events that a seat has not been sent yet, and count them as sent."""
        dropped, told = self.dropped, self.told
        self.told = {**told, seat: dropped + len(self.events)}
        number = told.get(seat, 0)
        return self.events[number - dropped :] if number >= dropped else self.since(number)

    def drop(self) -> None:
        """Keep only the latest events if there are too many, or too many bytes, and older ones can be fetched."""
        if self.older is not None:
            self.size += len(_encode(self.events[self.looked_at :]))
            many = len(self.events)
            if many > MOST_KEPT or self.size > MOST_BYTES:
                kept = max(1, min(KEPT, many * BYTES // self.size))
                self.moves_dropped = Counter(self.moves_dropped) + moves_of(self.events[:-kept])
                self.dropped += many - kept
                del self.events[:-kept]
                self.size = self.size * kept // many
        self.looked_at = len(self.events)

    @property
    def moves(self) -> Mapping[int, int]:
        """The number of moves of each seat."""
        return Counter(self.moves_dropped) + moves_of(self.events)

    def forget(self, seat: int) -> None:
        """Count the events since a seat's last accepted move as not sent: the seat may have missed them."""
        self.told = {**self.told, seat: self.answered.get(seat, 0)}

    def absent(self, seat: int) -> bool:
        """Whether a seat that never moved dropped out because nothing was heard of it, or had the match called off."""
        course = self.course
        if course is not None and course.called_off:
            return self.quitting.get(seat) in (*ABSENCES, FAILED) and seat not in self.answered
        out = None if course is None else course.out.get(seat)
        return out in ABSENCES and seat not in self.answered

    def stayed(self, seat: int) -> bool:
        """Return whether the match is over and a seat was in it to the end."""
        course = self.course
        return self.phase is Phase.OVER and course is not None and not course.called_off and seat not in course.out

    def branch(self) -> MatchStanding:
        """Return an independent copy of the standing."""
        branch = _copy(self)
        branch.events = [*self.events]
        return branch

    def snapshot(self) -> Snapshot:
        """Return a snapshot for `restored`, after dropping old events if there are too many."""
        events = len(self.events)
        if events > self.looked_at + LOOK_EVERY:
            self.drop()
            events = len(self.events)
        return _copy(self), events


_copy: Callable[[MatchStanding], MatchStanding] = MatchStanding.__copy__  # type: ignore[attr-defined]
"""A third of the time of `copy.copy`, which looks up the same method."""

Snapshot = tuple[MatchStanding, int]
"""A copy of a standing, with its number of events."""


def restored(snapshot: Snapshot) -> MatchStanding:
    """Return the standing at the time of a snapshot, in place of the current one. A snapshot can be used once."""
    standing, events = snapshot
    del standing.events[events:]
    return standing

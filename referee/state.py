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
from referee.footer import count_moves
from referee.record import MAX_INFO_BYTES, encoded_size

MAX_EVENTS_IN_MEMORY, TRIMMED_EVENT_COUNT = 256, 128
"""`MAX_EVENTS_IN_MEMORY` is the maximum number of events in memory. If a match has more, and can fetch older events, it
drops all but the latest `TRIMMED_EVENT_COUNT`.
"""
MAX_EVENT_BYTES_IN_MEMORY, TRIMMED_EVENT_BYTES = 32 * 1024, 16 * 1024
"""`MAX_EVENT_BYTES_IN_MEMORY` is the maximum size in bytes, as JSON, of the events in memory. If the events of a match
are larger, the match drops all but the latest `TRIMMED_EVENT_BYTES` bytes of them. The bytes are counted every
`EVENTS_PER_SIZE_CHECK` events.
"""
EVENTS_PER_SIZE_CHECK = 64
"""Number of new events after which a match counts the bytes of its events in memory."""

_encode = msgspec.json.Encoder().encode

OlderEvents = Callable[[Event, int], list[Event]]
"""The type of `load_older(event, most)`, which returns the last `most` events before `event`, or fewer if a message has
no room for them all.
"""


class Phase(enum.IntEnum):
    """A phase of a match: before every seat is ready, then until the match is over, and after that."""

    WAITING = 0
    """Some seats are not ready yet."""
    PLAYING = 1
    """All seats are ready, and the match is in progress."""
    OVER = 2
    """The match is over."""


class MatchStanding(Struct, gc=False):
    """The standing of a match between two events. Mappings by seat have no entry for a seat without a value. Only
    `events` is changed in place, and it only grows. So a shallow copy and the length of `events` are a full snapshot.
    """

    clock: TimeBanks
    phase: Phase = Phase.WAITING
    course: Course | None = None
    """The course of the match; None until every seat is ready."""
    wait_until: float | None = None
    """The time until which the match waits for its seats, at the start or after a restart; None once clocks run."""
    nonces: Mapping[int, bytes] = {}
    early_quits: Mapping[int, str] = {}
    """The seats that drop out as soon as the match begins, each with the reason."""
    disconnected_since: Mapping[int, float] = {}
    """The disconnected seats, each with the time of the disconnect."""
    followers: frozenset[int] = frozenset()
    """The seats that are sent a `turn` message at every ply, not only when they are to move."""
    strikes: Mapping[int, int] = {}
    events_before_last_move: Mapping[int, int] = {}
    """The number of events before each seat's last accepted move."""
    events_sent: Mapping[int, int] = {}
    """The number of events that each seat has been sent."""
    events_shown: int = 0
    """The number of events that watchers have been sent."""
    states_unshown: tuple[dict[str, Any], ...] = ()
    """The states after the events that watchers have not been sent, if the record has states and there are watchers."""
    events: list[Event] = []
    """The latest events. Without `load_older`, these are all events."""
    events_measured: int = 0
    event_bytes: int = 0
    """The approximate bytes of the events when last counted; there were `events_measured` events at that time."""
    events_dropped: int = 0
    """The number of events that are no longer in memory."""
    moves_dropped: Mapping[int, int] = {}
    """The number of moves, by seat, among the events that are no longer in memory."""
    load_older: OlderEvents | None = None
    info_bytes: Mapping[int, int] = {}
    """The bytes of `info` in the record, by seat."""
    round_start_ms: Sequence[int] = ()
    """The milliseconds that each seat had left at the start of the current simultaneous round."""
    recorded_compensation_ms: tuple[int, ...] = ()
    """The lag compensation of each seat, in milliseconds, as far as lines of the record report it."""

    @property
    def current_course(self) -> Course:
        """The `course` of a match that has begun, which is never None."""
        assert self.course is not None
        return self.course

    @property
    def nonces_by_seat(self) -> list[bytes]:
        """The nonces by seat, empty for a seat that gave none."""
        return [self.nonces.get(seat, b"") for seat in range(len(self.clock.banks_s))]

    @property
    def nonces_in_hex(self) -> list[str]:
        return [nonce.hex() for nonce in self.nonces_by_seat]

    def begin(self, course: Course) -> Event | None:
        """Start the match with a course from `Course.new`. Return the event of its deal at the start, if any."""
        self.course, deal = course.begin()
        self.phase = Phase.PLAYING
        return deal

    def stop_waiting(self) -> None:
        """Stop waiting after a restart if every seat that is still in the match is connected."""
        if not self.disconnected_since.keys() - self.current_course.dropped_out.keys():
            self.wait_until = None

    def note_disconnect(self, seat: int, now: float) -> None:
        self.disconnected_since = {seat: now, **self.disconnected_since}
        self.followers -= {seat}

    def note_reconnect(self, seat: int) -> None:
        self.disconnected_since = {other: since for other, since in self.disconnected_since.items() if other != seat}

    def shift_times(self, pause_s: float, now: float) -> None:
        """Shift all times by a pause of `pause_s` seconds that ends now."""
        self.disconnected_since = {seat: min(since + pause_s, now) for seat, since in self.disconnected_since.items()}
        if self.wait_until is not None:
            self.wait_until += pause_s
        else:
            self.clock = self.clock.shift(pause_s, now)

    def deadline(self, away_limit_s: float) -> float | None:
        """Return the time of the next deadline; None if there is no deadline. While the match waits for seats, the
        deadline is the end of the wait. In play, it is the first time at which a bank is empty or a seat has been
        disconnected for `away_limit_s` seconds (0: no limit).
        """
        if self.wait_until is not None:
            return self.wait_until
        ends = [
            self.clock.deadline,
            *(since + away_limit_s for since, _, _ in self._disconnected_seats() if away_limit_s),
        ]
        return min((end for end in ends if end is not None), default=None)

    def longest_away(self) -> int:
        """Return the seat that has been disconnected for the longest time. In a tie, a seat to move comes first."""
        return min(self._disconnected_seats())[2]

    def _disconnected_seats(self) -> list[tuple[float, bool, int]]:
        """Return tuples (disconnected since, not to move, seat) for the disconnected seats still in the match."""
        course = self.current_course
        return [
            (since, not course.is_awaited(at), at)
            for at, since in self.disconnected_since.items()
            if at not in course.dropped_out
        ]

    def note_move(self, event: Event) -> None:
        before = dict(self.events_before_last_move)
        before[event.seat] = self.events_dropped + len(self.events)
        self.events_before_last_move = before
        self.events.append(event)

    def note_sealed_move(self, seat: int) -> None:
        """Note a seat's move in a simultaneous round."""
        self.events_before_last_move = {**self.events_before_last_move, seat: self.events_dropped + len(self.events)}

    def find_accepted_move(self, seat: int, ply: int) -> dict[str, Any] | None:
        """Return the move of a seat at an earlier ply, if it is still in memory."""
        for event in islice(self.events, bisect_left(self.events, ply, key=lambda event: event.ply), None):
            if event.ply != ply:
                break
            if event.moves is not None:
                return event.moves[seat]
            if event.seat == seat and event.out is None:
                return event.move
        return None

    def add_strike(self, seat: int) -> int:
        """Count a strike of a seat. Return its number of strikes."""
        strikes = self.strikes.get(seat, 0) + 1
        self.strikes = {**self.strikes, seat: strikes}
        return strikes

    def count_new_info(self, seat: int, info: Info | None) -> Info | None:
        """Add the bytes of an `info` to those of the record. Raise `MalformedMessage` if they exceed its limit."""
        if info is not None:
            said, size = sum(self.info_bytes.values()), encoded_size(info)
            if said + size > MAX_INFO_BYTES:
                raise MalformedMessage(
                    f"info: the record keeps at most {MAX_INFO_BYTES} bytes of info of a match, and has {said}"
                )
            self.add_info_bytes(seat, size)
        return info

    def note_line(self, seat: int, given: int, info: Info | None) -> None:
        """Note two more facts in a move's line: `given`, the seat's lag compensation in ms, and the `info`."""
        if info is not None:
            self.add_info_bytes(seat, encoded_size(info))
        if given:
            self.clock = self.clock.add_compensation(seat, given)
            self.take_unrecorded_compensation(seat)

    def take_unrecorded_compensation(self, seat: int) -> int:
        """Return the milliseconds of a seat's lag compensation that no line reports yet, and count them as reported."""
        given, noted = self.clock.compensated_ms, self.recorded_compensation_ms
        self.recorded_compensation_ms = (*noted[:seat], given[seat], *noted[seat + 1 :])
        return given[seat] - noted[seat]

    def add_info_bytes(self, seat: int, size: int) -> None:
        """Add to the bytes of a seat's `info`."""
        self.info_bytes = {**self.info_bytes, seat: self.info_bytes.get(seat, 0) + size}

    def events_since(self, number: int) -> list[Event]:
        """Return the events from number `number` on, counted from 0. If they are too many for one message, return only
        the last ones.
        """
        at = number - self.events_dropped
        if at >= 0 or self.load_older is None:
            return self.events[max(at, 0) :]
        return [*self.load_older(self.events[0], -at), *self.events]

    def unsent_events(self, seat: int | None) -> list[Event]:
        """Return the events that a seat, or the watchers (None), have not been sent yet."""
        return self.events_since(self.events_shown if seat is None else self.events_sent.get(seat, 0))

    def take_unsent_events(self, seat: int) -> list[Event]:
        """Return the events that a seat has not been sent yet, and count them as sent."""
        dropped, events, sent = self.events_dropped, self.events, dict(self.events_sent)
        number = sent.get(seat, 0)
        sent[seat] = dropped + len(events)
        self.events_sent = sent
        return events[number - dropped :] if number >= dropped else self.events_since(number)

    def trim_events(self) -> None:
        """If there are too many events in memory, or too many bytes of them, drop all but the latest. Events are only
        dropped if `load_older` can fetch them again.
        """
        if self.load_older is not None:
            self.event_bytes += len(_encode(self.events[self.events_measured :]))
            many = len(self.events)
            if many > MAX_EVENTS_IN_MEMORY or self.event_bytes > MAX_EVENT_BYTES_IN_MEMORY:
                kept = max(1, min(TRIMMED_EVENT_COUNT, many * TRIMMED_EVENT_BYTES // self.event_bytes))
                self.moves_dropped = Counter(self.moves_dropped) + count_moves(self.events[:-kept])
                self.events_dropped += many - kept
                del self.events[:-kept]
                self.event_bytes = self.event_bytes * kept // many
        self.events_measured = len(self.events)

    @property
    def move_counts(self) -> Mapping[int, int]:
        """The number of moves that each seat has made."""
        return Counter(self.moves_dropped) + count_moves(self.events)

    def mark_unsent(self, seat: int) -> None:
        """Count the events since a seat's last accepted move as not sent: the seat may have missed them."""
        self.events_sent = {**self.events_sent, seat: self.events_before_last_move.get(seat, 0)}

    def was_absent(self, seat: int) -> bool:
        """Return true if a seat missed the match: it dropped out before its first move and without a message. If the
        match was called off, return true if this was because the seat missed the match or its program failed.
        """
        course = self.course
        if course is not None and course.is_void:
            return self.early_quits.get(seat) in (*ABSENCES, FAILED) and seat not in self.events_before_last_move
        out = None if course is None else course.dropped_out.get(seat)
        return out in ABSENCES and seat not in self.events_before_last_move

    def stayed_to_end(self, seat: int) -> bool:
        """Return whether the match is over, and was not called off, and the seat was in it to the end."""
        course = self.course
        return self.phase is Phase.OVER and course is not None and not course.is_void and seat not in course.dropped_out

    def copy_for_branch(self) -> MatchStanding:
        """Return an independent copy of the standing, so that another continuation of the match can be played on the
        copy.
        """
        branch = _copy(self)
        branch.events = [*self.events]
        return branch

    def snapshot(self) -> Snapshot:
        """Return a snapshot for `restore_snapshot`, after dropping old events if there are too many."""
        events = len(self.events)
        if events > self.events_measured + EVENTS_PER_SIZE_CHECK:
            self.trim_events()
            events = len(self.events)
        return _copy(self), events


_copy: Callable[[MatchStanding], MatchStanding] = MatchStanding.__copy__  # type: ignore[attr-defined]
"""The function that makes a shallow copy of a standing. `copy.copy` calls the same method but takes three times as long
to find it.
"""

Snapshot = tuple[MatchStanding, int]
"""The type of a snapshot of a match's standing: a shallow copy of the standing, and the number of events it had when
copied.
"""


def restore_snapshot(snapshot: Snapshot) -> MatchStanding:
    """Return the standing of a snapshot, without the events that came after it. Use it in place of the current
    standing, which shares its list of events. A snapshot can be used only once.
    """
    standing, events = snapshot
    del standing.events[events:]
    return standing

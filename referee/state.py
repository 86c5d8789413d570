"""Where a match stands: all that an event may change, and how it is taken back."""

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
"""Events that are kept where older ones can be had: beyond the first number, the latest of them."""
MOST_BYTES, BYTES = 32 * 1024, 16 * 1024
"""The same of their bytes in JSON, which are counted every so many events."""
LOOK_EVERY = 64

_encode = msgspec.json.Encoder().encode

Older = Callable[[Event, int], list[Event]]
"""`older(event, most)`: so many events before this one, or those of them that a message has room for."""


class Phase(enum.IntEnum):
    """Where a match is: until every seat is ready, until nobody is to move, until the result is stored."""

    WAITING = 0
    PLAYING = 1
    OVER = 2


class MatchStanding(Struct, gc=False):
    """A match between two events. What is by seat has no entry where there is nothing to say.

    No value is changed in place, but for `events`, which only grow: a shallow copy and a length hold all of it.
    """

    clock: TimeBanks
    phase: Phase = Phase.WAITING
    course: Course | None = None
    """None until every seat is ready."""
    until: float | None = None
    """When the time to be ready, or to come back after a restart, ends; None once the clocks run."""
    nonces: Mapping[int, bytes] = {}
    quitting: Mapping[int, str] = {}
    """The seats that drop out as soon as the match begins, and why."""
    away: Mapping[int, float] = {}
    """The seats whose connection is gone, and since when."""
    follows: frozenset[int] = frozenset()
    """The seats that are told the turn of every ply."""
    strikes: Mapping[int, int] = {}
    answered: Mapping[int, int] = {}
    """How many events there were before the seat's last accepted move."""
    told: Mapping[int, int] = {}
    """How many events the seat has been told of."""
    shown: int = 0
    """How many events watchers have been told of."""
    events: list[Event] = []
    """The latest; all of them, unless there is `older`."""
    looked_at: int = 0
    size: int = 0
    """How many there were when it was looked at last whether these are too many, and of how many bytes, roughly."""
    dropped: int = 0
    """How many events there were before these."""
    moves_dropped: Mapping[int, int] = {}
    """How many of them were moves, by seat."""
    older: Older | None = None
    said: Mapping[int, int] = {}
    """How many bytes of `info` of each seat are in the lines."""
    round_ms: Sequence[int] = ()
    """What each clock showed when the round began in which several move at once."""
    noted: tuple[int, ...] = ()
    """By seat, how many of the milliseconds that its clock has been given back are in the lines."""

    @property
    def playing(self) -> Course:
        """The course of a match that has begun."""
        assert self.course is not None
        return self.course

    @property
    def mixed_in(self) -> list[bytes]:
        """The nonces by seat; who has given none adds nothing."""
        return [self.nonces.get(seat, b"") for seat in range(len(self.clock.banks))]

    @property
    def nonces_in_hex(self) -> list[str]:
        """The same as they travel."""
        return [nonce.hex() for nonce in self.mixed_in]

    def begin(self, course: Course) -> Event | None:
        """Play this course from its first state on; its deal, where there is one."""
        self.course, deal = course.begin()
        self.phase = Phase.PLAYING
        return deal

    def stop_waiting(self) -> None:
        """After a restart the clocks stand still, unless nobody is missing any more."""
        if not self.away.keys() - self.playing.out.keys():
            self.until = None

    def lose(self, seat: int, now: float) -> None:
        """A seat's connection is gone."""
        self.away = {seat: now, **self.away}
        self.follows -= {seat}

    def regain(self, seat: int) -> None:
        """A seat's connection is back."""
        self.away = {other: since for other, since in self.away.items() if other != seat}

    def hold(self, by: float, now: float) -> None:
        """Time stood still for so many seconds until now."""
        self.away = {seat: min(since + by, now) for seat, since in self.away.items()}
        if self.until is not None:
            self.until += by
        else:
            self.clock = self.clock.held(by, now)

    def deadline(self, away: float) -> float | None:
        """When the time to come ends, or the running clock, or of a seat the time that it may be `away`; 0: any."""
        if self.until is not None:
            return self.until
        ends = [self.clock.deadline, *(since + away for since, _, _ in self._missing() if away)]
        return min((end for end in ends if end is not None), default=None)

    def longest_away(self) -> int:
        """The seat that went first of those that are away; of two that went at once whose turn it is."""
        return min(self._missing())[2]

    def _missing(self) -> list[tuple[float, bool, int]]:
        """Since when, whether it is another's turn, and the seat, of those that are away from a match they are in."""
        course = self.playing
        return [(since, not course.awaits(at), at) for at, since in self.away.items() if at not in course.out]

    def accept(self, event: Event) -> None:
        """Note a seat's move."""
        self.answered = {**self.answered, event.seat: self.dropped + len(self.events)}
        self.events.append(event)

    def seal(self, seat: int) -> None:
        """Note that a seat has moved, in a round that is not over."""
        self.answered = {**self.answered, seat: self.dropped + len(self.events)}

    def accepted(self, seat: int, ply: int) -> dict[str, Any] | None:
        """The move of a seat at a ply that has passed, of those that are kept."""
        for event in islice(self.events, bisect_left(self.events, ply, key=lambda event: event.ply), None):
            if event.ply != ply:
                break
            if event.moves is not None:
                return event.moves[seat]
            if event.seat == seat and event.out is None:
                return event.move
        return None

    def strike(self, seat: int) -> int:
        """One more strike of a seat; how many it has."""
        strikes = self.strikes.get(seat, 0) + 1
        self.strikes = {**self.strikes, seat: strikes}
        return strikes

    def keep(self, seat: int, info: Info | None) -> Info | None:
        """Count what a bot says of its thinking. Raises `MalformedMessage` where the record has no more room for it."""
        if info is not None:
            said, size = sum(self.said.values()), size_of(info)
            if said + size > MOST_INFO:
                raise MalformedMessage(f"info: {said} bytes are kept of this match, of {MOST_INFO} at most")
            self.count_info(seat, size)
        return info

    def note(self, seat: int, given: int, info: Info | None) -> None:
        """Note what a line says beside the move of a seat: milliseconds given back, and what it said."""
        if info is not None:
            self.count_info(seat, size_of(info))
        if given:
            self.clock = self.clock.give(seat, given)
            self.newly_given(seat)

    def newly_given(self, seat: int) -> int:
        """The milliseconds that a seat's clock has been given back and no line says yet; from now on one does."""
        given, noted = self.clock.given, self.noted
        self.noted = (*noted[:seat], given[seat], *noted[seat + 1 :])
        return given[seat] - noted[seat]

    def count_info(self, seat: int, size: int) -> None:
        """Count so many bytes of what a seat said."""
        self.said = {**self.said, seat: self.said.get(seat, 0) + size}

    def since(self, number: int) -> list[Event]:
        """The events from a number on, the first being 0: of very many, the last."""
        at = number - self.dropped
        if at >= 0 or self.older is None:
            return self.events[max(at, 0) :]
        return [*self.older(self.events[0], -at), *self.events]

    def news(self, seat: int | None) -> list[Event]:
        """The events that a seat, or the watchers, have not been told of."""
        return self.since(self.shown if seat is None else self.told.get(seat, 0))

    def tell(self, seat: int) -> list[Event]:
        """What the seat has not been told of: from now on it has."""
        dropped, told = self.dropped, self.told
        self.told = {**told, seat: dropped + len(self.events)}
        number = told.get(seat, 0)
        return self.events[number - dropped :] if number >= dropped else self.since(number)

    def drop(self) -> None:
        """Keep the latest events only, if older ones can be had and these are too many, or too large."""
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
        """How many moves each seat has made."""
        return Counter(self.moves_dropped) + moves_of(self.events)

    def forget(self, seat: int) -> None:
        """The seat may not know what it was told since its last accepted move."""
        self.told = {**self.told, seat: self.answered.get(seat, 0)}

    def absent(self, seat: int) -> bool:
        """Whether a seat that never moved dropped out because nothing was heard of it, or had the match called off."""
        course = self.course
        if course is not None and course.called_off:
            return self.quitting.get(seat) in (*ABSENCES, FAILED) and seat not in self.answered
        out = None if course is None else course.out.get(seat)
        return out in ABSENCES and seat not in self.answered

    def stayed(self, seat: int) -> bool:
        """Whether the match is over and a seat was in it to the end."""
        course = self.course
        return self.phase is Phase.OVER and course is not None and not course.called_off and seat not in course.out

    def branch(self) -> MatchStanding:
        """The same standing once more: what happens from here on in one of them does not happen in the other."""
        branch = _copy(self)
        branch.events = [*self.events]
        return branch

    def snapshot(self) -> Snapshot:
        """The standing as it is now, for `restored`, once old events were dropped."""
        events = len(self.events)
        if events > self.looked_at + LOOK_EVERY:
            self.drop()
            events = len(self.events)
        return _copy(self), events


_copy: Callable[[MatchStanding], MatchStanding] = MatchStanding.__copy__  # type: ignore[attr-defined]
"""In a third of the time of `copy.copy`, which looks for the same."""

Snapshot = tuple[MatchStanding, int]
"""What a standing was: a copy of it, and how many events there were."""


def restored(snapshot: Snapshot) -> MatchStanding:
    """The standing as it was, in place of the one that the snapshot was taken of; once."""
    standing, events = snapshot
    del standing.events[events:]
    return standing

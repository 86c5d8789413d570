"""Time banks with an increment (Fischer), as values: time comes in as an argument, nothing here looks at a clock.

What a seat is given back, because the arena or the network was late, is whole milliseconds and bounded for a match.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

T = TypeVar("T")
SHORTEST_WAIT = 0.01
"""Seconds. Kernels count the time that data waits in ticks, of up to so many."""
SHORTEST_ROUND_TRIP, LONGEST_ROUND_TRIP = 0.001, 0.1


def most_given(bank_ms: int) -> int:
    """Milliseconds that a seat is given back in a match at most: 1 % of its bank."""
    return bank_ms // 100


class TimeBanks(Struct, frozen=True, gc=False):
    """A bank of seconds for every seat; at most one of them runs. All times are seconds of one monotonic clock."""

    banks: tuple[float, ...]
    increment: float
    most_given: int
    """Milliseconds that a seat is given back at most; round trips alone bring it to half of that."""
    given: tuple[int, ...]
    """Milliseconds that each seat has been given back."""
    running: int | None = None
    since: float = 0.0

    @classmethod
    def new(cls, seats: int, bank_ms: int, increment_ms: int) -> TimeBanks:
        """A clock at rest with the whole bank for each seat."""
        return cls((bank_ms / 1000,) * seats, increment_ms / 1000, most_given(bank_ms), (0,) * seats)

    def showing(self, milliseconds: Iterable[int]) -> TimeBanks:
        """The clock with banks that are shown as these whole milliseconds."""
        return replace(self, banks=tuple(map(_seconds, milliseconds)))

    def start(self, seat: int, now: float) -> TimeBanks:
        """The clock running for `seat`."""
        return TimeBanks(self.banks, self.increment, self.most_given, self.given, seat, now)

    def press(self, now: float, waited: float = 0.0, round_trip: float = 0.0) -> TimeBanks:
        """The clock at rest after the running seat's accepted move: the time used is taken off and the increment added.

        Given back of it is the time that the move `waited` to be read, and a round trip of up to 0.1 s.
        """
        seat = self.running
        if seat is None:
            return self
        used = now - self.since
        if used < 0.0:
            used = 0.0
        given = self.given
        if round_trip >= SHORTEST_ROUND_TRIP or waited >= SHORTEST_WAIT:
            had = given[seat]
            wait = int(1000 * min(waited, used)) if waited >= SHORTEST_WAIT else 0
            by = min(wait, self.most_given - had)
            trip = int(1000 * min(round_trip, LONGEST_ROUND_TRIP, used - by / 1000))
            by += max(0, min(trip, self.most_given // 2 - had - by))
            used -= by / 1000
            given = _put(given, seat, had + by)
        left = self.banks[seat] - used
        banks = _put(self.banks, seat, (left if left > 0.0 else 0.0) + self.increment)
        return TimeBanks(banks, self.increment, self.most_given, given)

    def stop(self, now: float) -> TimeBanks:
        """The clock at rest, the time used taken off: nobody moved."""
        if self.running is None:
            return self
        return replace(self, banks=_put(self.banks, self.running, self.left(self.running, now)), running=None)

    def delayed(self, seat: int, after: float, until: float) -> TimeBanks:
        """The clock as if the turn of `seat`, where it runs for that seat since after `after`, began at `until`."""
        if self.running != seat or not after < self.since < until:
            return self
        by = min(int(1000 * (until - self.since)), self.most_given - self.given[seat])
        return replace(self.give(seat, by), since=self.since + by / 1000)

    def held(self, by: float, now: float) -> TimeBanks:
        """The clock after it stood for `by` seconds until now."""
        return self if self.running is None else replace(self, since=max(self.since, min(self.since + by, now)))

    def give(self, seat: int, ms: int) -> TimeBanks:
        """The clock that has given a seat so much more; its bank is as it was."""
        return replace(self, given=_put(self.given, seat, self.given[seat] + ms))

    def left(self, seat: int, now: float) -> float:
        """Seconds left in a seat's bank; never negative."""
        bank = self.banks[seat]
        return max(0.0, bank - (now - self.since)) if seat == self.running else bank

    def over(self, arrived: float) -> bool:
        """Whether what arrived then came after the running bank's end."""
        return self.running is not None and arrived > self.since + self.banks[self.running]

    @property
    def deadline(self) -> float | None:
        """When the running bank ends."""
        return None if self.running is None else self.since + self.banks[self.running]

    def milliseconds(self, now: float) -> list[int]:
        """What each seat has left, in whole milliseconds."""
        banks = self.banks
        if len(banks) == 2:
            shown = [int(banks[0] * 1000), int(banks[1] * 1000)]
        else:
            shown = [int(bank * 1000) for bank in banks]
        if self.running is not None:
            shown[self.running] = int(self.left(self.running, now) * 1000)
        return shown


def _seconds(milliseconds: int) -> float:
    """The least that is shown as so many: 8030 / 1000 * 1000 is 8029.999999999999."""
    seconds = milliseconds / 1000
    return seconds if int(seconds * 1000) == milliseconds else math.nextafter(seconds, math.inf)


def _put(values: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    put = list(values)
    put[at] = value
    return tuple(put)

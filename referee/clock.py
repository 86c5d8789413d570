"""Time banks with an increment (Fischer), as values: time comes in as an argument, nothing here looks at a clock.

What a seat is given back, because the arena or the network was late, is whole milliseconds and bounded for a match.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
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


NOBODY: Mapping[int, float] = {}
"""No bank runs. One for all, since a new one would cost each ply."""


class TimeBanks(Struct, frozen=True, gc=False):
    """A bank of seconds for every seat. All times are seconds of one monotonic clock."""

    banks: tuple[float, ...]
    increment: float
    most_given: int
    """Milliseconds that a seat is given back at most; round trips alone bring it to half of that."""
    given: tuple[int, ...]
    """Milliseconds that each seat has been given back."""
    running: Mapping[int, float] = {}
    """The seats whose banks run, and since when: one, or several that move at once."""

    @classmethod
    def new(cls, seats: int, bank_ms: int, increment_ms: int) -> TimeBanks:
        """A clock at rest with the whole bank for each seat."""
        return cls((bank_ms / 1000,) * seats, increment_ms / 1000, most_given(bank_ms), (0,) * seats)

    def showing(self, milliseconds: Iterable[int]) -> TimeBanks:
        """The clock with banks that are shown as these whole milliseconds."""
        return replace(self, banks=tuple(map(_seconds, milliseconds)))

    def start(self, seat: int, now: float) -> TimeBanks:
        """The clock running for `seat` alone."""
        return TimeBanks(self.banks, self.increment, self.most_given, self.given, {seat: now})

    def start_all(self, seats: Iterable[int], now: float) -> TimeBanks:
        """The clock running for all these seats."""
        return replace(self, running=dict.fromkeys(seats, now))

    def press(self, seat: int, now: float, waited: float = 0.0, round_trip: float = 0.0) -> TimeBanks:
        """The clock at rest for a seat after its accepted move, if it ran: the time used is taken off and the increment
        added.

        Given back of it is the time that the move `waited` to be read, and a round trip of up to 0.1 s.
        """
        running = self.running
        if seat not in running:
            return self
        used = now - running[seat]
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
        others = NOBODY if len(running) == 1 else _without(running, seat)
        return TimeBanks(banks, self.increment, self.most_given, given, others)

    def stop(self, now: float) -> TimeBanks:
        """The clock at rest, the time used taken off: nobody moved."""
        if not self.running:
            return self
        return replace(self, banks=tuple(self.left(seat, now) for seat in range(len(self.banks))), running={})

    def delayed(self, seat: int, after: float, until: float) -> TimeBanks:
        """The clock as if the turn of `seat`, where it runs for that seat since after `after`, began at `until`."""
        since = self.running.get(seat)
        if since is None or not after < since < until:
            return self
        by = min(int(1000 * (until - since)), self.most_given - self.given[seat])
        return replace(self.give(seat, by), running={**self.running, seat: since + by / 1000})

    def held(self, by: float, now: float) -> TimeBanks:
        """The clock after it stood for `by` seconds until now."""
        held = {seat: max(since, min(since + by, now)) for seat, since in self.running.items()}
        return replace(self, running=held) if held else self

    def give(self, seat: int, ms: int) -> TimeBanks:
        """The clock that has given a seat so much more; its bank is as it was."""
        return replace(self, given=_put(self.given, seat, self.given[seat] + ms))

    def left(self, seat: int, now: float) -> float:
        """Seconds left in a seat's bank; never negative."""
        bank = self.banks[seat]
        since = self.running.get(seat)
        return bank if since is None else max(0.0, bank - (now - since))

    def over(self, seat: int, arrived: float) -> bool:
        """Whether what arrived then from a seat came after the end of its bank, if that runs."""
        return seat in self.running and arrived > self.running[seat] + self.banks[seat]

    @property
    def deadline(self) -> float | None:
        """When the first of the running banks ends."""
        first = None
        for seat in self.running:  # a generator would cost each ply two calls
            end = self.running[seat] + self.banks[seat]
            if first is None or end < first:
                first = end
        return first

    @property
    def first(self) -> int:
        """The seat whose running bank ends first; of two that end at once the lower."""
        return min(self.running, key=lambda seat: (self.running[seat] + self.banks[seat], seat))

    def milliseconds(self, now: float) -> list[int]:
        """What each seat has left, in whole milliseconds."""
        banks = self.banks
        if len(banks) == 2:
            shown = [int(banks[0] * 1000), int(banks[1] * 1000)]
        else:
            shown = [int(bank * 1000) for bank in banks]
        for seat in self.running:
            shown[seat] = int(self.left(seat, now) * 1000)
        return shown


def _seconds(milliseconds: int) -> float:
    """The least that is shown as so many: 8030 / 1000 * 1000 is 8029.999999999999."""
    seconds = milliseconds / 1000
    return seconds if int(seconds * 1000) == milliseconds else math.nextafter(seconds, math.inf)


def _without(running: Mapping[int, float], stopped: int) -> dict[int, float]:
    """Apart from `press`, where a comprehension would cost every ply, of whatever game."""
    return {seat: since for seat, since in running.items() if seat != stopped}


def _put(values: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    put = list(values)
    put[at] = value
    return tuple(put)

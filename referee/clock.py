"""Time banks with an increment (Fischer clocks), as immutable values. The current time is an argument. Lag compensation
gives a seat back time that the arena or the network took, in whole milliseconds and within a limit per match.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

T = TypeVar("T")
SHORTEST_WAIT = 0.01
"""Seconds. Shorter waits are not compensated: kernels measure how long data waits in ticks of up to this length."""
SHORTEST_ROUND_TRIP, LONGEST_ROUND_TRIP = 0.001, 0.1


def most_given(bank_ms: int) -> int:
    """Return the limit of lag compensation for a seat in a match, in milliseconds: 1 % of its bank."""
    return bank_ms // 100


NOBODY: Mapping[int, float] = {}
"""No bank runs. Shared, because a new mapping would cost time at each ply."""


class TimeBanks(Struct, frozen=True, gc=False):
    """A bank of seconds for every seat. All times are seconds of one monotonic clock."""

    banks: tuple[float, ...]
    increment: float
    most_given: int
    """The limit of lag compensation per seat, in milliseconds. Round trips alone count up to half of it."""
    given: tuple[int, ...]
    """The lag compensation of each seat so far, in milliseconds."""
    running: Mapping[int, float] = {}
    """The seats whose banks run, each with its start time; several in a simultaneous round."""

    @classmethod
    def new(cls, seats: int, bank_ms: int, increment_ms: int) -> TimeBanks:
        """Return a stopped clock with a full bank for each seat."""
        return cls((bank_ms / 1000,) * seats, increment_ms / 1000, most_given(bank_ms), (0,) * seats)

    def showing(self, milliseconds: Iterable[int]) -> TimeBanks:
        """Return the clock with these whole milliseconds left in the banks."""
        return replace(self, banks=tuple(map(_seconds, milliseconds)))

    def start(self, seat: int, now: float) -> TimeBanks:
        """Return the clock running for `seat` alone."""
        return TimeBanks(self.banks, self.increment, self.most_given, self.given, {seat: now})

    def start_all(self, seats: Iterable[int], now: float) -> TimeBanks:
        """Return the clock running for all these seats."""
        return replace(self, running=dict.fromkeys(seats, now))

    def press(self, seat: int, now: float, waited: float = 0.0, round_trip: float = 0.0) -> TimeBanks:
        """Return the clock after an accepted move of a seat: its bank stops, loses the time used and gains the
        increment. If the bank does not run, nothing changes. Lag compensation covers the seconds that the move `waited`
        to be read, and a round trip of up to 0.1 s.
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
        """Return the stopped clock, with the time used taken off and no increment: no move was made."""
        if not self.running:
            return self
        return replace(self, banks=tuple(self.left(seat, now) for seat in range(len(self.banks))), running={})

    def delayed(self, seat: int, after: float, until: float) -> TimeBanks:
        """Return the clock with the turn of `seat` starting at `until`, because its message was sent late. Nothing
        changes unless its bank has been running since between `after` and `until`. It counts as lag compensation.
        """
        since = self.running.get(seat)
        if since is None or not after < since < until:
            return self
        by = min(int(1000 * (until - since)), self.most_given - self.given[seat])
        return replace(self.give(seat, by), running={**self.running, seat: since + by / 1000})

    def held(self, by: float, now: float) -> TimeBanks:
        """Return the clock after a pause of `by` seconds that ends now."""
        held = {seat: max(since, min(since + by, now)) for seat, since in self.running.items()}
        return replace(self, running=held) if held else self

    def give(self, seat: int, ms: int) -> TimeBanks:
        """Return the clock with more lag compensation counted for a seat; its bank does not change."""
        return replace(self, given=_put(self.given, seat, self.given[seat] + ms))

    def left(self, seat: int, now: float) -> float:
        """Return the seconds left in a seat's bank, at least 0."""
        bank = self.banks[seat]
        since = self.running.get(seat)
        return bank if since is None else max(0.0, bank - (now - since))

    def over(self, seat: int, arrived: float) -> bool:
        """Return whether something that arrived from a seat at this time came after its running bank was empty."""
        return seat in self.running and arrived > self.running[seat] + self.banks[seat]

    @property
    def deadline(self) -> float | None:
        """The time at which the first of the running banks is empty; None if no bank runs."""
        first = None
        for seat in self.running:  # a generator would cost each ply two calls
            end = self.running[seat] + self.banks[seat]
            if first is None or end < first:
                first = end
        return first

    @property
    def first(self) -> int:
        """The seat whose running bank is empty first; in a tie the lower seat."""
        return min(self.running, key=lambda seat: (self.running[seat] + self.banks[seat], seat))

    def milliseconds(self, now: float) -> list[int]:
        """Return the time left to each seat, in whole milliseconds."""
        banks = self.banks
        if len(banks) == 2:
            shown = [int(banks[0] * 1000), int(banks[1] * 1000)]
        else:
            shown = [int(bank * 1000) for bank in banks]
        for seat in self.running:
            shown[seat] = int(self.left(seat, now) * 1000)
        return shown


def _seconds(milliseconds: int) -> float:
    """Return the least number of seconds that shows as these milliseconds: 8030 / 1000 * 1000 is 8029.999999999999."""
    seconds = milliseconds / 1000
    return seconds if int(seconds * 1000) == milliseconds else math.nextafter(seconds, math.inf)


def _without(running: Mapping[int, float], stopped: int) -> dict[int, float]:
    """Return the banks that still run. Not inlined in `press`, where a comprehension would slow every ply."""
    return {seat: since for seat, since in running.items() if seat != stopped}


def _put(values: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    put = list(values)
    put[at] = value
    return tuple(put)

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
MIN_COMPENSATED_WAIT_S = 0.01
"""Minimum seconds that a move must wait unread for the wait to be compensated. Operating systems measure waits in ticks
of up to this length, so shorter waits are not reliable.
"""
MIN_ROUND_TRIP_S, MAX_ROUND_TRIP_S = 0.001, 0.1
"""`MIN_ROUND_TRIP_S` is the minimum round trip, in seconds, that is compensated: a shorter one is less than a whole
millisecond. `MAX_ROUND_TRIP_S` is the maximum part of a round trip that is compensated.
"""


def max_compensation_ms(bank_ms: int) -> int:
    """Return the limit of lag compensation for a seat in a match, in milliseconds: 1 % of its bank."""
    return bank_ms // 100


NO_RUNNING_BANKS: Mapping[int, float] = {}
"""The value of `running` while no bank runs. All clocks share it, because a new mapping at each ply takes time."""


class TimeBanks(Struct, frozen=True, gc=False):
    """The clock of a match: a bank of seconds for every seat. All times are seconds of one monotonic clock."""

    banks_s: tuple[float, ...]
    increment_s: float
    max_compensation_ms: int
    """The limit of lag compensation per seat, in milliseconds. Round trips may use at most half of it."""
    compensated_ms: tuple[int, ...]
    """The lag compensation of each seat so far, in milliseconds."""
    running: Mapping[int, float] = {}
    """The seats whose banks run, each with the time at which its bank started to run. In a simultaneous round, several
    banks run.
    """

    @classmethod
    def new(cls, seats: int, bank_ms: int, increment_ms: int) -> TimeBanks:
        """Return a stopped clock with a full bank for each seat."""
        return cls((bank_ms / 1000,) * seats, increment_ms / 1000, max_compensation_ms(bank_ms), (0,) * seats)

    def with_milliseconds(self, milliseconds: Iterable[int]) -> TimeBanks:
        """Return the clock with its banks set to these whole milliseconds."""
        return replace(self, banks_s=tuple(map(_seconds_shown_as, milliseconds)))

    def start(self, seat: int, now: float) -> TimeBanks:
        """Return the clock with only the bank of `seat` running, from the time `now` on."""
        return TimeBanks(self.banks_s, self.increment_s, self.max_compensation_ms, self.compensated_ms, {seat: now})

    def start_all(self, seats: Iterable[int], now: float) -> TimeBanks:
        """Return the clock running for all these seats."""
        return replace(self, running=dict.fromkeys(seats, now))

    def press(self, seat: int, now: float, waited_s: float = 0.0, round_trip_s: float = 0.0) -> TimeBanks:
        """Return the clock after an accepted move of a seat: its bank stops, loses the time used and gains the
        increment. If the bank does not run, nothing changes. Lag compensation covers `waited_s`, the seconds that the
        move waited to be read, and a round trip of up to 0.1 s.
        """
        running = self.running
        if seat not in running:
            return self
        used = now - running[seat]
        if used < 0.0:
            used = 0.0
        given = self.compensated_ms
        if round_trip_s >= MIN_ROUND_TRIP_S or waited_s >= MIN_COMPENSATED_WAIT_S:
            had = given[seat]
            wait = int(1000 * min(waited_s, used)) if waited_s >= MIN_COMPENSATED_WAIT_S else 0
            by = min(wait, self.max_compensation_ms - had)
            trip = int(1000 * min(round_trip_s, MAX_ROUND_TRIP_S, used - by / 1000))
            by += max(0, min(trip, self.max_compensation_ms // 2 - had - by))
            used -= by / 1000
            given = _replace_at(given, seat, had + by)
        left = self.banks_s[seat] - used
        left = (left if left > 0.0 else 0.0) + self.increment_s
        banks = _replace_at(self.banks_s, seat, left)
        others = NO_RUNNING_BANKS if len(running) == 1 else _remove_seat(running, seat)
        return TimeBanks(banks, self.increment_s, self.max_compensation_ms, given, others)

    def stop(self, now: float) -> TimeBanks:
        """Return the stopped clock. The time used is taken off, but no increment is added, because no move was made."""
        if not self.running:
            return self
        return replace(
            self, banks_s=tuple(self.seconds_left(seat, now) for seat in range(len(self.banks_s))), running={}
        )

    def delay_start(self, seat: int, sent_after: float, written_at: float) -> TimeBanks:
        """Return the clock as if the bank of `seat` had started to run only at `written_at`. Messages that were sent to
        the seat after `sent_after` were not written before that. The delay counts as lag compensation, within its
        limit.

        The clock changes only if the bank started to run after `sent_after` and before `written_at`.
        """
        since = self.running.get(seat)
        if since is None or not sent_after < since < written_at:
            return self
        by = min(int(1000 * (written_at - since)), self.max_compensation_ms - self.compensated_ms[seat])
        return replace(self.add_compensation(seat, by), running={**self.running, seat: since + by / 1000})

    def shift(self, pause_s: float, now: float) -> TimeBanks:
        """Return the clock after a pause of `pause_s` seconds, ending now, that takes no time off the running banks."""
        held = {seat: max(since, min(since + pause_s, now)) for seat, since in self.running.items()}
        return replace(self, running=held) if held else self

    def add_compensation(self, seat: int, ms: int) -> TimeBanks:
        """Return the clock with `ms` more lag compensation counted for a seat. The seat's bank does not change."""
        return replace(self, compensated_ms=_replace_at(self.compensated_ms, seat, self.compensated_ms[seat] + ms))

    def seconds_left(self, seat: int, now: float) -> float:
        """Return the seconds left in a seat's bank; 0 if the bank is empty."""
        bank = self.banks_s[seat]
        since = self.running.get(seat)
        return bank if since is None else max(0.0, bank - (now - since))

    def is_late(self, seat: int, arrived_at: float) -> bool:
        """Return whether a move that arrived from a seat at this time came after the seat's bank was empty."""
        return seat in self.running and arrived_at > self.running[seat] + self.banks_s[seat]

    @property
    def deadline(self) -> float | None:
        """The time at which the first of the running banks is empty; None if no bank runs."""
        first = None
        for seat in self.running:  # a generator would cost each ply two calls
            end = self.running[seat] + self.banks_s[seat]
            if first is None or end < first:
                first = end
        return first

    @property
    def first_to_expire(self) -> int:
        """The seat whose running bank will be empty first. In a tie, it is the lower seat."""
        return min(self.running, key=lambda seat: (self.running[seat] + self.banks_s[seat], seat))

    def milliseconds_left(self, now: float) -> list[int]:
        """Return the time left to each seat, in whole milliseconds."""
        banks = self.banks_s
        if len(banks) == 2:
            shown = [int(banks[0] * 1000), int(banks[1] * 1000)]
        else:
            shown = [int(bank * 1000) for bank in banks]
        for seat in self.running:
            shown[seat] = int(self.seconds_left(seat, now) * 1000)
        return shown


def _seconds_shown_as(milliseconds: int) -> float:
    """Return the least number of seconds that the clock shows as these milliseconds. Dividing by 1000 is not enough:
    8030 / 1000 * 1000 is 8029.999999999999.
    """
    seconds = milliseconds / 1000
    return seconds if int(seconds * 1000) == milliseconds else math.nextafter(seconds, math.inf)


def _remove_seat(running: Mapping[int, float], stopped: int) -> dict[int, float]:
    """Return the running banks without the bank of seat `stopped`. This is a function, because a comprehension inside
    `press` would slow every ply.
    """
    return {seat: since for seat, since in running.items() if seat != stopped}


def _replace_at(values: tuple[T, ...], index: int, value: T) -> tuple[T, ...]:
    if len(values) == 2:
        return (values[0], value) if index else (value, values[1])
    put = list(values)
    put[index] = value
    return tuple(put)

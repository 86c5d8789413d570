"""Time banks with an increment (Fischer), as values: time comes in as an argument, nothing here looks at a clock."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

MOST_ALLOWED_A_PLY = 0.1
MOST_ALLOWED_A_MATCH = 1.0


class TimeBanks(Struct, frozen=True, gc=False):
    """A bank of seconds for every seat; at most one of them runs. All times are seconds of one monotonic clock."""

    banks: tuple[float, ...]
    increment: float
    running: int | None = None
    since: float = 0.0
    allowances: tuple[float, ...] = ()
    """What is left of each seat's allowance for round trips in this match."""

    @classmethod
    def new(cls, seats: int, bank: float, increment: float) -> TimeBanks:
        """A clock at rest with `bank` seconds for each seat."""
        return cls((bank,) * seats, increment, allowances=(MOST_ALLOWED_A_MATCH,) * seats)

    def start(self, seat: int, now: float) -> TimeBanks:
        """The clock running for `seat`."""
        return TimeBanks(self.banks, self.increment, seat, now, self.allowances)

    def press(self, now: float, round_trip: float = 0.0) -> TimeBanks:
        """The clock at rest after the running seat's accepted move: the time used is taken off, less the round trip
        (at most 0.1 s a ply and 1 s a match), and the increment added."""
        seat = self.running
        if seat is None:
            return self
        used = max(0.0, now - self.since)
        allowances = self.allowances
        if round_trip:
            allowance = min(round_trip, MOST_ALLOWED_A_PLY, allowances[seat], used)
            allowances = _put(allowances, seat, allowances[seat] - allowance)
            used -= allowance
        banks = _put(self.banks, seat, max(0.0, self.banks[seat] - used) + self.increment)
        return TimeBanks(banks, self.increment, None, 0.0, allowances)

    def stop(self, now: float) -> TimeBanks:
        """The clock at rest, the time used taken off: nobody moved."""
        if self.running is None:
            return self
        return replace(self, banks=_put(self.banks, self.running, self.left(self.running, now)), running=None)

    def delayed(self, by: float, now: float) -> TimeBanks:
        """The clock as if it had been started `by` seconds later, at most now: the arena itself was late."""
        return self if self.running is None else replace(self, since=max(self.since, min(self.since + by, now)))

    def left(self, seat: int, now: float) -> float:
        """Seconds left in a seat's bank; never negative."""
        bank = self.banks[seat]
        return max(0.0, bank - (now - self.since)) if seat == self.running else bank

    @property
    def deadline(self) -> float | None:
        """When the running bank ends."""
        return None if self.running is None else self.since + self.banks[self.running]

    def milliseconds(self, now: float) -> list[int]:
        """What each seat has left, in whole milliseconds."""
        shown = [int(bank * 1000) for bank in self.banks]
        if self.running is not None:
            shown[self.running] = int(self.left(self.running, now) * 1000)
        return shown


def _put(values: tuple[float, ...], at: int, value: float) -> tuple[float, ...]:
    return (*values[:at], value, *values[at + 1 :])

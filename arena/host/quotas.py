"""Quotas per address, so that no client takes what others need."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Set

from msgspec import Struct

MIB = 1024 * 1024
DAY = 24 * 3600.0
MATCH_BYTES = 224 * 1024
"""Bytes of memory that a running match takes with its latest events, without a custom config."""
ROW_BYTES = 700
"""Bytes of disk that a match takes apart from its record."""
SEEK_BYTES = 1024
CONFIG_WEIGHT = 64
"""Rules with their tables take up to this many times the bytes of their config."""


class Quota:
    """An amount that addresses share.

    An address may hold at most `each`, and at most as much as is left for all others. So a single address gets half of
    the total, and a newcomer finds as much free as the largest holders have.

    Source: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998.
    """

    def __init__(self, total: float, each: float) -> None:
        self.total = total
        self.each = each
        self._taken = 0.0
        self._by: dict[str, float] = {}

    @property
    def taken(self) -> float:
        """The amount held by all addresses."""
        return self._taken

    def taken_by(self, address: str) -> float:
        """Return the amount that an address holds."""
        return self._by.get(address, 0.0)

    def most(self) -> float:
        """Return the amount that a single address may hold now."""
        return min(self.each, self.total - self.taken)

    def left(self, address: str) -> float:
        """Return how much more an address may take now; negative if it holds more than it may."""
        return self.most() - self.taken_by(address)

    def take(self, address: str, amount: float) -> None:
        """Add to the amount of an address; a negative amount gives back."""
        self._taken += amount
        self._by[address] = self._by.get(address, 0.0) + amount
        if self._by[address] <= 0:
            del self._by[address]


class DailyQuota(Quota):
    """An amount per day: half is available at once, and the other half returns steadily over the day.

    An address is never charged more than it may take at once, so no wait exceeds a day. Amounts in `hold` also count.
    """

    def __init__(self, total: float, each: float, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(total / 2, each / 2)
        self._clock = clock
        self._held: Mapping[str, float] = {}
        self._forgot = clock()

    @property
    def taken(self) -> float:
        self._forget()
        return self._taken + sum(self._held.values())

    def taken_by(self, address: str) -> float:
        self._forget()
        return super().taken_by(address) + self._held.get(address, 0.0)

    def take(self, address: str, amount: float) -> None:
        self._forget()
        super().take(address, min(amount, max(self.each - self._by.get(address, 0.0), 0.0)))

    def hold(self, amounts: Mapping[str, float]) -> None:
        """Count amounts that addresses hold now, besides what they took, until the next call."""
        self._held = amounts

    def wait(self, address: str) -> int:
        """Return the whole seconds, at least 1, until an address may take something again if no other does."""
        by, taken, rate = self.taken_by(address), self.taken, self._rate()
        rates = rate * max(len(self._by), 1)
        return math.ceil(max(1.0, (by - self.each) / rate, (taken + by - self.total) / (rates + rate)))

    def _rate(self) -> float:
        """Return the amount forgotten per second for each address, so that all addresses stay within the total rate."""
        return min(self.each, self.total / max(len(self._by), 1)) / DAY

    def _forget(self) -> None:
        """Forget what is due since the last call, at most once a second."""
        now = self._clock()
        passed = now - self._forgot
        if passed < 1.0:
            return
        self._forgot, due = now, passed * self._rate()
        for address, amount in list(self._by.items()):
            super().take(address, -min(amount, due))
        if not self._by:
            self._taken = 0.0


class QuotaLimits(Struct, frozen=True, kw_only=True):
    """Limits in total and per address (`_each`).

    `matches` counts running matches, `memory` is bytes for matches and seeks, `stored` is bytes of records and journals
    in a day. `match_bytes` limits the record of a match whose config is no preset.
    """

    matches: float = math.inf
    matches_each: float = math.inf
    memory: float = math.inf
    memory_each: float = math.inf
    stored: float = math.inf
    stored_each: float = math.inf
    match_bytes: float = math.inf


class _Charge(Struct):
    """The memory that a match is charged, and the paying address of each seat."""

    weight: int
    seats: dict[int, str]


class Quotas:
    """The amounts that each address has taken. Addresses in `exempt` are never refused."""

    def __init__(
        self, limits: QuotaLimits, exempt: Set[str] = frozenset(), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limits = limits
        self.matches = Quota(limits.matches, limits.matches_each)
        """Running matches; each counts for every address that has a seat in it."""
        self.memory = Quota(limits.memory, limits.memory_each)
        self.stored = DailyQuota(limits.stored, limits.stored_each, clock)
        """Bytes of records per day. The journals of running matches count as held."""
        self._exempt = exempt
        self._charges: dict[str, _Charge] = {}

    def begin(self, match: str, config_bytes: int) -> None:
        """Register a new match; `config_bytes` is the size of its config, 0 for a preset."""
        self._charges[match] = _Charge(MATCH_BYTES + CONFIG_WEIGHT * config_bytes, {})

    def seat(self, match: str, seat: int, address: str) -> None:
        """Charge an address for a seat. The first address to hold a seat pays for it, even if its bot moves."""
        charge = self._charges.get(match)
        if charge is None or address in self._exempt or seat in charge.seats:
            return
        if address not in charge.seats.values():
            self.matches.take(address, 1)
            self.memory.take(address, charge.weight)
        charge.seats[seat] = address

    def end(self, match: str) -> bool:
        """Remove a finished match. Return whether an address may now start a match that it could not start before."""
        charge = self._charges.pop(match, None)
        if charge is None:
            return False
        addresses = set(charge.seats.values())
        refused = not all(map(self.may_begin, addresses))
        for address in addresses:
            self.matches.take(address, -1)
            self.memory.take(address, -charge.weight)
        return refused

    def parts(self, match: str, size: int, said: Mapping[int, int]) -> dict[str, float]:
        """Split the `size` bytes of a match among its addresses.

        Each seat pays for what it has `said` (bytes by seat); all seats share the rest.
        """
        charge = self._charges.get(match)
        if charge is None or not charge.seats:
            return {}
        parts = dict.fromkeys(charge.seats.values(), 0.0)
        rest = max(size - sum(said.values()), 0) / len(charge.seats)
        for seat, address in charge.seats.items():
            parts[address] += said.get(seat, 0) + rest
        return parts

    def store(self, parts: Mapping[str, float], size: int) -> None:
        """Charge addresses for a stored record of `size` bytes, in proportion to `parts`."""
        whole = sum(parts.values())
        for address, part in parts.items():
            self.stored.take(address, (size + ROW_BYTES) * part / whole if whole else 0)

    def seek(self, address: str, config_bytes: int, *, back: bool = False) -> None:
        """Charge an address for a new seek or, with `back`, refund a withdrawn one."""
        if address not in self._exempt:
            weight = SEEK_BYTES + config_bytes
            self.memory.take(address, -weight if back else weight)

    def may_begin(self, address: str) -> bool:
        """Return whether a client of an address may start a match now."""
        return address in self._exempt or (
            self.matches.left(address) >= 1
            and self.memory.left(address) >= MATCH_BYTES
            and self.stored.left(address) > 0
        )

    def refusal(self, address: str) -> str | None:
        """Return why clients of an address can't start a match now, and when they can; None if they can."""
        if self.may_begin(address):
            return None
        if self.matches.left(address) < 1:
            most = max(int(self.matches.most()), 0)
            return f"{address} has {self.matches.taken_by(address):.0f} matches under way, of {most} at most: end some"
        if self.memory.left(address) < MATCH_BYTES:
            held, bound = self.memory.taken_by(address) / MIB, max(self.memory.most(), 0.0) / MIB
            text = f"matches and seeks of {address} take {held:.0f} MiB of memory, of {bound:.0f} at most"
            return f"{text}: end some, or play smaller maps"
        seconds = self.stored.wait(address)
        return f"what {address} plays takes as much of the disk as it may in a day: come back in {seconds} s"

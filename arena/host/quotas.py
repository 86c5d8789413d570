"""What the arena keeps for its clients, counted by address: nobody takes what others need."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Set

from msgspec import Struct

MIB = 1024 * 1024
DAY = 24 * 3600.0
MATCH_BYTES = 224 * 1024
"""What a match under way takes of memory, its latest events included, beside a config of its own."""
ROW_BYTES = 700
"""What a match takes of the disk beside its record."""
SEEK_BYTES = 1024
CONFIG_WEIGHT = 64
"""Rules with their tables take up to so many times the bytes of their config."""


class Quota:
    """So much of something in all, of which an address may take `each` at most, and no more than is left after it: so
    one address alone gets half of all, and whoever comes finds as much as each of those that take the most.

    Source: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998.
    """

    def __init__(self, total: float, each: float) -> None:
        self.total = total
        self.each = each
        self._taken = 0.0
        self._by: dict[str, float] = {}

    @property
    def taken(self) -> float:
        """How much all have taken."""
        return self._taken

    def taken_by(self, address: str) -> float:
        """How much an address has taken."""
        return self._by.get(address, 0.0)

    def most(self) -> float:
        """How much one address may have taken as of now."""
        return min(self.each, self.total - self.taken)

    def left(self, address: str) -> float:
        """How much more an address may take now; less than 0 where that has become less than it has taken."""
        return self.most() - self.taken_by(address)

    def take(self, address: str, amount: float) -> None:
        """Count what an address takes, or, below 0, gives back."""
        self._taken += amount
        self._by[address] = self._by.get(address, 0.0) + amount
        if self._by[address] <= 0:
            del self._by[address]


class DailyQuota(Quota):
    """What may be taken in any day: half of it at once, and the other half comes back steadily meanwhile. An address
    is never counted more than it may take at once, so nobody waits for more than a day. What addresses `hold` counts
    too.
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
        """Count, beside what was taken, what addresses hold as of now, until the next call."""
        self._held = amounts

    def wait(self, address: str) -> int:
        """Whole seconds until an address may take something again, if nobody takes anything meanwhile; at least 1."""
        by, taken, rate = self.taken_by(address), self.taken, self._rate()
        rates = rate * max(len(self._by), 1)
        return math.ceil(max(1.0, (by - self.each) / rate, (taken + by - self.total) / (rates + rate)))

    def _rate(self) -> float:
        """What is forgotten in a second of each address that has taken something: together no more than of all."""
        return min(self.each, self.total / max(len(self._by), 1)) / DAY

    def _forget(self) -> None:
        """Forget what is due since that was done last; it is worth while once a second."""
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
    """How much there is of what is kept, in all and for an address: matches under way, bytes of memory for matches and
    seeks, bytes of records and journals in a day; and how many bytes a match may have whose config is no preset.
    """

    matches: float = math.inf
    matches_each: float = math.inf
    memory: float = math.inf
    memory_each: float = math.inf
    stored: float = math.inf
    stored_each: float = math.inf
    match_bytes: float = math.inf


class _Charge(Struct):
    """What a match is charged for, and to whom: the address of each seat for which anybody pays."""

    weight: int
    seats: dict[int, str]


class Quotas:
    """What each address has the arena keep. Those that are `exempt` are never refused anything."""

    def __init__(
        self, limits: QuotaLimits, exempt: Set[str] = frozenset(), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limits = limits
        self.matches = Quota(limits.matches, limits.matches_each)
        """Under way, each counted for every address that has a seat in it."""
        self.memory = Quota(limits.memory, limits.memory_each)
        self.stored = DailyQuota(limits.stored, limits.stored_each, clock)
        """Bytes of records in a day; the journals of matches under way are held."""
        self._exempt = exempt
        self._charges: dict[str, _Charge] = {}

    def begin(self, match: str, config_bytes: int) -> None:
        """A match begins, whose config, if that is no preset, has so many bytes."""
        self._charges[match] = _Charge(MATCH_BYTES + CONFIG_WEIGHT * config_bytes, {})

    def seat(self, match: str, seat: int, address: str) -> None:
        """A client of an address has a seat in a match. Who has it first pays for it, wherever its bot goes."""
        charge = self._charges.get(match)
        if charge is None or address in self._exempt or seat in charge.seats:
            return
        if address not in charge.seats.values():
            self.matches.take(address, 1)
            self.memory.take(address, charge.weight)
        charge.seats[seat] = address

    def end(self, match: str) -> bool:
        """A match is over; whether that lets an address begin another, which it could not before."""
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
        """Who pays for how many of `size` bytes of a match that goes on: for what its seats have `said` of their
        thinking each itself, and for the rest all of them.
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
        """So many bytes are stored of a match, in these parts."""
        whole = sum(parts.values())
        for address, part in parts.items():
            self.stored.take(address, (size + ROW_BYTES) * part / whole if whole else 0)

    def seek(self, address: str, config_bytes: int, *, back: bool = False) -> None:
        """A seek of a client is in force from now on, or, `back`, no longer."""
        if address not in self._exempt:
            weight = SEEK_BYTES + config_bytes
            self.memory.take(address, -weight if back else weight)

    def may_begin(self, address: str) -> bool:
        """Whether a match may begin now for a client of an address."""
        return address in self._exempt or (
            self.matches.left(address) >= 1
            and self.memory.left(address) >= MATCH_BYTES
            and self.stored.left(address) > 0
        )

    def refusal(self, address: str) -> str | None:
        """Why no match begins now for the clients of an address, and when one does; None: it may."""
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

"""Quotas of matches, memory and disk per address, so that no client takes what others need."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Set

from msgspec import Struct

from machine.units import DAY_S, MIB

MATCH_BYTES = 224 * 1024
"""Bytes of memory that a running match takes, with its latest events but without a custom config."""
ROW_BYTES = 700
"""Bytes of disk that a stored match takes in addition to its record."""
SEEK_BYTES = 1024
"""Bytes of memory that a seek takes, without a custom config."""
CONFIG_MEMORY_FACTOR = 64
"""Maximum bytes of memory that a match takes for each byte of its custom config. The rules of the match and their
tables take this memory.
"""


class Quota:
    """A limited amount of something, like matches or bytes, that addresses share.

    An address may hold at most `per_address`, and at most as much as is free. So a single address gets at most half of
    the total. If several addresses hold as much as they may, the same amount is free for a new one.

    Source: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998.
    """

    def __init__(self, total: float, per_address: float) -> None:
        self.total = total
        self.per_address = per_address
        self._taken = 0.0
        self._taken_by_address: dict[str, float] = {}

    @property
    def taken(self) -> float:
        """The amount that all addresses hold together."""
        return self._taken

    def taken_by(self, address: str) -> float:
        return self._taken_by_address.get(address, 0.0)

    def address_limit(self) -> float:
        """Return how much of the total any one address may hold now, including the amount that it already holds."""
        return min(self.per_address, self.total - self.taken)

    def remaining(self, address: str) -> float:
        """Return how much more an address may take now; negative if it holds more than it may."""
        return self.address_limit() - self.taken_by(address)

    def take(self, address: str, amount: float) -> None:
        """Add `amount` to the amount that an address holds. A negative amount is given back."""
        self._taken += amount
        self._taken_by_address[address] = self._taken_by_address.get(address, 0.0) + amount
        if self._taken_by_address[address] <= 0:
            del self._taken_by_address[address]


class DailyQuota(Quota):
    """A quota per day that addresses share. Half of it is available at once, and the other half becomes available
    steadily over the day.

    The amount that an address took with `take` decreases steadily. It never exceeds `per_address`, even if the address
    takes more, so no address waits longer than a day. Amounts set by `set_held` count in addition.
    """

    def __init__(self, total: float, each: float, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(total / 2, each / 2)
        self._clock = clock
        self._held: Mapping[str, float] = {}
        self._last_decay = clock()

    @property
    def taken(self) -> float:
        self._decay()
        return self._taken + sum(self._held.values())

    def taken_by(self, address: str) -> float:
        self._decay()
        return super().taken_by(address) + self._held.get(address, 0.0)

    def take(self, address: str, amount: float) -> None:
        self._decay()
        super().take(address, min(amount, max(self.per_address - self._taken_by_address.get(address, 0.0), 0.0)))

    def set_held(self, amounts: Mapping[str, float]) -> None:
        """Set the amount that each address holds in addition to what it took with `take`. Each call replaces the
        amounts of the previous one.
        """
        self._held = amounts

    def seconds_until_free(self, address: str) -> int:
        """Return the whole seconds, at least 1, until this quota lets an address take more, if no other address takes
        anything meanwhile.
        """
        by, taken, rate = self.taken_by(address), self.taken, self._decay_per_second()
        rates = rate * max(len(self._taken_by_address), 1)
        return math.ceil(max(1.0, (by - self.per_address) / rate, (taken + by - self.total) / (rates + rate)))

    def _decay_per_second(self) -> float:
        """Return by how much per second the amount that each address took decreases. For all addresses together, it is
        at most `total` a day.
        """
        return min(self.per_address, self.total / max(len(self._taken_by_address), 1)) / DAY_S

    def _decay(self) -> None:
        """Give back to each address what `_decay_per_second` allows for the time since this was last done. Do so at
        most once a second.
        """
        now = self._clock()
        passed = now - self._last_decay
        if passed < 1.0:
            return
        self._last_decay, due = now, passed * self._decay_per_second()
        for address, amount in list(self._taken_by_address.items()):
            super().take(address, -min(amount, due))
        if not self._taken_by_address:
            self._taken = 0.0


class QuotaLimits(Struct, frozen=True, kw_only=True):
    """The limits of the quotas, in total and per address.

    `matches` limits running matches, `memory` the bytes of matches and seeks, and `stored` the bytes of records and
    journals in a day. `match_bytes` limits the record of a match whose config is not a preset's.
    """

    matches: float = math.inf
    matches_per_address: float = math.inf
    memory: float = math.inf
    memory_per_address: float = math.inf
    stored: float = math.inf
    stored_per_address: float = math.inf
    match_bytes: float = math.inf


class _Charge(Struct):
    """The charge for a match: its memory in bytes and, for each seat, the address that pays for it."""

    memory_bytes: int
    payers: dict[int, str]


class Quotas:
    """The quotas of matches, memory and disk. Addresses in `exempt` are never refused."""

    def __init__(self, limits: QuotaLimits, exempt: Set[str] = frozenset()) -> None:
        self.limits = limits
        self.matches = Quota(limits.matches, limits.matches_per_address)
        """The quota of running matches. A match counts for every address that has a seat in it."""
        self.memory = Quota(limits.memory, limits.memory_per_address)
        self.stored = DailyQuota(limits.stored, limits.stored_per_address)
        """The quota of bytes of records that are stored in a day. The journals of running matches count too: their
        bytes are set with `set_held`.
        """
        self._exempt = exempt
        self._charges: dict[str, _Charge] = {}

    def add_match(self, match: str, config_bytes: int) -> None:
        """Register a new match. `config_bytes` is the size of its config, or 0 for a preset."""
        self._charges[match] = _Charge(MATCH_BYTES + CONFIG_MEMORY_FACTOR * config_bytes, {})

    def charge_seat(self, match: str, seat: int, address: str) -> None:
        """Charge an address for a seat. The first address of a seat keeps the charge, even if the bot moves."""
        charge = self._charges.get(match)
        if charge is None or address in self._exempt or seat in charge.payers:
            return
        if address not in charge.payers.values():
            self.matches.take(address, 1)
            self.memory.take(address, charge.memory_bytes)
        charge.payers[seat] = address

    def remove_match(self, match: str) -> bool:
        """Remove a finished match. Return whether an address may now start a match that it could not start before."""
        charge = self._charges.pop(match, None)
        if charge is None:
            return False
        addresses = set(charge.payers.values())
        refused = not all(map(self.can_start_match, addresses))
        for address in addresses:
            self.matches.take(address, -1)
            self.memory.take(address, -charge.memory_bytes)
        return refused

    def split_bytes(self, match: str, size: int, info_bytes: Mapping[int, int]) -> dict[str, float]:
        """Return the part of the `size` bytes of a match that each address pays for, by address.

        Each seat pays for its own search info, whose bytes `info_bytes` has by seat. All seats share the rest equally.
        """
        charge = self._charges.get(match)
        if charge is None or not charge.payers:
            return {}
        parts = dict.fromkeys(charge.payers.values(), 0.0)
        rest = max(size - sum(info_bytes.values()), 0) / len(charge.payers)
        for seat, address in charge.payers.items():
            parts[address] += info_bytes.get(seat, 0) + rest
        return parts

    def charge_record(self, parts: Mapping[str, float], size: int) -> None:
        """Charge addresses for a stored record of `size` bytes. `parts` has the relative part of each address."""
        whole = sum(parts.values())
        for address, part in parts.items():
            self.stored.take(address, (size + ROW_BYTES) * part / whole if whole else 0)

    def charge_seek(self, address: str, config_bytes: int, *, refund: bool = False) -> None:
        """Charge an address for a new seek. With `refund`, refund the charge for a seek that has ended."""
        if address not in self._exempt:
            weight = SEEK_BYTES + config_bytes
            self.memory.take(address, -weight if refund else weight)

    def can_start_match(self, address: str) -> bool:
        return self.refusal_reason(address) is None

    def refusal_reason(self, address: str) -> str | None:
        """Return why clients of an address can't start a match now, and when they can; None if they can."""
        if address in self._exempt:
            return None
        if self.matches.remaining(address) < 1:
            most = max(int(self.matches.address_limit()), 0)
            running = f"{self.matches.taken_by(address):.0f} matches running"
            return f"{address} has {running}, the maximum is {most}: finish some first"
        if self.memory.remaining(address) < MATCH_BYTES:
            held, bound = self.memory.taken_by(address) / MIB, max(self.memory.address_limit(), 0.0) / MIB
            text = f"matches and seeks of {address} use {held:.0f} MiB of memory, the maximum is {bound:.0f}"
            return f"{text}: finish some first, or play smaller maps"
        if self.stored.remaining(address) > 0:
            return None
        seconds = self.stored.seconds_until_free(address)
        return f"the matches of {address} have used their disk space for a day: try again in {seconds} s"

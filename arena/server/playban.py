"""Who comes to matches it sought: who misses one is suspended, who never came plays one match at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import ceil

FIRST = 10.0
"""Seconds of the first pause: as long as the others waited. Each one more is twice as long."""
LONGEST = 600.0
LONGEST_OF_ADDRESS = 90.0
"""With ten seconds waited for in vain, a tenth of the time: an address may be that of many."""
FORGOTTEN = 3600.0
"""Seconds after its end in which a pause still counts for the next."""


def paused(seconds: float) -> str:
    """What a bot is told that may not seek for so many seconds."""
    return f"seek: this bot, or a new one from your address, missed a match: seek again in {ceil(seconds)} s"


class GrowingBans:
    """Growing pauses by name."""

    def __init__(self, longest: float, now: Callable[[], float]) -> None:
        self._longest = longest
        self._now = now
        self._pauses: dict[str, tuple[int, float]] = {}
        """By name how many there were, and when the last one ends."""

    def lengthen(self, name: str) -> float:
        """Pause from now on, twice as long as the last time; how long."""
        now = self._now()
        self._pauses = {name: kept for name, kept in self._pauses.items() if now < kept[1] + FORGOTTEN}
        count, _ = self._pauses.get(name, (0, 0.0))
        seconds = min(FIRST * 2.0 ** min(count, 16), self._longest)
        self._pauses[name] = count + 1, now + seconds
        return seconds

    def shorten(self, name: str) -> None:
        """Count one less."""
        count, end = self._pauses.pop(name, (0, 0.0))
        if count > 1:
            self._pauses[name] = count - 1, end

    def left(self, name: str) -> float:
        """Seconds that are left; 0 for who has no pause."""
        _, end = self._pauses.get(name, (0, 0.0))
        return max(0.0, end - self._now())


class Playbans:
    """Bots by folded name, from their addresses. `now()` is in seconds of one clock.

    A bot is tried by its first `ready` here, until it misses a match. Of those that are not, an address has one match
    at a time: what silence costs others does not grow with slots and names.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._tried: set[str] = set()
        self._bots = GrowingBans(LONGEST, now)
        self._addresses = GrowingBans(LONGEST_OF_ADDRESS, now)
        self._awaited: dict[str, str] = {}
        """The bots not tried that have a match, with their addresses."""
        self._busy: Counter[str] = Counter()

    def pause(self, bot: str, address: str) -> float:
        """Seconds until a bot may seek."""
        of_address = 0.0 if bot in self._tried else self._addresses.left(address)
        return max(self._bots.left(bot), of_address)

    def free(self, bot: str, address: str) -> bool:
        """Whether a match may begin for a bot that has a slot."""
        return bot in self._tried or not (self._busy[address] or bot in self._awaited or self._addresses.left(address))

    def tried(self, bot: str) -> bool:
        """Whether it has come to a match, and to all since."""
        return bot in self._tried

    def begin(self, bot: str, address: str) -> None:
        """A match begins."""
        if bot not in self._tried and bot not in self._awaited:
            self._awaited[bot] = address
            self._busy[address] += 1

    def ready(self, bot: str) -> bool:
        """A bot is there; whether that is news."""
        if bot in self._tried:
            return False
        self._tried.add(bot)
        self.end(bot)
        return True

    def end(self, bot: str) -> bool:
        """A match is over for a bot; whether others of its address may begin one now."""
        address = self._awaited.pop(bot, None)
        if address is None:
            return False
        self._busy[address] -= 1
        if not self._busy[address]:
            del self._busy[address]
        return True

    def missed(self, bot: str) -> float:
        """A bot did not come to its match; for how many seconds it may not seek."""
        self._tried.discard(bot)
        of_address = self._addresses.lengthen(self._awaited[bot]) if bot in self._awaited else 0.0
        return max(self._bots.lengthen(bot), of_address)

    def played(self, bot: str) -> None:
        """A bot played to the end of a match: that makes good for one it missed."""
        self._bots.shorten(bot)

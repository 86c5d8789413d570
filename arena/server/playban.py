"""Who comes to matches it sought: who misses one is suspended, who never came plays one match at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import ceil

from arena.network.rate_limits import FailureBackoff

FIRST = 10.0
"""Seconds of the first pause: as long as the others waited. Each one more is twice as long."""
LONGEST = 600.0
LONGEST_OF_ADDRESS = 90.0
"""With ten seconds waited for in vain, a tenth of the time: an address may be that of many."""

MAX_TRIED_BOTS = 1000
"""Beyond so many, the one whose last match is longest ago has to show again that it comes."""


def paused(seconds: float) -> str:
    """What a bot is told that may not seek for so many seconds."""
    return f"seek: this bot, or a new one from your address, missed a match: seek again in {ceil(seconds)} s"


class Playbans:
    """Bots by folded name, from their addresses. `now()` is in seconds of one clock.

    A bot is tried by its first `ready` here, until it misses a match. Of those that are not, an address has one match
    at a time: what silence costs others does not grow with slots and names.
    """

    def __init__(self, now: Callable[[], float], max_tried: int = MAX_TRIED_BOTS) -> None:
        self._tried: dict[str, None] = {}
        """The one that came to a match last at the end."""
        self._max_tried = max_tried
        self._now = now
        self._bots = FailureBackoff(LONGEST, FIRST)
        self._addresses = FailureBackoff(LONGEST_OF_ADDRESS, FIRST)
        self._awaited: dict[str, str] = {}
        """The bots not tried that have a match, with their addresses."""
        self._busy: Counter[str] = Counter()

    def pause(self, bot: str, address: str) -> float:
        """Seconds until a bot may seek."""
        of_address = 0.0 if bot in self._tried else self._addresses.wait(address, self._now())
        return max(self._bots.wait(bot, self._now()), of_address)

    def free(self, bot: str, address: str) -> bool:
        """Whether a match may begin for a bot that has a slot."""
        return bot in self._tried or not (
            self._busy[address] or bot in self._awaited or self._addresses.wait(address, self._now())
        )

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
        known = bot in self._tried
        self._tried.pop(bot, None)
        self._tried[bot] = None
        if known:
            return False
        if len(self._tried) > self._max_tried:
            del self._tried[next(iter(self._tried))]
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
        self._tried.pop(bot, None)
        of_address = self._addresses.fail(self._awaited[bot], self._now()) if bot in self._awaited else 0.0
        return max(self._bots.fail(bot, self._now()), of_address)

    def played(self, bot: str) -> None:
        """A bot played to the end of a match: that makes good for one it missed."""
        self._bots.forgive(bot)

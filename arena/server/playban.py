"""Suspensions: a bot that misses its match may not seek for a time. New bots of an address play one at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import islice
from math import ceil

from arena.network.rate_limits import FailureBackoff

FIRST_PAUSE_S = 10.0
"""Seconds for which a bot may not seek after its first missed match, because its opponents waited this long. Each
further missed match doubles the pause.
"""
MAX_PAUSE_S = 600.0
"""Maximum seconds for which a bot may not seek after a missed match."""
MAX_ADDRESS_PAUSE_S = 90.0
"""Maximum seconds for which the untrusted bots of an address may not seek after a missed match. It is short because
many bots may share an address. A missed match costs its opponents 10 s, so with this pause an address wastes at most 10
of every 100 s of their time.
"""

MAX_TRUSTED_BOTS = 1000
"""Maximum number of trusted bots. If there are more, offline bots lose their trust, those first whose last match is
longest ago.
"""


def pause_message(seconds: float) -> str:
    """Return the message for a bot that may not seek for these seconds."""
    return f"seek: this bot, or a new one from your address, missed a match: seek again in {ceil(seconds)} s"


class Playbans:
    """Tracks, by folded name and address, which bots are trusted or must pause. `now()` returns a time in seconds.

    A bot is trusted from the first match for which it is ready until it misses a match. Untrusted bots of one address
    play one match at a time, so the cost of silent bots does not grow with slots and names.
    """

    def __init__(
        self,
        now: Callable[[], float],
        is_online: Callable[[str], bool] = lambda bot: False,
        max_tried: int = MAX_TRUSTED_BOTS,
    ) -> None:
        self._trusted: dict[str, None] = {}
        """The trusted bots, in the order in which they were last ready for a match."""
        self._is_online = is_online
        self._max_tried = max_tried
        self._now = now
        self._bots = FailureBackoff(MAX_PAUSE_S, FIRST_PAUSE_S)
        self._addresses = FailureBackoff(MAX_ADDRESS_PAUSE_S, FIRST_PAUSE_S)
        self._untrusted_in_match: dict[str, str] = {}
        """The address of each untrusted bot in a match, by folded bot name."""
        self._matches_by_address: Counter[str] = Counter()

    def pause_s(self, bot: str, address: str) -> float:
        """Return the seconds until a bot at this address may seek; 0 if it may now."""
        of_address = 0.0 if bot in self._trusted else self._addresses.wait_s(address, self._now())
        return max(self._bots.wait_s(bot, self._now()), of_address)

    def may_start(self, bot: str, address: str) -> bool:
        """Return whether the rules for untrusted bots allow a match to start for a bot at this address. They do not say
        whether the bot has a free slot.
        """
        return bot in self._trusted or not (
            self._matches_by_address[address]
            or bot in self._untrusted_in_match
            or self._addresses.wait_s(address, self._now())
        )

    def is_trusted(self, bot: str) -> bool:
        """Return whether a bot is trusted: it has been ready for a match, and has missed none since."""
        return bot in self._trusted

    def on_seated(self, bot: str, address: str) -> None:
        if bot not in self._trusted and bot not in self._untrusted_in_match:
            self._untrusted_in_match[bot] = address
            self._matches_by_address[address] += 1

    def on_ready(self, bot: str) -> bool:
        """Handle that a bot is ready for its match, which makes it trusted. Return whether it was untrusted before."""
        known = bot in self._trusted
        self._trusted.pop(bot, None)
        self._trusted[bot] = None
        if known:
            return False
        surplus = max(0, len(self._trusted) - self._max_tried)
        offline = (name for name in self._trusted if not self._is_online(name))
        for name in list(islice(offline, surplus)):
            del self._trusted[name]
        self.on_released(bot)
        return True

    def on_released(self, bot: str) -> bool:
        """Handle that a bot's seat is released. Return whether other bots of its address may now start a match."""
        address = self._untrusted_in_match.pop(bot, None)
        if address is None:
            return False
        self._matches_by_address[address] -= 1
        if not self._matches_by_address[address]:
            del self._matches_by_address[address]
        return True

    def on_missed(self, bot: str) -> float:
        """Handle that a bot missed its match. Return for how many seconds it may not seek."""
        self._trusted.pop(bot, None)
        of_address = (
            self._addresses.add_failure(self._untrusted_in_match[bot], self._now())
            if bot in self._untrusted_in_match
            else 0.0
        )
        return max(self._bots.add_failure(bot, self._now()), of_address)

    def on_played(self, bot: str) -> None:
        """Subtract 1 from the number of a bot's missed matches, because it played a match to its end."""
        self._bots.remove_failure(bot)

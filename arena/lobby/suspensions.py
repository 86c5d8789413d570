"""Suspensions: a bot that misses its match may not seek for a time. New bots of an address play one at a time."""

from __future__ import annotations

import heapq
from collections.abc import Container
from itertools import islice
from math import ceil

from arena.lobby.policy import LobbyPolicy
from machine.keyed_items import KeyedItems
from machine.keyed_limiter import FailureBackoff, KeyedLimiter


def pause_message(seconds: float) -> str:
    """Return the message for a bot that may not seek for these seconds."""
    return f"seek: this bot, or a new one from your address, missed a match: seek again in {ceil(seconds)} s"


class Suspensions:
    """Tracks, by folded name and address, which bots are trusted or must pause.

    A bot is trusted from the first match for which it is ready until it misses a match. Untrusted bots of one address
    play one match at a time, so the cost of silent bots does not grow with slots and names.
    """

    def __init__(self, policy: LobbyPolicy) -> None:
        self._trusted: dict[str, None] = {}
        """The trusted bots, in the order in which they were last ready for a match."""
        self._max_trusted = policy.max_trusted_bots
        pauses = FailureBackoff(policy.max_pause_s, policy.first_pause_s, failure_ttl_s=policy.missed_match_ttl_s)
        self._bots = KeyedLimiter(pauses)
        self._addresses = KeyedLimiter(pauses._replace(max_wait_s=policy.max_address_pause_s))
        self._untrusted_in_match: KeyedItems[str, str] = KeyedItems()
        """The folded names of untrusted bots in matches, by address."""
        self._pause_ends: list[float] = []
        """A heap of the times at which pauses of bots and of addresses end."""

    @property
    def next_pause_end(self) -> float | None:
        """The time at which the next pause ends; None if there is no pause."""
        return self._pause_ends[0] if self._pause_ends else None

    def pop_ended_pauses(self, now: float) -> bool:
        """Forget the ends of pauses that have come. Return whether there were any."""
        before = len(self._pause_ends)
        while self._pause_ends and self._pause_ends[0] <= now:
            heapq.heappop(self._pause_ends)
        return len(self._pause_ends) < before

    def pause_s(self, bot: str, address: str, now: float) -> float:
        """Return the seconds until a bot at this address may seek; 0 if it may now."""
        of_address = 0.0 if bot in self._trusted else self._addresses.wait_s(address, now)
        return max(self._bots.wait_s(bot, now), of_address)

    def may_start(self, bot: str, address: str, now: float) -> bool:
        """Return whether the rules for untrusted bots allow a match to start for a bot at this address. They do not say
        whether the bot has a free slot.
        """
        in_match = self._untrusted_in_match
        return bot in self._trusted or not (
            in_match.weight(address) or in_match.key_of(bot) is not None or self._addresses.wait_s(address, now)
        )

    def is_trusted(self, bot: str) -> bool:
        """Return whether a bot is trusted: it has been ready for a match, and has missed none since."""
        return bot in self._trusted

    def on_seated(self, bot: str, address: str) -> None:
        if bot not in self._trusted and self._untrusted_in_match.key_of(bot) is None:
            self._untrusted_in_match.add(address, bot)

    def on_ready(self, bot: str, online: Container[str]) -> bool:
        """Handle that a bot is ready for its match, which makes it trusted. Return whether it was untrusted before. The
        bots in `online` keep their trust.
        """
        known = bot in self._trusted
        self._trusted.pop(bot, None)
        self._trusted[bot] = None
        if known:
            return False
        surplus = max(0, len(self._trusted) - self._max_trusted)
        for name in list(islice((name for name in self._trusted if name not in online), surplus)):
            del self._trusted[name]
        self.on_released(bot)
        return True

    def on_released(self, bot: str) -> bool:
        """Handle that a bot's seat is released. Return whether other bots of its address may now start a match."""
        return self._untrusted_in_match.discard(bot)

    def on_missed(self, bot: str, now: float) -> float:
        """Handle that a bot missed its match. Return for how many seconds it may not seek."""
        self._trusted.pop(bot, None)
        address = self._untrusted_in_match.key_of(bot)
        pauses = [self._bots.add(bot, now)]
        if address is not None:
            pauses.append(self._addresses.add(address, now))
        for pause_s in pauses:  # they differ, and other bots of the address wait for its own
            heapq.heappush(self._pause_ends, now + pause_s)
        return max(pauses)

    def on_played(self, bot: str) -> None:
        """Subtract 1 from the number of a bot's missed matches, because it played a match to its end."""
        self._bots.undo(bot)

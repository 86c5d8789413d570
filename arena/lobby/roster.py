"""The bots that are connected, the slots that matches hold, and what keeps a bot from starting another match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from arena.lobby.policy import LobbyPolicy
from arena.lobby.suspensions import Suspensions


class ConnectedBot(Struct, frozen=True, gc=False):
    """A connected bot. `name` is its name as registered."""

    name: str
    slots: int
    address: str
    is_person: bool


class Roster:
    """The connected bots and the seats of all bots in matches, by folded name."""

    def __init__(self, policy: LobbyPolicy) -> None:
        self._open_slot_divisor = policy.open_slot_divisor
        self.suspensions = Suspensions(policy)
        self.online: dict[str, ConnectedBot] = {}
        self.used_up: set[str] = set()
        """The addresses whose bots may start no match, because their quotas are used up."""
        self.reserved: Counter[str] = Counter()
        """The number of slots that are reserved for assigned matches, by bot."""
        self._matches_by_bot: dict[str, dict[str, None]] = {}
        """The matches that hold a slot of a bot, connected or not."""
        self._bots_by_match: dict[str, set[str]] = {}
        """The bots of which a match holds a slot."""

    def matches_of(self, bot: str) -> Mapping[str, None]:
        """Return the matches that hold a slot of a bot."""
        return self._matches_by_bot.get(bot, {})

    @property
    def is_idle(self) -> bool:
        """True while no match holds a slot."""
        return not self._bots_by_match

    def is_playing(self, bot: str) -> bool:
        return bot in self._matches_by_bot

    def seat(self, match: str, bots: Iterable[str]) -> None:
        """Let a match hold a slot of each bot. Do nothing for bots that are seated already."""
        for bot in bots:
            matches = self._matches_by_bot.setdefault(bot, {})
            if match not in matches:
                matches[match] = None
                self._bots_by_match.setdefault(match, set()).add(bot)
                if bot in self.online:
                    self.suspensions.on_seated(bot, self.online[bot].address)

    def release(self, match: str, bot: str) -> bool:
        """Give a bot the slot back that a match holds. Return whether this bot, or others of its address, may now start
        a match for that reason.
        """
        matches = self._matches_by_bot.get(bot, {})
        if match not in matches:
            return False
        del matches[match]
        if not matches:
            del self._matches_by_bot[bot]
        seated = self._bots_by_match[match]
        seated.remove(bot)
        if not seated:
            del self._bots_by_match[match]
        return self.suspensions.on_released(bot) or self.reserved[bot] > 0  # it may have a slot that is not reserved

    def release_all(self, match: str) -> bool:
        """Give all bots the slots back that a match still holds. Return whether other bots may now start a match for
        that reason.
        """
        released = [self.release(match, bot) for bot in sorted(self._bots_by_match.get(match, ()))]
        return any(released)

    def unreserve(self, bots: Iterable[str]) -> None:
        """End the reservation of a slot of each bot."""
        self.reserved.subtract(bots)
        self.reserved = +self.reserved

    def slots_without_match(self, bot: str) -> int:
        """Return the number of a bot's slots that hold no match; 0 while the bot is disconnected."""
        connected = self.online.get(bot)
        return 0 if connected is None else connected.slots - len(self.matches_of(bot))

    def capacity(self, bot: str, now: float) -> int:
        """Return the maximum number of matches that a bot's seeks may start now, given its slots and limits."""
        connected = self.online.get(bot)
        if connected is None or not self.suspensions.may_start(bot, connected.address, now):
            return 0
        if connected.address in self.used_up:
            return 0
        if self.reserved[bot] and self.slots_without_match(bot) <= self.reserved[bot]:
            return 0
        return connected.slots if self.suspensions.is_trusted(bot) else 1

    def is_at_open_limit(self, bot: str, other: str) -> bool:
        """Return whether `bot` already plays too many matches with `other` to take more open seeks of `other` (see
        `LobbyPolicy.open_slot_divisor`).
        """
        if other not in self.online:
            return False
        together = self.matches_of(bot).keys() & self.matches_of(other).keys()
        return len(together) >= max(1, self.online[other].slots // self._open_slot_divisor)

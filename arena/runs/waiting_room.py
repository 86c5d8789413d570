"""The time that a match waits for its bots to connect. No I/O: the caller says what time it is."""

from __future__ import annotations

from collections.abc import Sequence

RECONNECT_TIMEOUT_S = 30.0
"""Seconds in which a bot that lost its connection must connect again."""


class WaitingRoom:
    """Decides when a bot is late. A bot that was started has `connect_timeout_s` seconds to connect. They start again
    whenever any bot connects for the first time, because bots may compile code one after the other.
    """

    def __init__(self, connect_timeout_s: float) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._started_at: dict[str, float] = {}
        """The time at which each bot was started. A bot is left out as soon as it has connected."""
        self._last_first_connection_at = 0.0
        """The time of the latest first connection of a bot."""
        self._seen: set[str] = set()

    def has_seen(self, bot: str) -> bool:
        """Return whether the bot has ever connected."""
        return bot in self._seen

    def on_started(self, bot: str, now: float) -> None:
        """Note that the process of a bot starts, or is about to start again."""
        self._started_at[bot] = now

    def on_connected(self, bot: str, now: float) -> None:
        """Note that a bot has connected."""
        self._started_at.pop(bot, None)
        if bot not in self._seen:
            self._seen.add(bot)
            self._last_first_connection_at = now

    def deadline(self, bot: str, since: float) -> float:
        """Return the time at which a missing bot is late. A match has waited for it since the time `since`."""
        started = self._started_at.get(bot)
        if started is None:
            return since + self._reconnect_timeout_s
        return max(started, self._last_first_connection_at) + self._connect_timeout_s

    def take_late(self, missing: Sequence[str], since: float, now: float) -> list[tuple[str, str]]:
        """Return the missing bots that are late, each with what is wrong with it. The caller kills them. Their next
        processes have the full time.
        """
        late = []
        for bot in [bot for bot in missing if now >= self.deadline(bot, since)]:
            if bot in self._started_at:
                late.append((bot, f"did not connect within {self._connect_timeout_s:g} s"))
            else:
                late.append((bot, f"was disconnected for {self._reconnect_timeout_s:g} s"))
            self.on_started(bot, now)
        return late

    @property
    def _reconnect_timeout_s(self) -> float:
        return min(RECONNECT_TIMEOUT_S, self._connect_timeout_s)

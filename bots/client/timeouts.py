"""The time limits of a bot's client for the arena."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTimeouts:
    """The client's time limits, in seconds."""

    open_timeout_s: float = 10.0
    """A connection is open within this time, its handshakes included."""
    close_timeout_s: float = 2.0
    """The arena answers a close within this time."""
    ping_interval_s: float = 5.0
    """A connection whose cable is cut looks like one on which nothing happens, until a ping is not answered."""
    pong_timeout_s: float = 10.0
    first_retry_delay_s: float = 0.1
    max_retry_delay_s: float = 5.0
    welcome_notice_delay_s: float = 30.0
    """The client says after this time that the arena, which answers pings, has not let the bot in."""
    down_notice_interval_s: float = 30.0
    """The client repeats after this time that it cannot reach the arena."""
    first_look_delay_s: float = 3.0
    """The author is told after this time of waiting whom the bot waits for."""
    long_choice_delay_s: float = 5.0
    """The author is told after this time that `choose` is still running."""
    work_look_interval_s: float = 1.0
    """The client looks this often for how long the bot's own code has been at work."""

"""The time limits of a bot's client in its communication with an arena."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTimeouts:
    """The client's time limits, in seconds."""

    open_timeout_s: float = 10.0
    """Time limit for opening a connection, including its handshakes."""
    close_timeout_s: float = 2.0
    """Time limit for the arena's answer when the client closes the connection."""
    ping_interval_s: float = 5.0
    """Interval between pings to the arena. Only an unanswered ping reveals a cut cable."""
    pong_timeout_s: float = 10.0
    first_retry_delay_s: float = 0.1
    max_retry_delay_s: float = 5.0
    welcome_notice_delay_s: float = 30.0
    """Delay until the client reports that the arena answers pings but has not let the bot in."""
    down_notice_interval_s: float = 30.0
    """Interval between reports that the arena cannot be reached."""
    first_listing_delay_s: float = 3.0
    """Delay until the client first reports what the bot's seeks wait for."""
    long_choice_delay_s: float = 5.0
    """Delay until the client reports that `choose` is still running."""
    work_check_interval_s: float = 1.0
    """Interval at which the client checks how long the bot's code has been running."""

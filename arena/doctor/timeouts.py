"""The time limits of the doctor, for the bot that it examines and for its own arena."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DoctorTimeouts:
    """The doctor's time limits. On a slow machine, `machine.timeouts.scale_timeouts` multiplies them."""

    first_welcome_timeout_s: float = 90.0
    """Seconds in which a bot must be welcomed for the first time. Before that, it may have to compile code."""
    welcome_timeout_s: float = 20.0
    seek_timeout_s: float = 3.0
    """Seconds without a seek after which a bot counts as one that only waits for matches assigned to it."""
    start_timeout_s: float = 10.0
    ready_timeout_s: float = 10.0
    move_timeout_s: float = 30.0
    return_timeout_s: float = 15.0
    """Seconds in which a bot must reconnect after it lost its connection."""
    message_timeout_s: float = 3.0
    """Seconds in which the bot must react to a message of the arena."""
    next_seek_timeout_s: float = 3.0
    """Seconds after the end of a match in which a bot should seek the next match, if it seeks matches."""
    settle_timeout_s: float = 3.0
    """Seconds to wait, between two cases, for the end of a match that the opponents resigned."""
    silence_timeout_s: float = 30.0
    """Seconds in which a bot should notice that its connection is open, but passes no data."""
    stay_away_timeout_s: float = 6.0
    """Seconds without a new connection after which a bot counts as gone. A bot that reconnects waits 5 seconds at most.
    """
    prompt_pong_timeout_s: float = 5.0
    """Seconds in which a bot should answer a ping; if it takes longer, it gets a warning."""
    pong_timeout_s: float = 20.0
    """Seconds in which a bot must answer a ping; if it takes longer, it fails the case."""
    arena_timeout_s: float = 20.0
    """Seconds in which the arena, which may be restarting, must accept a connection of the bot."""
    server_start_timeout_s: float = 60.0
    server_stop_timeout_s: float = 10.0

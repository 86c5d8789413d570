"""The time limits of the doctor, for the bot that it examines and for its own arena."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DoctorTimeouts:
    """The doctor's time limits. A slow machine multiplies them: `machine.timeouts.scale_timeouts`."""

    first_welcome_timeout_s: float = 90.0
    """Seconds for a bot's first connection, which may have to wait for compilation."""
    welcome_timeout_s: float = 20.0
    seek_timeout_s: float = 3.0
    """Seconds after which a bot without a seek counts as one that waits for matches."""
    start_timeout_s: float = 10.0
    ready_timeout_s: float = 10.0
    move_timeout_s: float = 30.0
    return_timeout_s: float = 15.0
    """Seconds in which a bot must return after it lost its connection."""
    message_timeout_s: float = 3.0
    """Seconds in which the bot must react to a message of the arena."""
    next_seek_timeout_s: float = 3.0
    """Seconds from the end of a match in which a bot that seeks matches seeks the next one."""
    settle_timeout_s: float = 3.0
    """Seconds in which a match given up between two cases must end; afterwards it is ignored."""
    silence_timeout_s: float = 30.0
    """Seconds in which a bot should notice that its connection is silent."""
    stay_away_timeout_s: float = 6.0
    """Seconds to watch that a bot stays away; one that returns does so earlier, as it waits 5 s at most."""
    prompt_pong_timeout_s: float = 5.0
    """Seconds in which a good bot answers a ping."""
    pong_timeout_s: float = 20.0
    """Seconds after which an unanswered ping fails the bot."""
    arena_timeout_s: float = 20.0
    """Seconds in which the arena must accept a connection of the bot; it may be restarting."""
    server_start_timeout_s: float = 60.0
    server_stop_timeout_s: float = 10.0

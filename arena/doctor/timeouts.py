"""The time limits of the doctor: for the bot that it examines, and for its own arena."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DoctorTimeouts:
    """The doctor's time limits, in seconds. A slow machine multiplies them: `machine.timeouts.scaled`."""

    first_welcome_timeout_s: float = 90.0
    """A bot's first connection may have to wait for what it compiles."""
    welcome_timeout_s: float = 20.0
    seek_timeout_s: float = 3.0
    """A bot that has sought nothing by then is taken for one that waits for matches."""
    start_timeout_s: float = 10.0
    ready_timeout_s: float = 10.0
    move_timeout_s: float = 30.0
    return_timeout_s: float = 15.0
    """A bot that lost its connection is back within this time."""
    message_timeout_s: float = 3.0
    """The bot reacts to a message of the arena within this time."""
    next_seek_timeout_s: float = 3.0
    """A bot that seeks matches seeks the next one within this time of the end."""
    settle_timeout_s: float = 3.0
    """A match that is given up between two cases is over within this time, or left alone."""
    silence_timeout_s: float = 30.0
    """A bot should notice within this time that nothing comes through any more."""
    stay_away_timeout_s: float = 6.0
    """A bot would have come back within this time, as it waits 5 s at most."""
    prompt_pong_timeout_s: float = 5.0
    """A good bot answers a ping within this time."""
    pong_timeout_s: float = 20.0
    """A bot that answers no ping within this time fails."""
    arena_timeout_s: float = 20.0
    """The arena takes a connection of the bot within this time; it may be away for a moment."""
    server_start_timeout_s: float = 60.0
    server_stop_timeout_s: float = 10.0

"""What the client's core asks its shell to do, in order: send, think, warm up, say a line, seek or look later, stop."""

from __future__ import annotations

from dataclasses import dataclass

from bots.client.worker_threads import Work
from protocol.messages import FromClient


@dataclass(frozen=True, slots=True)
class Say:
    """A line for the author; `trouble` goes to standard error."""

    line: str
    trouble: bool = False


@dataclass(frozen=True, slots=True)
class SeekLater:
    """Call `Conversation.seek` after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class LookLater:
    """Call `Conversation.look` after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Have the bot warm up for a game while it plays others, then call `Conversation.warmed`."""

    game: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The bot is done: close the connection and leave with this exit code."""

    code: int


Effect = FromClient | Work | Say | SeekLater | LookLater | WarmUp | Stop

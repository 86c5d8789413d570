"""A bot's side of the arena's protocol: it is given messages and returns effects. No sockets, threads or clocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass

from bots.client.worker_threads import Work
from protocol import messages
from protocol.messages import FromClient, FromServer


@dataclass(frozen=True, slots=True)
class PrintLine:
    """An effect: print a line for the author, on standard error if `is_error` is set."""

    line: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ScheduleSeek:
    """An effect: call `Conversation.retry_seek` for this game after these seconds."""

    seconds: float
    game: str


@dataclass(frozen=True, slots=True)
class ScheduleListing:
    """An effect: call `Conversation.request_listing` after these seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class WarmUp:
    """An effect: warm up the bot for a game while it plays other games, then call `Conversation.on_warmed_up`."""

    game: str


@dataclass(frozen=True, slots=True)
class Stop:
    """An effect: the bot is done, so close the connection and exit with this code."""

    code: int


Effect = FromClient | Work | PrintLine | ScheduleSeek | ScheduleListing | WarmUp | Stop


class ClientProtocol(ABC):
    """A conversation with an arena over successive connections."""

    url: str
    """The URL of the connection from which the current message came."""
    matches_elsewhere: Collection[str] = ()
    """The bot's matches that continue on other nodes. The last `welcome` does not name them, because a node names only
    its own matches."""

    @abstractmethod
    def hello(self) -> messages.Hello:
        """Return the first message that is sent over every connection."""

    def receive(self, message: FromServer | None, now: float) -> list[Effect]:
        """Return the effects of a message (None: of unknown type) that arrived at `now` (`time.monotonic()`)."""
        match message:
            case messages.Turn():
                return self._on_turn(message, now)
            case messages.Start():
                return self._on_start(message)
            case messages.End():
                return self._on_end(message)
            case messages.Rejected():
                return self._on_rejected(message, now)
            case messages.Welcome():
                return self._on_welcome(message)
            case messages.Error():
                return self._on_error(message)
            case messages.Unseeked():
                return self._on_unseeked(message.id)
            case messages.Listing():
                return self._on_listing(message)
        return []

    @abstractmethod
    def handle_lost(self, code: int) -> list[Effect]:
        """Return the effects of a connection's end with this close code. Without a `Stop`, the client reconnects."""

    def set_unreachable(self, matches: set[str]) -> list[Effect]:
        """Return the effects of these matches becoming unreachable. Other matches may take their slots."""
        return []

    @abstractmethod
    def describe_end(self, code: int) -> str:
        """Return in words how the connection ended: the arena's words if it gave a reason."""

    @abstractmethod
    def make_error_line(self, text: str) -> PrintLine:
        """Return a line about a problem, to be printed for the author."""

    @abstractmethod
    def _on_turn(self, turn: messages.Turn, now: float) -> list[Effect]: ...

    @abstractmethod
    def _on_start(self, start: messages.Start) -> list[Effect]: ...

    @abstractmethod
    def _on_end(self, end: messages.End) -> list[Effect]: ...

    @abstractmethod
    def _on_rejected(self, rejected: messages.Rejected, now: float) -> list[Effect]: ...

    @abstractmethod
    def _on_welcome(self, welcome: messages.Welcome) -> list[Effect]: ...

    @abstractmethod
    def _on_error(self, error: messages.Error) -> list[Effect]: ...

    @abstractmethod
    def _on_unseeked(self, seek: str) -> list[Effect]: ...

    @abstractmethod
    def _on_listing(self, listing: messages.Listing) -> list[Effect]: ...

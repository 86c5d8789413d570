"""A bot's side of the protocol: what it is told, and the effects it answers with. No sockets, threads or clocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass

from bots.client.worker_threads import Work
from protocol import messages
from protocol.messages import FromClient, FromServer


@dataclass(frozen=True, slots=True)
class Say:
    """A line for the author; `trouble` goes to standard error."""

    line: str
    trouble: bool = False


@dataclass(frozen=True, slots=True)
class SeekLater:
    """Call `Conversation.seek` with this game after so many seconds."""

    seconds: float
    game: str


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


class Talk(ABC):
    """What is said to an arena over one connection after another, to the URL that each message comes from."""

    at: str
    """That URL."""
    kept: Collection[str] = ()
    """The matches that go on on other nodes, whatever a welcome says."""

    @abstractmethod
    def hello(self) -> messages.Hello:
        """The first message of every connection."""

    def receive(self, message: FromServer | None, now: float) -> list[Effect]:
        """What to do about a message that came in at `now` (`time.monotonic()`). Unknown ones (None) are ignored."""
        match message:
            case messages.Turn():
                return self._turned(message, now)
            case messages.Start():
                return self._started(message)
            case messages.End():
                return self._ended(message)
            case messages.Rejected():
                return self._rejected(message, now)
            case messages.Welcome():
                return self._welcomed(message)
            case messages.Error():
                return self._erred(message)
            case messages.Unseeked():
                return self._unseeked(message.id)
            case messages.Listing():
                return self._listed(message)
        return []

    @abstractmethod
    def lost(self, code: int) -> list[Effect]:
        """The connection ended with this close code (1006: it broke). Without a `Stop`, connect again."""

    def without(self, matches: set[str]) -> list[Effect]:
        """These matches can't be gone on with for a while, and may some time: others may be played meanwhile."""
        return []

    @abstractmethod
    def ended(self, code: int) -> str:
        """How the connection ended, in the arena's words where it said why."""

    @abstractmethod
    def trouble(self, text: str) -> Say:
        """A line about what is wrong."""

    @abstractmethod
    def _turned(self, turn: messages.Turn, now: float) -> list[Effect]: ...

    @abstractmethod
    def _started(self, start: messages.Start) -> list[Effect]: ...

    @abstractmethod
    def _ended(self, end: messages.End) -> list[Effect]: ...

    @abstractmethod
    def _rejected(self, rejected: messages.Rejected, now: float) -> list[Effect]: ...

    @abstractmethod
    def _welcomed(self, welcome: messages.Welcome) -> list[Effect]: ...

    @abstractmethod
    def _erred(self, error: messages.Error) -> list[Effect]: ...

    @abstractmethod
    def _unseeked(self, seek: str) -> list[Effect]: ...

    @abstractmethod
    def _listed(self, listing: messages.Listing) -> list[Effect]: ...

"""A client's side of the arena's protocol: it is given messages and returns effects. No sockets, threads or clocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from protocol import close_codes, messages
from protocol.error_codes import AUTH_FAILED, BAD_MESSAGE, NAME_TAKEN, NOT_ALLOWED
from protocol.messages import FromServer

STOPPING_CODES: Mapping[int, str] = {
    close_codes.TOO_MANY_BAD_MESSAGES: "the arena closed the connection: too many bad messages",
    close_codes.NOT_AUTHENTICATED: "the arena did not accept the name and token",
    close_codes.SUPERSEDED: "a newer connection of this bot took over; this one stops",
}
"""The line to print after a close code that makes reconnecting useless, by close code."""
RETRYABLE_CLOSE_CODES: Mapping[int, str] = {
    close_codes.NO_HELLO: "got no hello in time",
    close_codes.TOO_MANY_CONNECTIONS: "takes no more for now",
}
"""The close codes after which the client reconnects, each with its reason in words."""
FATAL_CODES = (NAME_TAKEN, AUTH_FAILED, NOT_ALLOWED, BAD_MESSAGE)
"""The codes of fatal errors after which reconnecting would not help."""
AUTH_ERROR_CODES = (NAME_TAKEN, AUTH_FAILED)
"""The codes of errors that another name, or the right token, can prevent."""


@dataclass(frozen=True, slots=True)
class PrintLine:
    """An effect: print a line for the user, on standard error if `is_error` is set."""

    line: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ScheduleListing:
    """An effect: call `ClientProtocol.request_listing` after these seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Stop:
    """An effect: the client is done, so close the connections and exit with this code."""

    code: int


Effect = object
"""A message to the arena, or what else the client has to do. Each client has effects of its own."""


class ClientProtocol(ABC):
    """A conversation of the client `name` with an arena over successive connections, the first of which is to `url`.

    The client gives up after `patience` seconds without a connection; never if it is None.
    """

    is_spectator = False
    """True if the client has no seats and no token. Then it follows matches and listings on all nodes."""
    credential_option = "--token"
    """The option that gives the client's token, for messages."""

    def __init__(self, name: str, token: str, url: str, patience: float | None) -> None:
        self.url = url
        """The URL of the connection from which the current message came."""
        self.patience = patience
        self.connected = False
        self.games: list[str] = []
        """The games that the arena plays; none before the first welcome."""
        self.awaited: set[str] = set()
        """The matches in progress that the welcome named and whose `start` has not arrived yet."""
        self.matches_elsewhere: Collection[str] = ()
        """The client's matches that continue on other nodes. The last `welcome` does not name them, because a node
        names only its own matches."""
        self._name = name
        self._token = token
        self._seeks_made = 0
        self._close_reason = ""
        """The reason that the arena gave for closing the connection; empty without one."""

    def hello(self) -> messages.Hello:
        """Return the first message that is sent over every connection."""
        self._close_reason = ""
        return self._make_hello()

    @abstractmethod
    def _make_hello(self) -> messages.Hello: ...

    def receive(self, message: FromServer | None, now: float) -> list[Effect]:
        """Return the effects of a message (None: of unknown type) that arrived at `now` (`time.monotonic()`)."""
        match message:
            case messages.Turn():
                return self._on_turn(message, now)
            case messages.Start():
                self.awaited.discard(message.match)
                return self._on_start(message)
            case messages.End():
                return self._on_end(message)
            case messages.Rejected():
                return self._on_rejected(message, now)
            case messages.Welcome():
                self.awaited = self.awaited & {*self.matches_elsewhere} | {*message.resumed}
                self.connected = True
                return self._on_welcome(message)
            case messages.Error():
                return self._receive_error(message)
            case messages.Unseeked():
                return self._on_unseeked(message.id)
            case messages.Listing():
                return self._on_listing(message)
        return []

    def handle_lost(self, code: int) -> list[Effect]:
        """Return the effects of a connection's end with this close code. Without a `Stop`, the client reconnects."""
        self.connected = False
        self.awaited.clear()
        why = STOPPING_CODES.get(code)
        return self.give_up(why) if why else []

    def give_up(self, reason: str) -> list[Effect]:
        """Return the effects that end the client, because it cannot play for this reason."""
        return [self.make_error_line(reason), Stop(1)]

    def request_listing(self) -> list[Effect]:
        """Return the effects of a `ScheduleListing` that is due."""
        return [messages.List()]

    def set_unreachable(self, matches: set[str]) -> list[Effect]:
        """Return the effects of these matches becoming unreachable. Other matches may take their slots."""
        return []

    def describe_end(self, code: int) -> str:
        """Return in words how the connection ended: the arena's words if it gave a reason."""
        if self._close_reason:
            return f"the arena at {self.url} says: {self._close_reason}"
        if code in RETRYABLE_CLOSE_CODES:
            return f"the arena at {self.url} {RETRYABLE_CLOSE_CODES[code]}"
        return f"the connection to {self.url} ended ({code})"

    def make_error_line(self, text: str) -> PrintLine:
        """Return a line about a problem, to be printed for the user on standard error."""
        return PrintLine(f"{self._name}: {text}", is_error=True)

    def _receive_error(self, error: messages.Error) -> list[Effect]:
        text = f"{error.message} ({error.code})"
        if not self.connected and error.code in AUTH_ERROR_CODES:
            text += f"; choose another name with --name, or give the token with {self.credential_option} or ARENA_TOKEN"
        if not error.fatal:
            return self._on_error(error, self.make_error_line(text))
        self._close_reason = error.message
        return self.give_up(text) if error.code in FATAL_CODES else []

    def _on_turn(self, turn: messages.Turn, now: float) -> list[Effect]:
        return []

    def _on_start(self, start: messages.Start) -> list[Effect]:
        return []

    def _on_end(self, end: messages.End) -> list[Effect]:
        return []

    def _on_rejected(self, rejected: messages.Rejected, now: float) -> list[Effect]:
        return []

    def _on_welcome(self, welcome: messages.Welcome) -> list[Effect]:
        return []

    def _on_error(self, error: messages.Error, line: PrintLine) -> list[Effect]:
        """Return the effects of an error that is not fatal. `line` reports it."""
        return [line]

    def _on_unseeked(self, seek: str) -> list[Effect]:
        return []

    def _on_listing(self, listing: messages.Listing) -> list[Effect]:
        return []

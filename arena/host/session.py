"""A client after its `hello`: converts messages to frames and back, and counts bad messages."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from arena.host.broadcast import EncodedMessages
from arena.network.connection import Connection
from arena.network.frames import make_frame
from machine.timestamps import utc_now
from protocol.close_codes import TOO_MANY_BAD_MESSAGES
from protocol.codec import Codec, Frame
from protocol.error_codes import BAD_MESSAGE, NO_SUCH_MATCH, NOT_YOUR_TURN, STALE_PLY
from protocol.errors import BotFault, MalformedMessage
from protocol.messages import (
    MAX_BAD_MESSAGES,
    MAX_SLOTS,
    ClientMessage,
    End,
    Error,
    FromServer,
    Hello,
    Move,
    Ready,
    Rejected,
    Start,
    Turn,
    Watch,
)
from protocol.names import fold_name

_BAD_MOVE_CODES = frozenset({NOT_YOUR_TURN, STALE_PLY, NO_SUCH_MATCH})
"""The codes of rejected moves that count as bad messages."""


class SessionHandler(Protocol):
    """Handles the messages of clients, and late messages to them."""

    def handle_message(self, session: ClientSession, message: ClientMessage) -> None:
        """Handle a message from a client. Raise `BotFault` if the message is not allowed."""

    def on_late_write(self, session: ClientSession, sent_after: float, written_at: float) -> None:
        """Report that messages to a client that were sent after `sent_after` were written only at `written_at`, because
        the arena was late. Both are times of the event loop.
        """


class ClientSession:
    """A client's connection after its `hello`. `bot` is its bot (None: a spectator), `key` the bot's folded name.

    It is the `Receiver` of its connection, and alone knows which messages the arena awaits from the client.
    """

    def __init__(
        self,
        connection: Connection,
        codec: Codec,
        hello: Hello,
        bot: str | None,
        handler: SessionHandler,
        token_hash: str | None = None,
        *,
        is_person: bool = False,
        display: str | None = None,
    ) -> None:
        self.bot = bot
        self.key = "" if bot is None else fold_name(bot)
        self.token_hash = token_hash
        """The hash of the token that authenticated the client; None if the token can't be revoked."""
        self.is_person = is_person
        """True if the bot's name belongs to a person."""
        self.display = display
        """The display name of the player, shown beside the bot's name."""
        self.version = hello.version
        self.client = hello.client
        self.slots = hello.slots
        self.follow = hello.follow
        self.warming: list[str] = []
        """The games for which the bot announced that it warms up. `warming_since` is in seconds of the event loop."""
        self.warming_since = 0.0
        self.connected_at = utc_now()
        self.round_trip_s = connection.round_trip_s
        """The minimum round trip of a frame in seconds, measured when the session began; 0 if unknown."""
        self.connection = connection
        self._codec = codec
        self._handler = handler
        self._bad_count = 0
        self.last_fault = ""
        """The error in the client's last bad message."""
        self._closed = False
        self._recent_ends: deque[str] = deque(maxlen=2 * MAX_SLOTS)
        self.awaited: set[str | tuple[str]] = set()
        """The messages that the arena awaits from the client: a match id stands for a `move`, a tuple with a match id
        for a `ready`.
        """

    def send(self, message: FromServer) -> None:
        """Send a message. If it rejects a move that a correct client would not have sent, count a bad message of the
        client.
        """
        self.connection.send_framed(make_frame(self._codec.encode(message)))
        if type(message) is Turn:
            if message.legal is not None:
                self.awaited.add(message.match)
        elif type(message) is Start:
            if message.seat is not None:
                self.awaited.add((message.match,))
        elif type(message) is End:
            self._recent_ends.append(message.match)
            self.awaited -= {message.match, (message.match,)}
        elif type(message) is Rejected:
            if message.strikes_left:
                self.awaited.add(message.match)
            elif message.code in _BAD_MOVE_CODES and not self.was_sent_end(message.match):
                self.last_fault = message.message
                self._count_bad_message()  # the client could have avoided this rejection

    def send_shared(self, messages: EncodedMessages) -> None:
        """Send messages that other peers get too. They are encoded once for all peers with the same codec."""
        self.connection.send_framed(messages.encode(self._codec, make_frame))
        if type(messages.messages[-1]) is End:
            self._recent_ends.append(messages.messages[-1].match)

    def receive(self, frame: Frame) -> bool:
        """Handle one frame. Return whether the arena awaited it. Errors are answered, and malformed messages are
        counted.

        Frames after `close` are ignored.
        """
        if self._closed:
            return False
        message: ClientMessage | None = None
        asked = False
        try:
            message = self._codec.decode_client(frame)
            if type(message) is Move and message.match in self.awaited:
                self.awaited.remove(message.match)
                asked = True
            elif type(message) is Ready and (message.match,) in self.awaited:
                self.awaited.remove((message.match,))
                asked = True
            self._handler.handle_message(self, message)
        except BotFault as fault:
            ref = message.match if isinstance(message, Watch) else getattr(message, "id", None)
            if isinstance(fault, MalformedMessage):
                ref = ref or fault.ref
            self.send_error(fault, ref)
            if isinstance(fault, MalformedMessage):
                self.last_fault = str(fault)
                self._count_bad_message()
        return asked

    def on_late_write(self, sent_after: float, written_at: float) -> None:
        self._handler.on_late_write(self, sent_after, written_at)

    def send_error(self, fault: BotFault, ref: str | None = None) -> None:
        """Send the client an error; `ref` is the seek or match that it concerns."""
        self.send(Error(code=fault.code, message=str(fault), ref=ref, url=getattr(fault, "url", None)))

    def was_sent_end(self, match: str) -> bool:
        """Return whether this client was sent the `end` of a match recently. If so, it may have sent a message for the
        match before `end` arrived.
        """
        return match in self._recent_ends

    def close(self, code: int, reason: str) -> None:
        """Close the connection. Frames that still arrive are ignored."""
        self._closed = True
        self.connection.start_close(code, reason)

    def _count_bad_message(self) -> None:
        self._bad_count += 1
        if self._bad_count == MAX_BAD_MESSAGES:
            message = f"{self._bad_count} bad messages on one connection"
            self.send(Error(code=BAD_MESSAGE, message=message, fatal=True))
            self.close(TOO_MANY_BAD_MESSAGES, "too many bad messages")

"""What the arena can tell something to, whatever carries it there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from protocol.codec import Codec, Frame
from protocol.messages import FromServer


class EncodedMessages:
    """Messages that many are told, in order: made ready for the wire once for each encoding, not for each peer."""

    def __init__(self, messages: Sequence[FromServer]) -> None:
        self.messages = messages
        self._ready: dict[Codec, bytes] = {}

    def ready(self, codec: Codec, framed: Callable[[Frame], bytes]) -> bytes:
        """The bytes of all of them in an encoding, one frame behind the other."""
        ready = self._ready.get(codec)
        if ready is None:
            ready = self._ready[codec] = b"".join(framed(codec.encode(message)) for message in self.messages)
        return ready


class Peer(Protocol):
    """Whoever sits on a seat or watches: a connection here, or one behind a broker on another node."""

    def send(self, message: FromServer) -> None:
        """Deliver a message without waiting."""

    def show(self, shown: EncodedMessages) -> None:
        """Deliver messages that others are told as well."""

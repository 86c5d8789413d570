"""What the arena can tell something to, whatever carries it there."""

from __future__ import annotations

from typing import Protocol

from protocol.messages import FromServer


class Peer(Protocol):
    """Whoever sits on a seat or watches: a connection here, or one behind a broker on another node."""

    def send(self, message: FromServer) -> None:
        """Deliver a message without waiting."""

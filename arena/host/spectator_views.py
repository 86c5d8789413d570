"""The view of a match that its spectators get when they begin to watch it."""

from __future__ import annotations

from arena.host.broadcast import EncodedMessages, Peer
from protocol.error_codes import UNAVAILABLE
from protocol.messages import Error

SPECTATOR_VIEW_TTL_S = 1.0
"""Seconds for which new spectators of a match get the same full view, with the same clock times. A spectator that asks
again gets no second view within this time.
"""
ALREADY_WATCHING_MESSAGE = (
    "watch: you already watch this match. Send nothing in reply to a start without a seat; its turns arrive without a "
    "request"
)
"""The message to a spectator that asks again to watch the same match."""


class SpectatorViews:
    """The full view of a match that new spectators get, and when each of them got one.

    The messages of a view are made for one spectator. The next ones get them too, until the state of the match changes
    or `SPECTATOR_VIEW_TTL_S` seconds have passed.
    """

    __slots__ = ("_made_at", "_sent_at", "_told_already_watching", "messages")

    def __init__(self) -> None:
        self.messages: EncodedMessages | None = None
        """The messages that show the current state; None if there are none now."""
        self._made_at = 0.0
        self._sent_at: dict[Peer, float] = {}
        self._told_already_watching: set[Peer] = set()

    def was_sent(self, peer: Peer, now: float) -> bool:
        """Return whether a spectator got a view within the last `SPECTATOR_VIEW_TTL_S` seconds."""
        return now - self._sent_at.get(peer, -SPECTATOR_VIEW_TTL_S) < SPECTATOR_VIEW_TTL_S

    def note_sent(self, peer: Peer, now: float) -> None:
        self._sent_at[peer] = now

    def keep(self, messages: EncodedMessages, now: float) -> None:
        """Keep the messages of a view for the next spectators."""
        self.messages, self._made_at = messages, now

    def discard_expired(self, now: float) -> None:
        """Discard messages that are too old. The view of a long match is large."""
        if now - self._made_at >= SPECTATOR_VIEW_TTL_S:
            self.messages = None

    def forget(self, peer: Peer) -> None:
        """Forget a spectator, who gets a view again if it comes back."""
        self._sent_at.pop(peer, None)
        self._told_already_watching.discard(peer)

    def explain_already_watching(self, peer: Peer, match: str) -> None:
        """Explain to a spectator, once, that it gets no answer to its second `watch` of the match. Many clients send it
        because they mistake the `start` that answers the first for a request.
        """
        if peer not in self._told_already_watching:
            self._told_already_watching.add(peer)
            peer.send(Error(code=UNAVAILABLE, message=ALREADY_WATCHING_MESSAGE, ref=match))

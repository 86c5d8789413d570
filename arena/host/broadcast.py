"""Sends the messages of a match to its spectators, in order and in batches, after the players have got theirs."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Protocol

from msgspec.structs import replace

from machine.log_output import log_fields
from protocol.codec import Codec, Frame
from protocol.messages import End, FromServer, Start, Turn

BATCH_SIZE = 32
"""Number of spectators served in one turn of the event loop. That takes half a millisecond in this process and another
half in the kernel.
"""
MIN_BATCH_INTERVAL_S = 0.003
"""Minimum seconds between two batches of messages to spectators."""
IDLE_RATIO = 40
"""Minimum length of the pause after a batch, as a multiple of the time that this process took for the batch. The
operating system takes several times as long to send the batch. With the pause, nine tenths of the time remain for the
bots.
"""
MAX_QUEUED_MESSAGES, MAX_MERGED_EVENTS = 64, 256
"""A queue for spectators has at most `MAX_QUEUED_MESSAGES` messages. If it is full, a new `turn` is merged into the
last `turn`, which then has at most the latest `MAX_MERGED_EVENTS` events.
"""

Reporter = Callable[[FromServer], None]
"""A function that gets every message shown to spectators. It must return quickly and not wait."""

log = logging.getLogger("arena.host.broadcast")


class EncodedMessages:
    """A sequence of messages for many recipients. They are encoded once per codec, not once per recipient."""

    def __init__(self, messages: Sequence[FromServer]) -> None:
        self.messages = messages
        self._encoded: dict[Codec, bytes] = {}

    def encode(self, codec: Codec, framed: Callable[[Frame], bytes]) -> bytes:
        """Return all messages, encoded by `codec`, as consecutive frames. The function `framed` makes a frame of an
        encoded message.
        """
        ready = self._encoded.get(codec)
        if ready is None:
            ready = self._encoded[codec] = b"".join(framed(codec.encode(message)) for message in self.messages)
        return ready


class Peer(Protocol):
    """A client that plays or watches: one connected to this host, or one behind a broker on another node."""

    def send(self, message: FromServer) -> None:
        """Send a message without waiting."""

    def send_shared(self, messages: EncodedMessages) -> None:
        """Send messages that other peers get too. They are encoded once for all peers with the same codec."""


class Broadcaster:
    """Sends messages to the spectators of all matches, one batch at a time. The matches take turns."""

    def __init__(self) -> None:
        self.subscribers: dict[Peer, None] = {}
        """The peers that get the start and the end of every match."""
        self._queue: deque[Iterator[None]] = deque()
        self._is_busy = False
        """True from the start of a batch to the end of the pause after it."""
        self._loop = asyncio.get_running_loop()

    def enqueue(self, batches: Iterator[None]) -> None:
        """Queue an iterator that sends one batch at each step. The first batch is sent now, unless a pause is running.
        After each batch, the iterator goes to the end of the queue.
        """
        self._queue.append(batches)
        if not self._is_busy:
            self._send_batch()

    def _send_batch(self) -> None:
        self._is_busy = bool(self._queue)
        if self._is_busy:
            began = self._loop.time()
            portions = self._queue.popleft()
            if next(portions, self) is None:
                self._queue.append(portions)
            self._loop.call_later(max(MIN_BATCH_INTERVAL_S, IDLE_RATIO * (self._loop.time() - began)), self._send_batch)


class Audience:
    """The spectators and reporters of a match. Subscribers of all matches get only its start and its end.

    In a round of sending, each spectator gets all messages that were published before the round. Spectators are served
    in batches. Messages published meanwhile go into the next round, all at once. So spectators may lag, but never delay
    the players. Reporters get each message immediately.
    """

    def __init__(self, broadcaster: Broadcaster, match_id: str) -> None:
        self.broadcaster = broadcaster
        self._match_id = match_id
        self._next_message_numbers: dict[Peer, int] = {}
        """The spectators, each with the number of the first message not yet sent to it."""
        self._reporters: list[Reporter] = []
        self._queued: list[FromServer] = []
        """The published messages that are not in a round of sending yet. The first of them has the number
        `_sent_count`, counted from 0.
        """
        self._sent_count = 0
        self._has_newcomers = False
        """True if a spectator joined after the last message was queued. The new spectator does not get that message, so
        no later events may be merged into it.
        """
        self._is_sending = False

    @property
    def spectators(self) -> Collection[Peer]:
        """The spectators of the match, without its reporters."""
        return self._next_message_numbers

    @property
    def wants_turns(self) -> bool:
        """True if a spectator or a reporter gets every turn."""
        return bool(self._next_message_numbers or self._reporters)

    def add_reporter(self, reporter: Reporter) -> None:
        """Pass every message from now on to a reporter."""
        self._reporters.append(reporter)

    def add_spectator(self, peer: Peer) -> None:
        """Send a peer every message from now on."""
        self._next_message_numbers[peer] = self._sent_count + len(self._queued)
        self._has_newcomers = True

    def remove_spectator(self, peer: Peer) -> None:
        self._next_message_numbers.pop(peer, None)

    def publish(self, message: FromServer) -> None:
        """Send a message to reporters and spectators. If it is a start or an end, send it to subscribers too."""
        for report in self._reporters:
            try:
                report(message)
            except Exception:
                log.exception(
                    "match %s: a message could not be reported", self._match_id, extra=log_fields(match=self._match_id)
                )
        if self._next_message_numbers or (self.broadcaster.subscribers and isinstance(message, Start | End)):
            self._enqueue(message)
            if not self._is_sending:
                self._is_sending = True
                self.broadcaster.enqueue(self._send_rounds())

    def _enqueue(self, message: FromServer) -> None:
        """Queue a message. If the queue is full, a `turn` replaces the `turn` queued last and takes over its events."""
        shown = self._queued
        if len(shown) >= MAX_QUEUED_MESSAGES and not self._has_newcomers:
            last = shown[-1]
            if type(message) is Turn and type(last) is Turn:
                events = [*last.events, *message.events][-MAX_MERGED_EVENTS:]
                shown[-1] = replace(message, events=events, states=None)  # the states would be too many
                return
        self._has_newcomers = False
        shown.append(message)

    def _send_rounds(self) -> Iterator[None]:
        """Send messages in rounds until there are no new ones. Yield after each batch of `BATCH_SIZE` spectators."""
        told = 0
        while self._queued:
            one = _Round(self._sent_count, self._queued)
            self._sent_count += len(self._queued)
            self._queued = []
            for peer in list(
                self._next_message_numbers | self.broadcaster.subscribers
                if one.starts_and_ends
                else self._next_message_numbers
            ):
                if told == BATCH_SIZE:
                    yield
                    told = 0
                told += 1
                self._send_round(peer, one)
        self._is_sending = False

    def _send_round(self, peer: Peer, round_: _Round) -> None:
        """Send one peer the messages that a round of sending has for it. An error affects only this peer."""
        first = self._next_message_numbers.get(peer)
        shown = (
            round_.starts_and_ends
            if first is None and peer in self.broadcaster.subscribers
            else round_.messages_since(first)
        )
        try:
            if shown is not None:
                peer.send_shared(shown)
        except Exception:
            log.exception(
                "match %s: a message could not be sent to a spectator",
                self._match_id,
                extra=log_fields(match=self._match_id),
            )


class _Round:
    """The messages of one round of sending. `starts_and_ends` has its `start` and `end` messages, or is None."""

    def __init__(self, first_number: int, messages: list[FromServer]) -> None:
        self._first = first_number
        self._messages = messages
        self._encoded_since: dict[int, EncodedMessages] = {}
        news = [message for message in messages if isinstance(message, Start | End)]
        self.starts_and_ends = EncodedMessages(news) if news else None

    def messages_since(self, number: int | None) -> EncodedMessages | None:
        """Return the messages of the round from message number `number` on. Return None if the round has none of these,
        or if `number` is None.
        """
        if number is None or number >= self._first + len(self._messages):
            return None
        at = max(number - self._first, 0)
        if at not in self._encoded_since:
            self._encoded_since[at] = EncodedMessages(self._messages[at:])
        return self._encoded_since[at]

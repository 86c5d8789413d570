"""The live feed: publishes events over MQTT as JSON, with a bounded queue while the broker is slow or away.

Events are collected for 10 milliseconds and published together. No match ever waits for the broker. Turns have a
queue of 4 MiB, starts and ends of matches one of 64 MiB; a full queue drops its oldest messages. Of a leaderboard only
the newest version is published.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import Counter, deque
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from arena.mqtt_connection import MATCH_PLACEHOLDER, MAX_IN_FLIGHT, MqttConnection, MqttConnectSpec, Publication
from machine.backoff import Backoff
from machine.event_loop import wait_within
from machine.host_names import host_of_url
from protocol.errors import UsageFault
from protocol.messages import End, FromServer, Start, Turn

DEFAULT_PORT = 1883
"""The port of an MQTT broker whose address names none."""
DEFAULT_PREFIX = "arena"
"""The prefix of topics if the broker's address names none."""
MAX_TURN_BYTES = 4 * 1024 * 1024
"""Maximum total size, in bytes, of the turns that wait in an `Outbox`."""
MAX_DURABLE_BYTES = 64 * 1024 * 1024
"""Maximum total size, in bytes, of the starts and ends of matches that wait in an `Outbox`."""
MESSAGE_OVERHEAD_BYTES = 200
"""Approximate size of a queued message besides its topic and payload."""
PUBLISH_DELAY_S = 0.01
"""Seconds for which events are collected before they are published."""
BATCH_SIZE = 8
"""Maximum number of messages that are written to the connection at once."""
MAX_TURNS_PER_MESSAGE = 32
"""Maximum number of turns in one message."""

log = logging.getLogger("arena.feed.feed")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedTimeouts:
    """The feed's time limits for the broker, in seconds."""

    connect_timeout_s: float = 20.0
    """Seconds in which the publishing process starts, resolves the broker's name and gets the broker's answer."""
    answer_timeout_s: float = 5.0
    """Seconds in which the broker must accept the connection of the publishing process."""
    keepalive_s: int = 10
    """Seconds of silence after which the broker is pinged. Without an answer in as many seconds, it counts as lost."""
    first_retry_delay_s: float = 0.5
    max_retry_delay_s: float = 10.0
    flush_timeout_s: float = 2.0
    """Seconds in which queued messages are published when the arena stops. Later they are dropped."""


class BadBroker(UsageFault):
    """Raised if the address of an MQTT broker is invalid."""


class Broker(NamedTuple):
    """An MQTT broker and the topic prefix for events, which has no slash at either end."""

    host: str
    port: int
    user: str | None
    password: str | None
    prefix: str

    @classmethod
    def parse(cls, url: str) -> Broker:
        """Parse `mqtt://[user:password@]host[:port][/prefix]`. If invalid, raise `BadBroker`, without the password."""
        form = "it looks like mqtt://host:1883/prefix"
        try:
            parts = urlsplit(url)
            port = DEFAULT_PORT if parts.port is None else parts.port
        except ValueError as exc:
            raise BadBroker(f"the MQTT address cannot be read ({exc}): {form}") from exc
        if parts.scheme != "mqtt":
            raise BadBroker(f"the MQTT address begins with {parts.scheme[:20] or 'no scheme'!r}: {form}")
        host = host_of_url(url)
        if not host or port == 0:
            raise BadBroker(f"the MQTT address names no {'port' if host else 'host'}: {form}")
        if set(url) & set("?#"):
            raise BadBroker(f"an MQTT prefix with ? or # is no topic: {form}")
        prefix = unquote(parts.path).strip("/") or DEFAULT_PREFIX
        if prefix.startswith("$") or set(prefix) & set("+#\0") or len(prefix) > 200:
            raise BadBroker(
                f"the MQTT prefix {prefix[:40]!r} is no topic: up to 200 characters without + # or leading $"
            )
        user, password = (None if part is None else unquote(part) for part in (parts.username, parts.password))
        return cls(host, port, user, password, prefix)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class QueuedMessage(NamedTuple):
    """A message to publish. If it is the end of a match, `ended_match` is that match's id."""

    publication: Publication
    ended_match: str | None = None


NumberedMessage = tuple[int, QueuedMessage]
"""A message with its number in the order of queueing, from 1. Leaderboards and the status, which are not queued, have
the number 0. If the connection is lost before the broker acknowledges them, they are not put into the queue, because
each new connection begins by sending them.
"""


class Outbox:
    """A queue of messages with separate byte limits for turns and for lasting messages (starts and ends)."""

    def __init__(self, max_turn_bytes: int = MAX_TURN_BYTES, max_durable_bytes: int = MAX_DURABLE_BYTES) -> None:
        self._turns = _BoundedQueue(max_turn_bytes)
        self._durable = _BoundedQueue(max_durable_bytes)
        self._count = 0

    def add(self, message: QueuedMessage) -> list[QueuedMessage]:
        """Queue a message. If messages of its kind (turns, or starts and ends) now exceed their byte limit, drop the
        oldest of this kind and return them.
        """
        self._count += 1
        return (self._durable if message.publication.qos else self._turns).append((self._count, message))

    def take(self, max_messages: int) -> list[NumberedMessage]:
        """Remove and return the next messages, oldest first, with their numbers."""
        taken: list[NumberedMessage] = []
        turns, lasting = self._turns, self._durable
        while len(taken) < max_messages and (turns.queue or lasting.queue):
            turn_next = not lasting.queue or (turns.queue and turns.queue[0][0] < lasting.queue[0][0])
            taken.append((turns if turn_next else lasting).popleft())
        return taken

    def put_back(self, taken: Sequence[NumberedMessage]) -> list[QueuedMessage]:
        """Put starts and ends of matches that were taken, but not acknowledged, back at the head of the queue. Return
        the messages that were dropped for lack of room.
        """
        return self._durable.extendleft(list(reversed(taken)))

    @property
    def bytes(self) -> int:
        """The size of all queued messages, in bytes."""
        return self._turns.bytes + self._durable.bytes

    def __len__(self) -> int:
        return len(self._turns.queue) + len(self._durable.queue)


class _BoundedQueue:
    """A queue of messages that drops its oldest messages when their size exceeds a number of bytes."""

    def __init__(self, limit: int) -> None:
        self.queue: deque[NumberedMessage] = deque()
        self.bytes = 0
        self.max_bytes = limit

    def append(self, numbered: NumberedMessage) -> list[QueuedMessage]:
        self.queue.append(numbered)
        self.bytes += _size_bytes(numbered)
        return self._trim()

    def extendleft(self, newest_first: Sequence[NumberedMessage]) -> list[QueuedMessage]:
        self.queue.extendleft(newest_first)
        self.bytes += sum(map(_size_bytes, newest_first))
        return self._trim()

    def popleft(self) -> NumberedMessage:
        numbered = self.queue.popleft()
        self.bytes -= _size_bytes(numbered)
        return numbered

    def _trim(self) -> list[QueuedMessage]:
        dropped = []
        while self.bytes > self.max_bytes:
            dropped.append(self.popleft()[1])
        return dropped


def _size_bytes(numbered: NumberedMessage) -> int:
    publication = numbered[1].publication
    return MESSAGE_OVERHEAD_BYTES + len(publication.topic) + len(publication.payload)


class Delivery(NamedTuple):
    """The outcome of publishing the end of a match: the broker has acknowledged it, or it was dropped for lack of
    room.
    """

    match: str
    is_acknowledged: bool


class Feed:
    """The event feed of an arena, or of one `node` of it. `run` publishes what other methods queue. Only `run` and
    `close` wait. An invalid address raises `BadBroker`.
    """

    def __init__(
        self,
        url: str,
        outbox: Outbox | None = None,
        node: str | None = None,
        timeouts: FeedTimeouts | None = None,
    ) -> None:
        self._timeouts = timeouts or FeedTimeouts()
        self.broker = Broker.parse(url)
        self.outbox = Outbox() if outbox is None else outbox
        self.deliveries: asyncio.Queue[Delivery] = asyncio.Queue()
        """The outcomes of publishing the ends of matches, oldest first."""
        self._topic = self.broker.prefix
        self._status_topic = f"{self._topic}/status" if node is None else f"{self._topic}/node/{node}/status"
        self._turn_topic = f"{self._topic}/match/{MATCH_PLACEHOLDER}/turn"
        self._turns: list[Turn] = []
        """Collected turns that are not in the outbox yet."""
        self._publish_timer: asyncio.TimerHandle | None = None
        """The timer that publishes the collected events; None if there are none."""
        self._leaderboards: dict[str, Publication] = {}
        self._unpublished_boards: dict[str, None] = {}
        self._connection: MqttConnection | None = None
        self._in_flight: dict[int, NumberedMessage] = {}
        """Messages that the broker has not acknowledged, by packet identifier."""
        self._loop = asyncio.get_running_loop()
        self._nothing_in_flight = asyncio.Event()
        """The event that is set while the broker has acknowledged all messages."""
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._has_logged_outage = False
        self.published = 0
        """Number of messages sent to the broker. A message that is sent twice counts twice."""
        self.dropped_counts: Counter[str] = Counter()
        """The number of messages dropped for lack of room, by kind: `turns`, or `lasting` for starts and ends of
        matches.
        """
        # All connections share one identifier, so that a new one ends the old one without its will.
        self._identifier = f"arena-{secrets.token_hex(6)}"

    @property
    def is_online(self) -> bool:
        """True while connected to the broker."""
        return self._connection is not None

    @property
    def in_flight_count(self) -> int:
        """The number of messages that the broker has not acknowledged yet."""
        return len(self._in_flight)

    def report(self, message: FromServer) -> None:
        """Collect an event of a match to publish it: the start, turn or end that spectators get."""
        if isinstance(message, Turn):
            self._turns.append(message)
        else:
            self._queue_turns()  # in order: they came before this event
            self._queue_start_or_end(message)
        if self._publish_timer is None:
            self._publish_timer = self._loop.call_later(PUBLISH_DELAY_S, self._publish_collected)

    def publish_leaderboard(self, pool: str, rows: Sequence[Mapping[str, Any] | msgspec.Struct]) -> None:
        """Publish a pool's newest leaderboard, instead of an older one that is still queued. The broker retains it."""
        payload = _encode({"game": pool.partition("/")[0], "pool": pool, "rows": rows})
        self._leaderboards[pool] = Publication(f"{self._topic}/leaderboard/{pool}", payload, 1, True)
        self._unpublished_boards[pool] = None
        self._publish()

    async def run(self) -> None:
        """Publish until `close`, reconnecting after every failure."""
        self._task = asyncio.current_task()
        backoff = Backoff(self._timeouts.first_retry_delay_s, self._timeouts.max_retry_delay_s)
        while True:
            try:
                connection = await self._connect()
                log.info("connected to the MQTT broker %s, publishing under %s/", self.broker, self.broker.prefix)
                self._has_logged_outage = False
                backoff.reset()
                await self._publish_until_closed(connection)
                return
            except Exception as exc:  # the feed must survive any failure of the broker
                self._log_outage(exc)
                if self._closing.is_set():
                    return
                await wait_within(self._closing.wait(), backoff.next_delay())

    async def close(self) -> None:
        """Publish the queued messages within `flush_timeout_s` seconds, then that the arena is offline."""
        self._closing.set()
        await asyncio.sleep(0)  # lets a task that was just created start
        if self._task is None:
            return
        done, _ = await asyncio.wait({self._task}, timeout=self._timeouts.flush_timeout_s)
        if not done:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _connect(self) -> MqttConnection:
        broker = self.broker
        order = MqttConnectSpec(
            host=broker.host,
            port=broker.port,
            identifier=self._identifier,
            user=broker.user,
            password=broker.password,
            will=self._status_publication(False),
            within=self._timeouts.answer_timeout_s,
            keepalive=self._timeouts.keepalive_s,
        )
        return await MqttConnection.connect(
            order, self._timeouts.connect_timeout_s, on_acknowledged=self._on_acknowledged, on_writable=self._publish
        )

    def _status_publication(self, online: bool) -> Publication:
        return Publication(self._status_topic, _encode({"online": online}), 1, True)

    async def _publish_until_closed(self, connection: MqttConnection) -> None:
        """Publish over one connection until `close`. Raise `OSError` when the connection is lost."""
        self._connection = connection
        try:
            self._send([(0, QueuedMessage(self._status_publication(True)))])
            self._unpublished_boards = dict.fromkeys(self._leaderboards)
            self._publish()
            await _wait_unless_lost(connection, self._closing.wait())
            self._publish_collected()
            while self.outbox or self._unpublished_boards or self._in_flight:
                await _wait_unless_lost(connection, self._nothing_in_flight.wait())
            self._send([(0, QueuedMessage(self._status_publication(False)))])
            await _wait_unless_lost(connection, self._nothing_in_flight.wait())
            await connection.close()
        finally:
            self._connection = None
            unacknowledged = [numbered for numbered in self._in_flight.values() if numbered[0]]
            self._in_flight.clear()
            self._nothing_in_flight.set()
            self._report_dropped(self.outbox.put_back(unacknowledged))
            await connection.end()

    def _publish_collected(self) -> None:
        if self._publish_timer is not None:
            self._publish_timer.cancel()
            self._publish_timer = None
        self._queue_turns()
        self._publish()

    def _queue_turns(self) -> None:
        turns, self._turns = self._turns, []
        for at in range(0, len(turns), MAX_TURNS_PER_MESSAGE):
            lines = _encode_lines(turns[at : at + MAX_TURNS_PER_MESSAGE])
            self._queue(QueuedMessage(Publication(self._turn_topic, lines)))

    def _queue_start_or_end(self, message: FromServer) -> None:
        if isinstance(message, Start):
            self._queue(QueuedMessage(Publication(f"{self._topic}/match/{message.match}/start", _encode(message), 1)))
        elif isinstance(message, End):
            publication = Publication(f"{self._topic}/match/{message.match}/end", _encode(message), 1)
            self._queue(QueuedMessage(publication, message.match))

    def _queue(self, message: QueuedMessage) -> None:
        self._report_dropped(self.outbox.add(message))

    def _publish(self) -> None:
        """Publish queued messages as fast as the broker reads and acknowledges them."""
        connection = self._connection
        while connection is not None and connection.is_writable:
            room = min(BATCH_SIZE, MAX_IN_FLIGHT - len(self._in_flight))
            batch = self.outbox.take(room)
            while self._unpublished_boards and len(batch) < room:
                batch.append((0, QueuedMessage(self._leaderboards[self._unpublished_boards.popitem()[0]])))
            if not batch:
                return
            self._send(batch)

    def _send(self, batch: Iterable[NumberedMessage]) -> None:
        assert self._connection is not None
        packets = []
        for numbered in batch:
            packet, identifier = self._connection.make_packet(numbered[1].publication)
            packets.append(packet)
            if identifier:
                self._in_flight[identifier] = numbered
                self._nothing_in_flight.clear()
        self.published += len(packets)
        self._connection.write(b"".join(packets))

    def _on_acknowledged(self, identifier: int) -> None:
        numbered = self._in_flight.pop(identifier, None)
        if numbered is not None and numbered[1].ended_match is not None:
            self.deliveries.put_nowait(Delivery(numbered[1].ended_match, is_acknowledged=True))
        if self.outbox or self._unpublished_boards:
            self._publish()
        if not self._in_flight:
            self._nothing_in_flight.set()

    def _report_dropped(self, messages: Iterable[QueuedMessage]) -> None:
        for message in messages:
            self.dropped_counts["lasting" if message.publication.qos else "turns"] += 1
            if message.ended_match is not None:
                self.deliveries.put_nowait(Delivery(message.ended_match, is_acknowledged=False))

    def _log_outage(self, exc: BaseException) -> None:
        level = logging.DEBUG if self._has_logged_outage else logging.WARNING
        self._has_logged_outage = True
        log.log(
            level,
            "the MQTT broker %s can't be reached (%s); matches continue, and the server tries again",
            self.broker,
            exc,
        )


_json = msgspec.json.Encoder()
_encode, _encode_lines = _json.encode, _json.encode_lines


async def _wait_unless_lost(connection: MqttConnection, work: Coroutine[Any, Any, object]) -> None:
    """Wait until `work` is done. If the connection is lost first, cancel `work` and raise the reason of the loss."""
    waiting = asyncio.ensure_future(work)
    await asyncio.wait((waiting, connection.lost), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if connection.lost.done():
        raise connection.lost.result()

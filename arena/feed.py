"""Live events over MQTT, as JSON. The only module that knows aiomqtt.

The server calls plain methods that put messages into a bounded outbox; `run` empties it towards the broker. Whatever
the broker does, no match waits for it: turns are dropped first, starts and ends are kept much longer, and of a
leaderboard only the newest counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import aiomqtt
import msgspec

from machine.backoff import Backoff
from protocol.errors import UsageFault
from protocol.messages import End, Start, Turn

DEFAULT_PORT = 1883
DEFAULT_PREFIX = "arena"
TURN_BYTES = 4 * 1024 * 1024
LASTING_BYTES = 64 * 1024 * 1024
OVERHEAD = 200  # what a queued message costs beside its payload, roughly
BATCH = 64
FIRST_DELAY = 0.5
LONGEST_DELAY = 10.0
BROKER_TIMEOUT = 5.0
FLUSH_SECONDS = 2.0
KEEPALIVE = 20

log = logging.getLogger("arena.feed.feed")


class BadBroker(UsageFault):
    """An MQTT address that cannot be used."""


class Broker(NamedTuple):
    """Where the events go. `prefix` has no slash at either end."""

    host: str
    port: int
    user: str | None
    password: str | None
    prefix: str

    @classmethod
    def parse(cls, url: str) -> Broker:
        """The address `mqtt://[user:password@]host[:port][/prefix]`. Raises `BadBroker`; a password is never shown."""
        form = "it looks like mqtt://host:1883/prefix"
        try:
            parts = urlsplit(url)
            port = DEFAULT_PORT if parts.port is None else parts.port
        except ValueError as exc:
            raise BadBroker(f"the MQTT address cannot be read ({exc}): {form}") from exc
        if parts.scheme != "mqtt":
            raise BadBroker(f"the MQTT address begins with {parts.scheme[:20] or 'no scheme'!r}: {form}")
        if not parts.hostname or port == 0:
            raise BadBroker(f"the MQTT address names no {'port' if parts.hostname else 'host'}: {form}")
        if set(url) & set("?#"):
            raise BadBroker(f"an MQTT prefix with ? or # is no topic: {form}")
        prefix = unquote(parts.path).strip("/") or DEFAULT_PREFIX
        if prefix.startswith("$") or set(prefix) & set("+#\0") or len(prefix) > 200:
            raise BadBroker(
                f"the MQTT prefix {prefix[:40]!r} is no topic: up to 200 characters without + # or leading $"
            )
        user, password = (None if part is None else unquote(part) for part in (parts.username, parts.password))
        return cls(parts.hostname, port, user, password, prefix)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Message(NamedTuple):
    """One publication. Those of QoS 1 are worth keeping while the broker is away."""

    topic: str
    payload: bytes
    qos: int = 0
    retain: bool = False


class Outbox:
    """What is still to be published, in order, bounded by bytes: turns and lasting messages apart."""

    def __init__(self, turn_bytes: int = TURN_BYTES, lasting_bytes: int = LASTING_BYTES) -> None:
        self._turns = _Lane(turn_bytes)
        self._lasting = _Lane(lasting_bytes)
        self._count = 0

    def add(self, message: Message) -> None:
        """Queue a message; the oldest of its kind make room for it."""
        self._count += 1
        (self._lasting if message.qos else self._turns).append((self._count, message))

    def take(self, most: int) -> list[tuple[int, Message]]:
        """The next messages, oldest first, with their numbers; they leave the outbox."""
        taken: list[tuple[int, Message]] = []
        while len(taken) < most and (lanes := [lane for lane in (self._turns, self._lasting) if lane.queue]):
            taken.append(min(lanes, key=lambda lane: lane.queue[0][0]).popleft())
        return taken

    def put_back(self, taken: Sequence[tuple[int, Message]]) -> None:
        """Return what could not be published to where it was; turns are stale by then and stay away."""
        self._lasting.extendleft([numbered for numbered in reversed(taken) if numbered[1].qos])

    @property
    def bytes(self) -> int:
        """The size of all that waits."""
        return self._turns.bytes + self._lasting.bytes

    def __len__(self) -> int:
        return len(self._turns.queue) + len(self._lasting.queue)


class _Lane:
    """A queue that forgets its oldest entries beyond a number of bytes."""

    def __init__(self, limit: int) -> None:
        self.queue: deque[tuple[int, Message]] = deque()
        self.bytes = 0
        self.limit = limit

    def append(self, numbered: tuple[int, Message]) -> None:
        self.queue.append(numbered)
        self.bytes += _size(numbered)
        self._trim()

    def extendleft(self, newest_first: Sequence[tuple[int, Message]]) -> None:
        self.queue.extendleft(newest_first)
        self.bytes += sum(map(_size, newest_first))
        self._trim()

    def popleft(self) -> tuple[int, Message]:
        numbered = self.queue.popleft()
        self.bytes -= _size(numbered)
        return numbered

    def _trim(self) -> None:
        while self.bytes > self.limit:
            self.popleft()


def _size(numbered: tuple[int, Message]) -> int:
    message = numbered[1]
    return OVERHEAD + len(message.topic) + len(message.payload)


class Feed:
    """The event feed of one arena. `run` is its task; the other methods never wait, save `close`.

    Raises `BadBroker` for an address that cannot be used.
    """

    def __init__(self, url: str, outbox: Outbox | None = None) -> None:
        self.broker = Broker.parse(url)
        self.outbox = Outbox() if outbox is None else outbox
        self._boards: dict[str, Message] = {}
        self._stale: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._told_of_outage = False
        # One identifier for all connections of this feed: a new one ends the old one, and with it the old one's will.
        self._identifier = f"arena-{secrets.token_hex(6)}"

    def started(self, start: Start) -> None:
        """A match began: what a watcher is told."""
        self._add(f"match/{start.match}/start", msgspec.structs.replace(start, seek=None, seat=None), qos=1)

    def turned(self, turn: Turn) -> None:
        """A ply was played: what a watcher is told."""
        self._add(f"match/{turn.match}/turn", msgspec.structs.replace(turn, legal=None, options=None), qos=0)

    def ended(self, end: End) -> None:
        """A match is over."""
        self._add(f"match/{end.match}/end", end, qos=1)

    def leaderboard(self, pool: str, rows: Sequence[Mapping[str, Any] | msgspec.Struct]) -> None:
        """The newest leaderboard of a pool; it replaces one that still waits, and the broker retains it."""
        payload = msgspec.json.encode({"game": pool.partition("/")[0], "pool": pool, "rows": rows})
        self._boards[pool] = Message(f"{self.broker.prefix}/leaderboard/{pool}", payload, 1, True)
        self._stale[pool] = None
        self._wake.set()

    def _add(self, topic: str, content: msgspec.Struct, qos: int) -> None:
        self.outbox.add(Message(f"{self.broker.prefix}/{topic}", msgspec.json.encode(content), qos))
        self._wake.set()

    async def run(self) -> None:
        """Publish until `close`, through every failure of the broker."""
        self._task = asyncio.current_task()
        backoff = Backoff(FIRST_DELAY, LONGEST_DELAY)
        while True:
            try:
                async with self._client() as client:
                    log.info("publishing to the MQTT broker %s under %s/", self.broker, self.broker.prefix)
                    self._told_of_outage = False
                    backoff.reset()
                    await self._serve(client)
                return
            except Exception as exc:  # the feed outlives any failure of the broker or of its client library
                self._tell_of_outage(exc)
                if self._closing.is_set():
                    return
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), backoff.delay())

    async def close(self) -> None:
        """Publish what waits, for a moment at most, then say that the arena is offline."""
        self._closing.set()
        self._wake.set()
        await asyncio.sleep(0)  # a task made just now has not begun to run
        if self._task is None:
            return
        for limit in (FLUSH_SECONDS, 0.5, 0.5):
            done, _ = await asyncio.wait({self._task}, timeout=limit)
            if done:
                return
            self._task.cancel()  # the second time ends the library's own wait for a disconnection

    def _client(self) -> aiomqtt.Client:
        host, port, user, password, _ = self.broker
        client = aiomqtt.Client(
            host,
            port,
            username=user,
            password=password,
            identifier=self._identifier,
            will=aiomqtt.Will(*self._status(False)),
            timeout=BROKER_TIMEOUT,
            keepalive=KEEPALIVE,
            max_inflight_messages=BATCH,
        )
        client.pending_calls_threshold = 2 * BATCH
        return client

    def _status(self, online: bool) -> Message:
        return Message(f"{self.broker.prefix}/status", msgspec.json.encode({"online": online}), 1, True)

    async def _serve(self, client: aiomqtt.Client) -> None:
        """Publish over one connection until `close`. Raises when the connection is lost."""
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(_until_lost(client))
            self._stale = dict.fromkeys(self._boards)
            await client.publish(*self._status(True))
            await self._publish_all(client)
            await client.publish(*self._status(False))
            watch.cancel()

    async def _publish_all(self, client: aiomqtt.Client) -> None:
        while True:
            self._wake.clear()
            while batch := [*self.outbox.take(BATCH), *self._newest_boards()]:
                await self._publish(client, batch)
            if self._closing.is_set():
                return
            await self._wake.wait()

    def _newest_boards(self) -> Iterator[tuple[int, Message]]:
        while self._stale:
            yield 0, self._boards[self._stale.popitem()[0]]

    async def _publish(self, client: aiomqtt.Client, batch: list[tuple[int, Message]]) -> None:
        """Publish a batch in order and wait until the broker has it. What it did not take goes back to the outbox."""
        results: list[BaseException | None] = [None] * len(batch)
        publications = [asyncio.ensure_future(client.publish(*message)) for _, message in batch]
        try:
            await asyncio.gather(*publications)
        except BaseException:
            for publication in publications:
                publication.cancel()
            results = await asyncio.gather(*publications, return_exceptions=True)
            raise
        finally:
            unsent = [numbered for numbered, result in zip(batch, results, strict=True) if result is not None]
            self.outbox.put_back([(number, message) for number, message in unsent if number])

    def _tell_of_outage(self, exc: BaseException) -> None:
        while isinstance(exc, BaseExceptionGroup):
            exc = exc.exceptions[0]
        level = logging.DEBUG if self._told_of_outage else logging.WARNING
        self._told_of_outage = True
        log.log(level, "the MQTT broker %s is away (%s); matches go on, and it is tried again", self.broker, exc)


async def _until_lost(client: aiomqtt.Client) -> None:
    """Raises `MqttError` once the connection is lost; nothing is subscribed, so nothing else arrives."""
    async for _ in client.messages:
        pass

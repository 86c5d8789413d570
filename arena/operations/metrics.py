"""What a server counts and measures, as Prometheus reads it: `COLLECTED` are the metrics, each described once, and all
is looked up when it is asked for.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from importlib.metadata import version
from itertools import accumulate
from pathlib import Path
from platform import python_version
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector, make_asgi_app
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

from arena.network.addresses import misdirected
from arena.network.connection_limits import Bounds
from arena.network.http_server import HttpServer
from machine.event_loop import running
from machine.histogram import Histogram
from protocol.games import NAMES

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp, Receive, Scope, Send

    from arena.feed import Feed
    from arena.host.meters import Meters
    from arena.server.arena import Arena
    from arena.store.nodes import Node

PATH = "/metrics"
LOOK_EVERY = 0.1
"""Seconds between two looks at how late the event loop is."""
BOUNDS = Bounds(waiting=64, waiting_per_address=16)
"""Connections of who reads metrics, at once."""

Values = Iterable[tuple[tuple[str, ...], float | Histogram]]
"""The values of a metric, each with those of its labels."""


class Sources(NamedTuple):
    """What metrics are read from. `folders` are those whose disks are watched, by what is in them; `node` is empty for
    a server that is none, `database` is sqlite or postgresql.
    """

    arena: Arena
    meters: Meters
    feed: Feed | None
    folders: Mapping[str, Path]
    database: str
    node: str
    release: str = version("bot-arena")


class Described(NamedTuple):
    """A metric: its kind, its name without the `arena_` before it, what it says, how values are found, its labels."""

    kind: type[CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily]
    name: str
    help: str
    values: Callable[[Sources], Values]
    labels: tuple[str, ...] = ()


def _one(value: Callable[[Sources], float | Histogram]) -> Callable[[Sources], Values]:
    """The values of a metric that has one alone."""
    return lambda sources: [((), value(sources))]


def _by(values: Callable[[Sources], Mapping[str, float]]) -> Callable[[Sources], Values]:
    """Those of a metric with one label."""
    return lambda sources: [((label,), value) for label, value in values(sources).items()]


def _of_games(values: Callable[[Sources], Mapping[str, float]]) -> Callable[[Sources], Values]:
    """The same by game, for all games that there are."""
    return lambda sources: [((game,), values(sources).get(game, 0)) for game in NAMES]


def _under_way(sources: Sources) -> dict[str, float]:
    counts: dict[str, float] = {}
    for runner in sources.arena.host.clients.runners.values():
        counts[runner.game] = counts.get(runner.game, 0) + 1
    return counts


def _clients(sources: Sources) -> dict[str, float]:
    host = sources.arena.host
    return {
        "bot": len(host.clients.sessions),
        "spectator": host.spectators,
        "operator": sources.arena.channel.connections,
        "unknown": len(host.listener.gate.places.waiting),
    }


def _paused(sources: Sources) -> dict[str, float]:
    places = sources.arena.host.health.places
    return {"store": "store" in places, "journal": any(place != "store" for place in places)}


def _database_up(sources: Sources) -> bool:
    return sources.arena.nodes.away() is None and "store" not in sources.arena.host.health.places


def _state(node: Node) -> str:
    if node.alive:
        return "draining" if node.draining else "pairing"
    return "left" if node.seen is None else "gone"


def _nodes(sources: Sources) -> dict[str, float]:
    states = [_state(node) for node in sources.arena.nodes.all()]
    return {state: states.count(state) for state in ("pairing", "draining", "left", "gone")} if states else {}


def _quotas(sources: Sources) -> dict[str, float]:
    quotas = sources.arena.host.quotas
    named = {"matches": quotas.matches, "memory": quotas.memory, "disk": quotas.stored}
    return {name: quota.taken / quota.total for name, quota in named.items() if quota.total}


def _disks(which: str) -> Callable[[Sources], dict[str, float]]:
    def look(sources: Sources) -> dict[str, float]:
        found = {}
        for name, folder in sources.folders.items():
            try:
                found[name] = float(getattr(shutil.disk_usage(folder), which))
            except OSError:  # it was removed
                continue
        return found

    return look


def _of_feed(value: Callable[[Feed], float]) -> Callable[[Sources], Values]:
    """A value of the feed, where there is one."""
    return lambda sources: [] if sources.feed is None else [((), value(sources.feed))]


def _crowded_out(sources: Sources) -> Mapping[str, float]:
    feed = sources.feed
    return {} if feed is None else {kind: feed.crowded_out[kind] for kind in ("turns", "lasting")}


COUNTER, GAUGE, HISTOGRAM = CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

COLLECTED = (
    Described(
        GAUGE,
        "build_info",
        "What this server is; the value is 1. A server that is no node has no node's name.",
        lambda s: [((s.release, python_version(), s.database, s.node), 1)],
        ("version", "python", "database", "node"),
    ),
    Described(
        GAUGE, "ready", "Whether it may take play, as /readyz says.", _one(lambda s: s.arena.host.unready() is None)
    ),
    Described(
        GAUGE, "database_up", "Whether the database could be reached when it was last tried.", _one(_database_up)
    ),
    Described(
        GAUGE,
        "draining",
        "Whether it begins no match any more.",
        _one(lambda s: s.arena.drain.on or s.arena.nodes.draining),
    ),
    Described(
        GAUGE,
        "paused",
        "Whether play is held because the store, or the journal, can't be written.",
        _by(_paused),
        ("by",),
    ),
    Described(
        GAUGE,
        "warnings",
        "What the operator should look after, by `arena status`.",
        _one(lambda s: len(s.arena.warnings.all())),
    ),
    Described(
        GAUGE,
        "nodes",
        "Nodes that are pairing, draining, gone, or have left in order, as this one sees them; none on SQLite.",
        _by(_nodes),
        ("state",),
    ),
    Described(
        COUNTER,
        "matches_begun",
        "Matches that began.",
        _of_games(lambda s: s.arena.host.events.begun_matches),
        ("game",),
    ),
    Described(
        COUNTER,
        "matches_ended",
        "Matches that ended, by reason.",
        lambda s: list(s.arena.host.events.ended_matches.items()),
        ("game", "reason"),
    ),
    Described(GAUGE, "matches_under_way", "Matches that began and are not told yet.", _of_games(_under_way), ("game",)),
    Described(COUNTER, "plies", "Plies that were played.", _of_games(lambda s: s.arena.host.plies()), ("game",)),
    Described(
        HISTOGRAM,
        "referee_seconds",
        "Time that the referee took for a move, from when it was read until its line was made; of every 13th move.",
        lambda s: [((game,), times) for game, times in s.meters.referee.items()],
        ("game",),
    ),
    Described(
        HISTOGRAM,
        "move_seconds",
        "Time from when a move was read until it was recorded and told; of every 13th move.",
        _one(lambda s: s.meters.told),
    ),
    Described(
        HISTOGRAM,
        "journal_write_seconds",
        "Time to write the line of a move into its journal; of every 13th move.",
        _one(lambda s: s.meters.journal),
    ),
    Described(
        HISTOGRAM,
        "journal_sync_seconds",
        "Time of a sync of the journals' log, with --durability machine.",
        _one(lambda s: s.arena.host.recorder.syncs),
    ),
    Described(
        HISTOGRAM, "event_loop_lag_seconds", "How late the event loop did what was due.", _one(lambda s: s.meters.lag)
    ),
    Described(
        HISTOGRAM,
        "store_commit_seconds",
        "Time of a transaction that stores finished matches and those that begin.",
        _one(lambda s: s.arena.store.commits),
    ),
    Described(
        COUNTER, "store_failures", "How many of these transactions failed.", _one(lambda s: s.arena.store.failures)
    ),
    Described(
        GAUGE, "results_waiting", "Finished matches that are not stored yet.", _one(lambda s: s.arena.store.waiting)
    ),
    Described(
        GAUGE,
        "results_set_aside",
        "Finished matches that the store does not take, while it takes others.",
        _one(lambda s: s.arena.store.set_aside),
    ),
    Described(
        GAUGE,
        "starts_waiting",
        "Matches that wait to be noted in the database before they begin.",
        _one(lambda s: s.arena.store.beginning),
    ),
    Described(GAUGE, "seeks", "Seeks in force.", _of_games(lambda s: s.arena.ladder.seeking), ("game",)),
    Described(
        HISTOGRAM, "seek_wait_seconds", "How long seeks waited for their match.", _one(lambda s: s.arena.ladder.waits)
    ),
    Described(
        GAUGE,
        "clients",
        "Connections of bots, spectators, operators, and of who is unknown as it has said nothing yet.",
        _by(_clients),
        ("role",),
    ),
    Described(
        COUNTER,
        "received_bytes",
        "Bytes that came from clients, inside of TLS.",
        _one(lambda s: s.arena.host.listener.scheduler.received),
    ),
    Described(
        COUNTER,
        "sent_bytes",
        "Bytes of messages to clients, inside of TLS.",
        _one(lambda s: s.arena.host.listener.scheduler.sent),
    ),
    Described(
        GAUGE,
        "unread_bytes",
        "Bytes that clients have left unread.",
        _one(lambda s: s.arena.host.listener.scheduler.unread),
    ),
    Described(
        COUNTER,
        "connections_refused",
        "Connections that were refused, by HTTP status, or unanswered as there were too many.",
        _by(lambda s: s.arena.host.listener.gate.refusals),
        ("status",),
    ),
    Described(
        COUNTER,
        "logins_rejected",
        "Clients that were not let in, by error code.",
        _by(lambda s: s.arena.host.events.rejected),
        ("code",),
    ),
    Described(
        COUNTER,
        "client_rests",
        "How often clients had to rest before their turn: the share of a connection, an address or all was used up.",
        _by(lambda s: {whose: rests.count for whose, rests in s.arena.host.listener.scheduler.rests.items()}),
        ("share",),
    ),
    Described(
        COUNTER,
        "client_rest_seconds",
        "For how long they had to, in all.",
        _by(lambda s: {whose: rests.seconds for whose, rests in s.arena.host.listener.scheduler.rests.items()}),
        ("share",),
    ),
    Described(
        COUNTER,
        "playbans",
        "How often a bot was suspended, as it did not come to its match.",
        _one(lambda s: s.arena.host.events.missed_matches),
    ),
    Described(
        GAUGE,
        "quota_used_ratio",
        "How much is taken of what clients may have: matches, memory, disk.",
        _by(_quotas),
        ("quota",),
    ),
    Described(
        GAUGE,
        "disk_free_bytes",
        "What is free on the disk of the data folder, and of the database's where it is a file.",
        _by(_disks("free")),
        ("folder",),
    ),
    Described(GAUGE, "disk_size_bytes", "The sizes of these disks.", _by(_disks("total")), ("folder",)),
    Described(
        GAUGE,
        "feed_up",
        "Whether there is a broker; what begins so is there with --mqtt alone.",
        _of_feed(lambda feed: feed.online),
    ),
    Described(
        GAUGE, "feed_waiting_messages", "Messages that wait to be published.", _of_feed(lambda feed: len(feed.outbox))
    ),
    Described(GAUGE, "feed_waiting_bytes", "The bytes of these.", _of_feed(lambda feed: feed.outbox.bytes)),
    Described(
        GAUGE,
        "feed_in_flight_messages",
        "Messages that the broker has not acknowledged.",
        _of_feed(lambda feed: feed.in_flight),
    ),
    Described(
        COUNTER, "feed_published", "Messages that were given to the broker.", _of_feed(lambda feed: feed.published)
    ),
    Described(
        COUNTER,
        "feed_crowded_out",
        "Messages for which there was no room: turns are gone, the lasting are published later.",
        _by(_crowded_out),
        ("kind",),
    ),
)


class ArenaCollector(Collector):
    """Looks all metrics up."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def collect(self) -> Iterator[Metric]:
        for described in COLLECTED:
            family = described.kind(f"arena_{described.name}", described.help, labels=described.labels)
            for labels, value in described.values(self._sources):
                if isinstance(value, Histogram):
                    assert isinstance(family, HistogramMetricFamily)
                    family.add_metric(labels, _buckets(value), value.sum)
                else:
                    assert not isinstance(family, HistogramMetricFamily)
                    family.add_metric(labels, float(value))
            yield family


def _buckets(times: Histogram) -> list[tuple[str, float]]:
    """How many observations there are up to each bound."""
    bounds = [*map(floatToGoString, times.bounds), "+Inf"]
    return list(zip(bounds, accumulate(times.counts), strict=True))


@asynccontextmanager
async def served(sources: Sources, sockets: list[socket.socket]) -> AsyncIterator[None]:
    """Metrics are measured inside, and answered on these sockets, which listen already."""
    registry = CollectorRegistry()
    registry.register(ArenaCollector(sources))
    ProcessCollector(registry=registry)
    server = HttpServer(_at_path(make_asgi_app(registry)), BOUNDS)
    serving = asyncio.create_task(server.serve(sockets))
    try:
        async with running(measure_lag(sources.meters.lag)):
            yield
    finally:
        server.leave()
        await serving


async def measure_lag(lag: Histogram) -> None:
    """Look for ever how late the event loop is."""
    while True:
        due = perf_counter() + LOOK_EVERY
        await asyncio.sleep(LOOK_EVERY)
        lag.observe(max(0.0, perf_counter() - due))


def _at_path(app: ASGIApp) -> ASGIApp:
    """Answers at `PATH` alone, and on loopback only under names of this machine."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if misdirected(Headers(scope=scope).get("host", ""), scope["server"][0]) is not None:
            text = "on loopback the metrics are asked for under a name of this machine, like localhost\n"
            await PlainTextResponse(text, HTTPStatus.MISDIRECTED_REQUEST)(scope, receive, send)
        elif scope["path"] != PATH:
            await PlainTextResponse(f"the metrics are at {PATH}\n", HTTPStatus.NOT_FOUND)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return serve

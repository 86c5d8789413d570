"""The metrics of a server. `METRICS` describes each once; values are read when metrics are requested."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import TYPE_CHECKING, NamedTuple, get_args

from arena.store.nodes import State
from machine.histogram import Histogram
from protocol.games import NAMES

if TYPE_CHECKING:
    from arena.feed import Feed
    from arena.host.meters import Meters
    from arena.server.arena import Arena

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"
Values = Iterable[tuple[tuple[str, ...], float | Histogram]]
"""The values of a metric, each with its label values."""


class Sources(NamedTuple):
    """The objects that metrics are read from. `folders` maps labels to folders whose disks are measured. `database` is
    sqlite or postgresql; `node` is empty for a single server.
    """

    arena: Arena
    meters: Meters
    feed: Feed | None
    folders: Mapping[str, Path]
    database: str
    node: str
    release: str = version("bot-arena")


class Described(NamedTuple):
    """A metric: kind, name, help text, a function for its values, and its label names. The name lacks the prefix
    `arena_` and, for a counter, the suffix `_total`.
    """

    kind: str
    name: str
    help: str
    values: Callable[[Sources], Values]
    labels: tuple[str, ...] = ()


def _one(value: Callable[[Sources], float | Histogram]) -> Callable[[Sources], Values]:
    """Return a function for the values of a metric without labels."""
    return lambda sources: [((), value(sources))]


def _by(values: Callable[[Sources], Mapping[str, float]]) -> Callable[[Sources], Values]:
    """Return a function for the values of a metric with one label."""
    return lambda sources: [((label,), value) for label, value in values(sources).items()]


def _of_games(values: Callable[[Sources], Mapping[str, float]]) -> Callable[[Sources], Values]:
    """Return a function for the values of a metric labelled by game, with 0 for games without a value."""

    def look(sources: Sources) -> Values:
        found = values(sources)
        return [((game,), found.get(game, 0)) for game in NAMES]

    return look


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


def _nodes(sources: Sources) -> dict[str, float]:
    states = [node.state for node in sources.arena.nodes.all()]
    return {state: states.count(state) for state in get_args(State)} if states else {}


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
            except OSError:  # the folder was removed
                continue
        return found

    return look


def _of_feed(value: Callable[[Feed], float]) -> Callable[[Sources], Values]:
    """Return a function for a value of the feed; it gives none without a feed."""
    return lambda sources: [] if sources.feed is None else [((), value(sources.feed))]


def _crowded_out(sources: Sources) -> Mapping[str, float]:
    feed = sources.feed
    return {} if feed is None else {kind: feed.crowded_out[kind] for kind in ("turns", "lasting")}


METRICS = (
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
        "Nodes that are alive, draining, stopped, or gone, as this one sees them; none on SQLite.",
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
    Described(
        GAUGE,
        "seeks",
        "Seeks in force; open ones, as of bots that play whoever comes, begin no match with each other.",
        lambda s: [
            ((game, str(is_open).lower()), s.arena.ladder.seeking[game, is_open])
            for game in NAMES
            for is_open in (False, True)
        ],
        ("game", "open"),
    ),
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

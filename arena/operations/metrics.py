"""The metrics of a server. `METRICS` describes them; their values are read when a client requests the metrics."""

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
"""The kinds of metrics."""
Values = Iterable[tuple[tuple[str, ...], float | Histogram]]
"""The values of a metric, each with the values of its labels."""


class MetricSources(NamedTuple):
    """The objects that metrics are read from.

    `folders` maps labels to folders whose disks are measured. `database` is sqlite or postgresql; `node` is the node's
    name, or empty for a single server.
    """

    arena: Arena
    meters: Meters
    feed: Feed | None
    folders: Mapping[str, Path]
    database: str
    node: str
    release: str = version("bot-arena")


class Metric(NamedTuple):
    """A metric: its kind, name and help text, a function that reads its values, and the names of its labels.

    The name lacks the prefix `arena_` and, for a counter, the suffix `_total`.
    """

    kind: str
    name: str
    help: str
    values: Callable[[MetricSources], Values]
    labels: tuple[str, ...] = ()


def _unlabelled(value: Callable[[MetricSources], float | Histogram]) -> Callable[[MetricSources], Values]:
    return lambda sources: [((), value(sources))]


def _labelled(values: Callable[[MetricSources], Mapping[str, float]]) -> Callable[[MetricSources], Values]:
    return lambda sources: [((label,), value) for label, value in values(sources).items()]


def _labelled_by_game(values: Callable[[MetricSources], Mapping[str, float]]) -> Callable[[MetricSources], Values]:
    """Return a function that reads the values of a metric labelled by game. A game that `values` lacks has 0."""

    def read_values(sources: MetricSources) -> Values:
        found = values(sources)
        return [((game,), found.get(game, 0)) for game in NAMES]

    return read_values


def _count_matches_by_game(sources: MetricSources) -> dict[str, float]:
    counts: dict[str, float] = {}
    for runner in sources.arena.host.clients.runners.values():
        counts[runner.game] = counts.get(runner.game, 0) + 1
    return counts


def _count_clients(sources: MetricSources) -> dict[str, float]:
    host = sources.arena.host
    return {
        "bot": len(host.clients.sessions),
        "spectator": host.spectator_count,
        "operator": sources.arena.operator_channel.connection_count,
        "unknown": len(host.listener.admission.connection_limits.waiting),
    }


def _pause_reasons(sources: MetricSources) -> dict[str, float]:
    places = sources.arena.host.health.places
    return {"store": "store" in places, "journal": any(place != "store" for place in places)}


def _is_database_up(sources: MetricSources) -> bool:
    return sources.arena.nodes.database_problem() is None and "store" not in sources.arena.host.health.places


def _count_nodes(sources: MetricSources) -> dict[str, float]:
    states = [node.state for node in sources.arena.nodes.all_nodes()]
    return {state: states.count(state) for state in get_args(State)} if states else {}


def _quota_ratios(sources: MetricSources) -> dict[str, float]:
    quotas = sources.arena.host.quotas
    named = {"matches": quotas.matches, "memory": quotas.memory, "disk": quotas.stored}
    return {name: quota.taken / quota.total for name, quota in named.items() if quota.total}


def _disk_values(which: str) -> Callable[[MetricSources], dict[str, float]]:
    def look(sources: MetricSources) -> dict[str, float]:
        found = {}
        for name, folder in sources.folders.items():
            try:
                found[name] = float(getattr(shutil.disk_usage(folder), which))
            except OSError:  # the folder was removed
                continue
        return found

    return look


def _feed_value(value: Callable[[Feed], float]) -> Callable[[MetricSources], Values]:
    """Return a function that reads a value of the feed. Without a feed, the metric has no values."""
    return lambda sources: [] if sources.feed is None else [((), value(sources.feed))]


def _dropped_messages(sources: MetricSources) -> Mapping[str, float]:
    feed = sources.feed
    return {} if feed is None else {kind: feed.dropped_counts[kind] for kind in ("turns", "lasting")}


METRICS = (
    Metric(
        GAUGE,
        "build_info",
        "What this server is; the value is 1. A server that is no node has no node's name.",
        lambda s: [((s.release, python_version(), s.database, s.node), 1)],
        ("version", "python", "database", "node"),
    ),
    Metric(
        GAUGE,
        "ready",
        "Whether it may take play, as /readyz says.",
        _unlabelled(lambda s: s.arena.host.unready_reason() is None),
    ),
    Metric(
        GAUGE,
        "database_up",
        "Whether the database could be reached when it was last tried.",
        _unlabelled(_is_database_up),
    ),
    Metric(
        GAUGE,
        "draining",
        "Whether it begins no match any more.",
        _unlabelled(lambda s: s.arena.drain.is_draining or s.arena.nodes.is_draining),
    ),
    Metric(
        GAUGE,
        "paused",
        "Whether play is held because the store, or the journal, can't be written.",
        _labelled(_pause_reasons),
        ("by",),
    ),
    Metric(
        GAUGE,
        "warnings",
        "What the operator should look after, by `arena status`.",
        _unlabelled(lambda s: len(s.arena.warnings.current())),
    ),
    Metric(
        GAUGE,
        "nodes",
        "Nodes that are alive, draining, stopped, or gone, as this one sees them; none on SQLite.",
        _labelled(_count_nodes),
        ("state",),
    ),
    Metric(
        COUNTER,
        "matches_begun",
        "Matches that began.",
        _labelled_by_game(lambda s: s.arena.host.events.begun_matches),
        ("game",),
    ),
    Metric(
        COUNTER,
        "matches_ended",
        "Matches that ended, by reason.",
        lambda s: list(s.arena.host.events.ended_matches.items()),
        ("game", "reason"),
    ),
    Metric(
        GAUGE,
        "matches_under_way",
        "Matches that began and are not told yet.",
        _labelled_by_game(_count_matches_by_game),
        ("game",),
    ),
    Metric(
        COUNTER, "plies", "Plies that were played.", _labelled_by_game(lambda s: s.arena.host.count_plies()), ("game",)
    ),
    Metric(
        HISTOGRAM,
        "referee_seconds",
        "Time that the referee took for a move, from when it was read until its line was made; of every 13th move.",
        lambda s: [((game,), times) for game, times in s.meters.referee.items()],
        ("game",),
    ),
    Metric(
        HISTOGRAM,
        "move_seconds",
        "Time from when a move was read until it was recorded and told; of every 13th move.",
        _unlabelled(lambda s: s.meters.delivery),
    ),
    Metric(
        HISTOGRAM,
        "journal_write_seconds",
        "Time to write the line of a move into its journal; of every 13th move.",
        _unlabelled(lambda s: s.meters.journal),
    ),
    Metric(
        HISTOGRAM,
        "journal_sync_seconds",
        "Time of a sync of the journals' log, with --durability machine.",
        _unlabelled(lambda s: s.arena.host.recorder.sync_times),
    ),
    Metric(
        HISTOGRAM,
        "event_loop_lag_seconds",
        "How late the event loop did what was due.",
        _unlabelled(lambda s: s.meters.lag),
    ),
    Metric(
        HISTOGRAM,
        "store_commit_seconds",
        "Time of a transaction that stores finished matches and those that begin.",
        _unlabelled(lambda s: s.arena.store.commits),
    ),
    Metric(
        COUNTER,
        "store_failures",
        "How many of these transactions failed.",
        _unlabelled(lambda s: s.arena.store.failures),
    ),
    Metric(
        GAUGE,
        "results_waiting",
        "Finished matches that are not stored yet.",
        _unlabelled(lambda s: s.arena.store.waiting),
    ),
    Metric(
        GAUGE,
        "results_set_aside",
        "Finished matches that the store does not take, while it takes others.",
        _unlabelled(lambda s: s.arena.store.set_aside),
    ),
    Metric(
        GAUGE,
        "starts_waiting",
        "Matches that wait to be noted in the database before they begin.",
        _unlabelled(lambda s: s.arena.store.beginning),
    ),
    Metric(
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
    Metric(
        HISTOGRAM,
        "seek_wait_seconds",
        "How long seeks waited for their match.",
        _unlabelled(lambda s: s.arena.ladder.waits),
    ),
    Metric(
        GAUGE,
        "clients",
        "Connections of bots, spectators, operators, and of who is unknown as it has said nothing yet.",
        _labelled(_count_clients),
        ("role",),
    ),
    Metric(
        COUNTER,
        "received_bytes",
        "Bytes that came from clients, inside of TLS.",
        _unlabelled(lambda s: s.arena.host.listener.scheduler.received_bytes),
    ),
    Metric(
        COUNTER,
        "sent_bytes",
        "Bytes of messages to clients, inside of TLS.",
        _unlabelled(lambda s: s.arena.host.listener.scheduler.sent_bytes),
    ),
    Metric(
        GAUGE,
        "unread_bytes",
        "Bytes that clients have left unread.",
        _unlabelled(lambda s: s.arena.host.listener.scheduler.unread_bytes),
    ),
    Metric(
        COUNTER,
        "connections_refused",
        "Connections that were refused, by HTTP status, or unanswered as there were too many.",
        _labelled(lambda s: s.arena.host.listener.admission.refusals),
        ("status",),
    ),
    Metric(
        COUNTER,
        "logins_rejected",
        "Clients that were not let in, by error code.",
        _labelled(lambda s: s.arena.host.events.rejected_clients),
        ("code",),
    ),
    Metric(
        COUNTER,
        "client_rests",
        "How often clients had to rest before their turn: the share of a connection, an address or all was used up.",
        _labelled(
            lambda s: {whose: rests.count for whose, rests in s.arena.host.listener.scheduler.throttle_stats.items()}
        ),
        ("share",),
    ),
    Metric(
        COUNTER,
        "client_rest_seconds",
        "For how long they had to, in all.",
        _labelled(
            lambda s: {whose: rests.seconds for whose, rests in s.arena.host.listener.scheduler.throttle_stats.items()}
        ),
        ("share",),
    ),
    Metric(
        COUNTER,
        "playbans",
        "How often a bot was suspended, as it did not come to its match.",
        _unlabelled(lambda s: s.arena.host.events.missed_matches),
    ),
    Metric(
        GAUGE,
        "quota_used_ratio",
        "How much is taken of what clients may have: matches, memory, disk.",
        _labelled(_quota_ratios),
        ("quota",),
    ),
    Metric(
        GAUGE,
        "disk_free_bytes",
        "What is free on the disk of the data folder, and of the database's where it is a file.",
        _labelled(_disk_values("free")),
        ("folder",),
    ),
    Metric(GAUGE, "disk_size_bytes", "The sizes of these disks.", _labelled(_disk_values("total")), ("folder",)),
    Metric(
        GAUGE,
        "feed_up",
        "Whether there is a broker; what begins so is there with --mqtt alone.",
        _feed_value(lambda feed: feed.is_online),
    ),
    Metric(
        GAUGE,
        "feed_waiting_messages",
        "Messages that wait to be published.",
        _feed_value(lambda feed: len(feed.outbox)),
    ),
    Metric(GAUGE, "feed_waiting_bytes", "The bytes of these.", _feed_value(lambda feed: feed.outbox.bytes)),
    Metric(
        GAUGE,
        "feed_in_flight_messages",
        "Messages that the broker has not acknowledged.",
        _feed_value(lambda feed: feed.in_flight_count),
    ),
    Metric(
        COUNTER, "feed_published", "Messages that were given to the broker.", _feed_value(lambda feed: feed.published)
    ),
    Metric(
        COUNTER,
        "feed_crowded_out",
        "Messages for which there was no room: turns are gone, the lasting are published later.",
        _labelled(_dropped_messages),
        ("kind",),
    ),
)
"""All metrics of a server."""

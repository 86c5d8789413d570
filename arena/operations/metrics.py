"""The metrics of a server. `METRICS` describes them; their values are read when a client requests the metrics."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import TYPE_CHECKING, NamedTuple, get_args

from arena.store.nodes import State
from machine.histogram import Histogram
from protocol.games import game_names

if TYPE_CHECKING:
    from arena.feed import Feed
    from arena.host.meters import Meters
    from arena.server.arena import Arena

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"
"""The kinds of metrics, as Prometheus calls them."""
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
    """Return a function that reads the values of a metric labelled by game. A game without a value has 0."""

    def read_values(sources: MetricSources) -> Values:
        found = values(sources)
        return [((game,), found.get(game, 0)) for game in game_names()]

    return read_values


def _count_matches_by_game(sources: MetricSources) -> Mapping[str, float]:
    return Counter(runner.game for runner in sources.arena.host.clients.runners.values())


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
        "The version of the server; the value is 1. The label node is empty for a single server.",
        lambda s: [((s.release, python_version(), s.database, s.node), 1)],
        ("version", "python", "database", "node"),
    ),
    Metric(
        GAUGE,
        "ready",
        "1 if the server accepts play, like /readyz; else 0.",
        _unlabelled(lambda s: s.arena.host.unready_reason() is None),
    ),
    Metric(
        GAUGE,
        "database_up",
        "1 if the database was reachable at the last attempt; else 0.",
        _unlabelled(_is_database_up),
    ),
    Metric(
        GAUGE,
        "draining",
        "1 if the server is draining and begins no new match; else 0.",
        _unlabelled(lambda s: s.arena.lobby.is_draining or s.arena.nodes.is_draining),
    ),
    Metric(
        GAUGE,
        "paused",
        "1 if play is paused because the store or the journal cannot be written; else 0.",
        _labelled(_pause_reasons),
        ("by",),
    ),
    Metric(
        GAUGE,
        "warnings",
        "Current warnings for the operator, as in `arena status`.",
        _unlabelled(lambda s: len(s.arena.warnings.current())),
    ),
    Metric(
        GAUGE,
        "nodes",
        "Nodes by state (alive, draining, stopped or gone), as this node sees them; none on SQLite.",
        _labelled(_count_nodes),
        ("state",),
    ),
    Metric(
        COUNTER,
        "matches_begun",
        "Matches begun.",
        _labelled_by_game(lambda s: s.arena.host.events.begun_matches),
        ("game",),
    ),
    Metric(
        COUNTER,
        "matches_ended",
        "Matches ended, by reason.",
        lambda s: list(s.arena.host.events.ended_matches.items()),
        ("game", "reason"),
    ),
    Metric(
        GAUGE,
        "matches_under_way",
        "Matches in progress, including those whose end is not announced yet.",
        _labelled_by_game(_count_matches_by_game),
        ("game",),
    ),
    Metric(COUNTER, "plies", "Plies played.", _labelled_by_game(lambda s: s.arena.host.count_plies()), ("game",)),
    Metric(
        HISTOGRAM,
        "referee_seconds",
        "Time from reading a move to the referee's line for the record; measured for one move in 13.",
        lambda s: [((game,), times) for game, times in s.meters.referee.items()],
        ("game",),
    ),
    Metric(
        HISTOGRAM,
        "move_seconds",
        "Time from reading a move until it is recorded and sent; measured for one move in 13.",
        _unlabelled(lambda s: s.meters.delivery),
    ),
    Metric(
        HISTOGRAM,
        "journal_write_seconds",
        "Time to write the line of a move to its journal; measured for one move in 13.",
        _unlabelled(lambda s: s.meters.journal),
    ),
    Metric(
        HISTOGRAM,
        "journal_sync_seconds",
        "Time to sync the journals to disk, with --durability machine.",
        _unlabelled(lambda s: s.arena.host.recorder.sync_times),
    ),
    Metric(
        HISTOGRAM,
        "event_loop_lag_seconds",
        "Delay of due callbacks of the event loop, measured every 100 ms.",
        _unlabelled(lambda s: s.meters.lag),
    ),
    Metric(
        HISTOGRAM,
        "store_commit_seconds",
        "Time of a transaction that stores finished and beginning matches.",
        _unlabelled(lambda s: s.arena.store.commits),
    ),
    Metric(
        COUNTER,
        "store_failures",
        "Failed transactions that store finished and beginning matches.",
        _unlabelled(lambda s: s.arena.store.failures),
    ),
    Metric(
        GAUGE,
        "results_waiting",
        "Finished matches that wait to be stored.",
        _unlabelled(lambda s: s.arena.store.waiting),
    ),
    Metric(
        GAUGE,
        "results_set_aside",
        "Finished matches that the store refuses while it accepts others.",
        _unlabelled(lambda s: s.arena.store.set_aside),
    ),
    Metric(
        GAUGE,
        "starts_waiting",
        "Matches that wait to be registered in the database before they begin.",
        _unlabelled(lambda s: s.arena.store.beginning),
    ),
    Metric(
        GAUGE,
        "seeks",
        "Pending seeks. Two open seeks never meet: each takes the config of the other side.",
        lambda s: [
            ((game, str(is_open).lower()), s.arena.lobby.seeking[game, is_open])
            for game in game_names()
            for is_open in (False, True)
        ],
        ("game", "open"),
    ),
    Metric(
        HISTOGRAM,
        "seek_wait_seconds",
        "Time from a seek to its match.",
        _unlabelled(lambda s: s.arena.lobby.waits),
    ),
    Metric(
        GAUGE,
        "clients",
        "Connections by role: bot, spectator, operator, or unknown before the first message.",
        _labelled(_count_clients),
        ("role",),
    ),
    Metric(
        COUNTER,
        "received_bytes",
        "Bytes received from clients, without TLS overhead.",
        _unlabelled(lambda s: s.arena.host.listener.scheduler.received_bytes),
    ),
    Metric(
        COUNTER,
        "sent_bytes",
        "Bytes sent to clients, without TLS overhead.",
        _unlabelled(lambda s: s.arena.host.listener.scheduler.sent_bytes),
    ),
    Metric(
        GAUGE,
        "unread_bytes",
        "Bytes sent to clients that they have not read yet.",
        _unlabelled(lambda s: s.arena.host.listener.scheduler.unread_bytes),
    ),
    Metric(
        COUNTER,
        "connections_refused",
        "Refused connections, by HTTP status, or closed without an answer because there were too many.",
        _labelled(lambda s: s.arena.host.listener.admission.refusals),
        ("status",),
    ),
    Metric(
        COUNTER,
        "logins_rejected",
        "Rejected logins, by error code.",
        _labelled(lambda s: s.arena.host.events.rejected_clients),
        ("code",),
    ),
    Metric(
        COUNTER,
        "client_rests",
        "Throttled reads: the processor share of a connection, an address or all clients was used up.",
        _labelled(
            lambda s: {whose: rests.count for whose, rests in s.arena.host.listener.scheduler.throttle_stats.items()}
        ),
        ("share",),
    ),
    Metric(
        COUNTER,
        "client_rest_seconds",
        "Total time for which clients were throttled.",
        _labelled(
            lambda s: {whose: rests.seconds for whose, rests in s.arena.host.listener.scheduler.throttle_stats.items()}
        ),
        ("share",),
    ),
    Metric(
        COUNTER,
        "playbans",
        "Suspensions of bots that missed a match.",
        _unlabelled(lambda s: s.arena.host.events.missed_matches),
    ),
    Metric(
        GAUGE,
        "quota_used_ratio",
        "Used fraction of the quotas for all clients: matches, memory and disk.",
        _labelled(_quota_ratios),
        ("quota",),
    ),
    Metric(
        GAUGE,
        "disk_free_bytes",
        "Free space on the disks of the data folder and, on SQLite, of the database.",
        _labelled(_disk_values("free")),
        ("folder",),
    ),
    Metric(
        GAUGE,
        "disk_size_bytes",
        "Size of the disks of the data folder and, on SQLite, of the database.",
        _labelled(_disk_values("total")),
        ("folder",),
    ),
    Metric(
        GAUGE,
        "feed_up",
        "1 if the MQTT broker is connected; else 0. The feed has metrics only with --mqtt.",
        _feed_value(lambda feed: feed.is_online),
    ),
    Metric(
        GAUGE,
        "feed_waiting_messages",
        "Messages that wait to be published by MQTT.",
        _feed_value(lambda feed: len(feed.outbox)),
    ),
    Metric(
        GAUGE,
        "feed_waiting_bytes",
        "Bytes of messages that wait to be published by MQTT.",
        _feed_value(lambda feed: feed.outbox.bytes),
    ),
    Metric(
        GAUGE,
        "feed_in_flight_messages",
        "Messages that the MQTT broker has not acknowledged yet.",
        _feed_value(lambda feed: feed.in_flight_count),
    ),
    Metric(COUNTER, "feed_published", "Messages sent to the MQTT broker.", _feed_value(lambda feed: feed.published)),
    Metric(
        COUNTER,
        "feed_crowded_out",
        "Messages without room in the queue: turns are lost, lasting messages are published later.",
        _labelled(_dropped_messages),
        ("kind",),
    ),
)
"""All metrics of a server."""

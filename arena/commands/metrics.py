"""Serves the metrics of a server. The Prometheus client is only imported if the settings ask for metrics."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

from arena.commands.settings import ServerSettings, node_of
from arena.feed import Feed
from arena.host.meters import Meters
from arena.network.binding import bind_sockets, port_of, url_of
from arena.server.arena import Arena
from arena.store.database import Database
from protocol.errors import UsageFault

log = logging.getLogger("arena")


def bind_metrics(settings: ServerSettings) -> list[socket.socket]:
    """Bind the sockets for metrics; return an empty list if metrics are off.

    Raise `PortFault` if that fails, and `UsageFault` if the package `prometheus_client` is not installed.
    """
    if settings.metrics_port is None:
        return []
    if find_spec("prometheus_client") is None:
        raise UsageFault(
            "metrics are told by prometheus_client, which is not installed: pip install 'bot-arena[metrics]'"
        )
    return bind_sockets(
        settings.metrics_host, settings.metrics_port, "choose another one with --metrics-port, or 0 for a free one"
    )


@contextlib.asynccontextmanager
async def serve_metrics(
    settings: ServerSettings,
    sockets: list[socket.socket],
    arena: Arena,
    meters: Meters,
    feed: Feed | None,
    database: Database,
) -> AsyncIterator[None]:
    """Serve the metrics of an arena on these sockets within the context."""
    from arena.operations.metrics import MetricSources
    from arena.operations.prometheus import METRICS_PATH, serve_metrics

    folders = {"data": Path(settings.data)}
    if database.file is not None:
        folders["database"] = database.file.parent
    sources = MetricSources(
        arena,
        meters,
        feed,
        folders,
        "postgresql" if database.file is None else "sqlite",
        node_of(settings) or "",
    )
    async with serve_metrics(sources, sockets):
        log.info("the metrics are at %s%s", url_of("http", settings.metrics_host, port_of(sockets)), METRICS_PATH)
        yield

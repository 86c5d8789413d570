"""The Prometheus endpoint for metrics. This is the only module that uses Prometheus's client library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from itertools import accumulate
from time import perf_counter
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, ProcessCollector, make_asgi_app
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

from arena.network.addresses import misdirection_reason
from arena.network.connection_limits import ConnectionBounds
from arena.network.http_server import HttpServer
from arena.operations.metrics import COUNTER, GAUGE, HISTOGRAM, METRICS, MetricSources
from machine.event_loop import background_task
from machine.histogram import Histogram

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp, Receive, Scope, Send

METRICS_PATH = "/metrics"
"""The path of the metrics, the only one that the endpoint serves."""
LAG_INTERVAL_S = 0.1
"""Seconds between two measurements of the event loop's lag."""
CONNECTION_LIMITS = ConnectionBounds(waiting=64, waiting_per_address=16)
"""Limits on the number of concurrent connections to the metrics' port."""
_PROMETHEUS_CLASS_OF_KIND = {COUNTER: CounterMetricFamily, GAUGE: GaugeMetricFamily, HISTOGRAM: HistogramMetricFamily}
"""The class in Prometheus's library for each kind of metric."""


class ArenaCollector(Collector):
    """Reads the values of all `METRICS` when Prometheus's library collects them."""

    def __init__(self, sources: MetricSources) -> None:
        self._sources = sources

    def collect(self) -> Iterator[Metric]:
        for described in METRICS:
            family = _PROMETHEUS_CLASS_OF_KIND[described.kind](
                f"arena_{described.name}", described.help, labels=described.labels
            )
            for labels, value in described.values(self._sources):
                if isinstance(value, Histogram):
                    assert isinstance(family, HistogramMetricFamily)
                    family.add_metric(labels, _buckets(value), value.sum)
                else:
                    assert not isinstance(family, HistogramMetricFamily)
                    family.add_metric(labels, float(value))
            yield family


def _buckets(histogram: Histogram) -> list[tuple[str, float]]:
    bounds = [*map(floatToGoString, histogram.bounds), "+Inf"]
    return list(zip(bounds, accumulate(histogram.counts), strict=True))


@asynccontextmanager
async def serve_metrics(sources: MetricSources, sockets: list[socket.socket]) -> AsyncIterator[None]:
    """Serve metrics on these listening sockets, and measure the event loop's lag, within the context."""
    registry = CollectorRegistry()
    registry.register(ArenaCollector(sources))
    ProcessCollector(registry=registry)
    server = HttpServer(_restrict_to_path(make_asgi_app(registry)), CONNECTION_LIMITS)
    serving = asyncio.create_task(server.serve(sockets))
    try:
        async with background_task(measure_lag(sources.meters.lag)):
            yield
    finally:
        server.stop()
        await serving


async def measure_lag(lag_histogram: Histogram) -> None:
    """Measure the lag of the event loop, without end."""
    while True:
        due = perf_counter() + LAG_INTERVAL_S
        await asyncio.sleep(LAG_INTERVAL_S)
        lag_histogram.observe(max(0.0, perf_counter() - due))


def _restrict_to_path(app: ASGIApp) -> ASGIApp:
    """Return an app that passes requests for `METRICS_PATH` to `app` and rejects all others.

    On loopback, the request must name a host name of this machine.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if misdirection_reason(Headers(scope=scope).get("host", ""), scope["server"][0]) is not None:
            text = "on loopback, request the metrics from a host name of this machine, like localhost\n"
            await PlainTextResponse(text, HTTPStatus.MISDIRECTED_REQUEST)(scope, receive, send)
        elif scope["path"] != METRICS_PATH:
            await PlainTextResponse(f"the metrics are at {METRICS_PATH}\n", HTTPStatus.NOT_FOUND)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return serve

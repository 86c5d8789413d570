"""`arena web`: the pages over a data folder, until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Sequence

from arena.network.binding import bound, port_of, url_of
from arena.store.store import Reader
from arena.web.http_connections import PageServer
from arena.web.site import Site
from machine import event_loop

OTHERWISE = "choose another one with --web-port, or 0 for a free one"

log = logging.getLogger("arena.web")


def web(where: str, host: str, port: int) -> None:
    """Serve the pages over a database until SIGINT or SIGTERM. Raises `Fault` for what keeps it from starting."""
    logging.basicConfig(level=logging.INFO, format="arena: %(message)s")
    with contextlib.closing(Reader.open(where)) as reader:
        listening = bound(host, port, OTHERWISE)
        log.info("the page is at %s", url_of("http", host, port_of(listening)))
        event_loop.run(_serve(PageServer(Site(reader)), listening))


async def _serve(server: PageServer, listening: Sequence[socket.socket]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, server.leave)
    await server.serve(list(listening))

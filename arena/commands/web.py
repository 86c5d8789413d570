"""`arena web`: the pages over a data folder, until it is told to stop."""

from __future__ import annotations

import contextlib
import errno
import logging
import socket

import uvicorn

from arena.store.reader import Reader
from arena.web.app import application
from arena.web.site import Site
from protocol.errors import ArenaFault

log = logging.getLogger("arena.web")


def web(where: str, host: str, port: int) -> None:
    """Serve the pages over a database until SIGINT or SIGTERM. Raises `Fault` for what keeps it from starting."""
    logging.basicConfig(level=logging.INFO, format="arena: %(message)s")
    with contextlib.closing(Reader.open(where)) as reader, bound(host, port) as listening:
        log.info("the page is at http://%s:%d", host, listening.getsockname()[1])
        serve_pages(Site(reader), listening)


def serve_pages(site: Site, listening: socket.socket) -> None:
    """Serve a site's pages on a socket that listens, until SIGINT or SIGTERM."""
    config = uvicorn.Config(
        application(site), log_config=None, log_level="warning", access_log=False, server_header=False, lifespan="off"
    )
    uvicorn.Server(config).run(sockets=[listening])


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 is any free one. Raises `ArenaFault`."""
    try:
        return socket.create_server((host, port))
    except OSError as exc:
        if exc.errno == errno.EADDRINUSE:
            raise ArenaFault(f"port {port} on {host} is in use: choose another one, or 0 for a free one") from exc
        raise ArenaFault(f"the page can't be served on {host} port {port}: {exc.strerror}") from exc

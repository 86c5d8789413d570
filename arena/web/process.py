"""The pages' process beside a server, `python -m arena.web.process`.

It reads a `WebServerConfig` from standard input as a line of JSON, and perhaps `RELOAD_LINE` later. It ends when its
standard input is closed, so it never outlives the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
from pathlib import Path
from typing import BinaryIO

import msgspec

from arena.network.addresses import parse_networks
from arena.network.tls import CertificateFault, Encryption
from arena.store.answer_limit import server_timeouts
from arena.store.database_url import open_database_url
from arena.store.store import Reader
from arena.web.http_connections import PageServer
from arena.web.process_messages import RELOAD_LINE, WebServerConfig
from arena.web.site import Site
from machine.log_output import configure_logging
from machine.subprocesses import die_with_parent, renice, trim_malloc
from protocol.errors import Fault

NICENESS = 5
"""The niceness of the pages' process, so that the server's referee has priority."""

log = logging.getLogger("arena.web")


def main() -> None:
    """Serve the pages as configured on standard input."""
    die_with_parent()
    trim_malloc()
    renice(NICENESS)
    with open(sys.stdin.fileno(), "rb", buffering=0) as arena:
        line = arena.readline()
        if line:  # else the server has ended
            order = msgspec.json.decode(line, type=WebServerConfig)
            configure_logging(order.log_level, order.log, order.node)
            try:
                serve(order, arena)
            except Fault as fault:
                log.error("the page can't be served: %s", fault)
                raise SystemExit(1) from None


def serve(config: WebServerConfig, server_pipe: BinaryIO) -> None:
    """Serve the pages until standard input is closed. Raise `Fault` if the database or certificate can't be opened."""
    encryption = None
    if config.certificate is not None and config.key is not None:
        encryption = Encryption(Path(config.certificate), Path(config.key))
    with contextlib.closing(
        Reader.open(open_database_url(config.where, server_timeouts(config.statement_timeout_s)))
    ) as reader:
        site = Site(
            reader,
            socket=config.socket,
            registration=config.registration,
            admin=config.admin,
            hosting=config.hosting,
        )
        server = PageServer(site, encryption, parse_networks(config.proxies))
        sockets = [socket.socket(fileno=descriptor) for descriptor in config.descriptors]
        with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
            runner.run(_serve(server, sockets, server_pipe, encryption))


async def _serve(
    server: PageServer, sockets: list[socket.socket], arena: BinaryIO, encryption: Encryption | None
) -> None:
    listening = asyncio.create_task(_follow_server(server, arena, encryption))
    await server.serve(sockets)
    listening.cancel()


async def _follow_server(server: PageServer, arena: BinaryIO, encryption: Encryption | None) -> None:
    said = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(said), arena)
    while line := await said.readline():
        if line == RELOAD_LINE and encryption is not None:
            with contextlib.suppress(CertificateFault):  # the server has logged it
                encryption.reload()
                log.info("the page read the certificate again")
    server.stop()


if __name__ == "__main__":
    main()

"""The pages' process beside a server, `python -m arena.web.process`.

It reads a `WebServerConfig` from standard input as a line of JSON, and perhaps `RELOAD` later. It ends when its
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

from arena.network.addresses import networks
from arena.network.tls import CertificateFault, Encryption
from arena.store.answer_limit import of_server
from arena.store.database_url import database_at
from arena.store.store import Reader
from arena.web.http_connections import PageServer
from arena.web.process_messages import RELOAD, WebServerConfig
from arena.web.site import Site
from machine.log_output import write_log
from machine.subprocesses import be_nice, die_with_parent, give_memory_back
from protocol.errors import Fault

NICE = 5
"""A niceness that gives the referee priority."""

log = logging.getLogger("arena.web")


def main() -> None:
    """Serve the pages as configured on standard input."""
    die_with_parent()
    give_memory_back()
    be_nice(NICE)
    with open(sys.stdin.fileno(), "rb", buffering=0) as arena:
        line = arena.readline()
        if line:  # else the server has ended
            order = msgspec.json.decode(line, type=WebServerConfig)
            write_log(order.log_level, order.log, order.node)
            try:
                serve(order, arena)
            except Fault as fault:
                log.error("the page can't be served: %s", fault)
                raise SystemExit(1) from None


def serve(order: WebServerConfig, arena: BinaryIO) -> None:
    """Serve until standard input is closed. Raises `Fault`."""
    encryption = None
    if order.certificate is not None and order.key is not None:
        encryption = Encryption(Path(order.certificate), Path(order.key))
    with contextlib.closing(Reader.open(database_at(order.where, of_server(order.statement_timeout_s)))) as reader:
        site = Site(reader, socket=order.socket, registration=order.registration, admin=order.admin)
        server = PageServer(site, encryption, networks(order.proxies))
        sockets = [socket.socket(fileno=descriptor) for descriptor in order.descriptors]
        with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
            runner.run(_serve(server, sockets, arena, encryption))


async def _serve(
    server: PageServer, sockets: list[socket.socket], arena: BinaryIO, encryption: Encryption | None
) -> None:
    listening = asyncio.create_task(_listen(server, arena, encryption))
    await server.serve(sockets)
    listening.cancel()


async def _listen(server: PageServer, arena: BinaryIO, encryption: Encryption | None) -> None:
    """Act on the server's messages until it closes the pipe."""
    said = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(said), arena)
    while line := await said.readline():
        if line == RELOAD and encryption is not None:
            with contextlib.suppress(CertificateFault):  # the server has logged it
                encryption.reload()
                log.info("the page read the certificate again")
    server.leave()


if __name__ == "__main__":
    main()

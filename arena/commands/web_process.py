"""The page beside a server: a process of its own, kept running, which ends with the server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator

from arena.commands.settings import ServerSettings
from arena.network.binding import bound, port_of, url_of
from arena.processes.process import keep_running
from arena.web.process_messages import RELOAD, WebServerConfig
from machine.subprocesses import ending

FIRST_WAIT = 0.5
"""Seconds until the process is started again, at first."""
SHUTDOWN_TIMEOUT = 3.0
OTHERWISE = "choose another one for the page with --web-port, 0 for a free one, or --no-web"
_CHILD = (sys.executable, "-P", "-m", "arena.web.process")

log = logging.getLogger("arena.web")


class PageProcess:
    """The page's process. Visitors wait while there is none, as long as its sockets stay open here."""

    def __init__(self, order: WebServerConfig) -> None:
        self._order = order
        self._process: Process | None = None

    def reload(self) -> None:
        """Read the certificate again."""
        self._say(RELOAD)

    async def keep(self) -> None:
        """Keep a process running until this is cancelled, and end it then."""
        await keep_running(self._run, FIRST_WAIT, log, "the page")

    async def _run(self) -> str:
        """One process from its start to its end, in words."""
        try:
            process = await asyncio.create_subprocess_exec(
                *_CHILD, stdin=PIPE, pass_fds=self._order.descriptors, start_new_session=True
            )
        except OSError as exc:
            return f"can't be started: {exc.strerror}"
        self._process = process
        try:
            self._say(self._order.line())
            code = await process.wait()
        finally:
            self._process = None
            await _ended(process)
        return ending(code)

    def _say(self, line: bytes) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(line)


async def _ended(process: Process) -> None:
    """End a process, if it has not ended."""
    assert process.stdin is not None
    process.stdin.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SHUTDOWN_TIMEOUT):
            await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()


def web_scheme(settings: ServerSettings) -> str:
    """What a browser calls the way to the page."""
    return "https" if settings.tls_cert else "http"


def page_url(settings: ServerSettings, sockets: list[socket.socket]) -> str:
    """The page's address, for people."""
    return url_of(web_scheme(settings), settings.web_host or settings.host, port_of(sockets))


def web_sockets(settings: ServerSettings) -> list[socket.socket]:
    """What the page listens on; nothing where there is none. Raises `PortFault`."""
    return bound(settings.web_host or settings.host, settings.web_port, OTHERWISE) if settings.web else []


@contextlib.asynccontextmanager
async def shown(
    settings: ServerSettings, where: str, sockets: list[socket.socket], port: int
) -> AsyncIterator[PageProcess]:
    """The page of the database `where`, kept inside; the arena itself listens on `port`."""
    order = WebServerConfig(
        where=where,
        descriptors=[one.fileno() for one in sockets],
        socket=settings.socket_url or str(port),
        registration=settings.registration == "open",
        certificate=settings.tls_cert,
        key=settings.tls_key,
        proxies=settings.trusted_proxy,
        log_level=settings.log_level,
        log=settings.log,
    )
    page = PageProcess(order)
    keeping = asyncio.create_task(page.keep())
    log.info("the page is at %s", page_url(settings, sockets))
    try:
        yield page
    finally:
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeping

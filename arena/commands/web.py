"""Serves the pages: in this process for `arena web`, or beside a server in a supervised process that ends with it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import ssl
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator

from arena.commands.certificate import log_no_reload
from arena.commands.settings import ServerSettings, node_of
from arena.network.addresses import parse_host_names
from arena.network.binding import bind_sockets, port_of, url_of
from arena.processes.process import keep_running, wait_for_exit
from arena.store.answer_limit import server_timeouts
from arena.store.database_url import open_database_url
from arena.store.store import Reader
from arena.store.tokens import hash_token
from arena.web.admin_config import PREFIX, AdminConfig
from arena.web.hosting_config import HostingConfig
from arena.web.process_messages import RELOAD_LINE, WebServerConfig
from machine import event_loop, standard_streams
from machine.event_loop import background_task, run_until_first
from machine.host_names import host_of_url
from machine.log_output import configure_logging
from machine.subprocesses import describe_exit, leave_process_group, trim_malloc
from machine.timeouts import timeout_factor

RESTART_DELAY_S = 0.5
"""Seconds before the pages' process is restarted for the first time."""
SHUTDOWN_TIMEOUT_S = 3.0
"""Seconds that the pages' process has to end before it is killed."""
HEALTH_CHECK_INTERVAL_S = 10.0
"""Seconds between two health checks of the pages' process. The process must answer each in this time, multiplied by
`ARENA_TIMEOUT_FACTOR`.
"""
HEALTH_CHECK_TIMEOUT_S = 60.0
"""Seconds without an answered health check after which the pages' process is killed, before `ARENA_TIMEOUT_FACTOR`."""
_WEB_PORT_ADVICE = "choose another one for the page with --web-port, 0 for a free one, or --no-web"
"""The advice to an operator if the port of the pages is taken."""
_PAGES_COMMAND = (sys.executable, "-P", "-m", "arena.web.process")
"""The command that starts the process that serves the pages."""

log = logging.getLogger("arena.web")


def web(where: str, host: str, port: int) -> None:
    """Serve the pages of a database until SIGINT or SIGTERM. Raise `Fault` if it can't start."""
    from arena.web.http_connections import PageServer  # a server serves its pages in another process
    from arena.web.site import Site

    async def serve() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, leave)
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, log_no_reload)
        log.info("the page is at %s", url_of("http", host, port_of(listening)))
        await server.serve(listening)

    def leave() -> None:
        server.stop()
        reader.hurry()

    standard_streams.tolerate_lost_output()
    configure_logging("info", "text")
    trim_malloc()
    with contextlib.closing(Reader.open(open_database_url(where, server_timeouts()))) as reader:
        listening = bind_sockets(host, port, "choose another one with --web-port, or 0 for a free one")
        server = PageServer(Site(reader))
        event_loop.run(serve())


class PageProcess:
    """The process that serves the pages at `address`.

    The listening sockets stay open in this process, so visitors only wait while the pages' process restarts.
    """

    def __init__(self, config: WebServerConfig, address: tuple[str, int]) -> None:
        self._config = config
        self._address = address
        self._factor = timeout_factor()
        self._process: Process | None = None

    def reload(self) -> None:
        """Make the process reload its certificate."""
        self._say(RELOAD_LINE)

    async def run(self) -> str:
        """Run the process until it ends, and return in words how it ended.

        The process is ended if it hangs, or if this coroutine is cancelled.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *_PAGES_COMMAND, stdin=PIPE, pass_fds=self._config.descriptors, preexec_fn=leave_process_group
            )
        except OSError as exc:
            return f"can't be started: {exc.strerror}"
        self._process = process
        try:
            self._say(self._config.encode())
            await run_until_first(process.wait(), self._wait_for_silence())
            code = process.returncode
        finally:
            self._process = None
            await _end_process(process)
        return (
            f"has not answered for {self._factor * HEALTH_CHECK_TIMEOUT_S:g} s" if code is None else describe_exit(code)
        )

    async def _wait_for_silence(self) -> None:
        loop = asyncio.get_running_loop()
        answered = loop.time()
        while loop.time() - answered < self._factor * HEALTH_CHECK_TIMEOUT_S:
            await asyncio.sleep(HEALTH_CHECK_INTERVAL_S)
            if await self._is_answering():
                answered = loop.time()

    async def _is_answering(self) -> bool:
        encryption = None
        if self._config.certificate is not None:  # the name in the certificate does not matter here
            encryption = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            encryption.check_hostname = False
            encryption.verify_mode = ssl.CERT_NONE
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(self._factor * HEALTH_CHECK_INTERVAL_S):
                reader, writer = await asyncio.open_connection(*self._address, ssl=encryption)
                try:
                    writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    return bool(await reader.read(1))
                finally:
                    writer.transport.abort()
        return False

    def _say(self, line: bytes) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(line)


async def _end_process(process: Process) -> None:
    """Close a process's standard input, so that it ends. Kill it after a timeout."""
    assert process.stdin is not None
    process.stdin.close()
    if not await wait_for_exit(process, SHUTDOWN_TIMEOUT_S):
        process.kill()
        await process.wait()


def web_scheme(settings: ServerSettings) -> str:
    return "https" if settings.tls_cert else "http"


def page_url(settings: ServerSettings, sockets: list[socket.socket]) -> str:
    """Return the URL at which people open the pages."""
    return url_of(web_scheme(settings), settings.web_host or settings.host, port_of(sockets))


def bind_web(settings: ServerSettings) -> list[socket.socket]:
    """Bind the sockets for the pages; return an empty list if the pages are off. Raise `PortFault` if binding fails."""
    return bind_sockets(settings.web_host or settings.host, settings.web_port, _WEB_PORT_ADVICE) if settings.web else []


def admin_config(settings: ServerSettings, url: str, token: str) -> AdminConfig | None:
    """Return the configuration of the admin pages; None if they are off.

    The pages connect to the operator's socket `url` with the operator's `token`.
    """
    if not settings.admin:
        return None
    named = [settings.web_host or settings.host, host_of_url(settings.socket_url or "")]
    hosts = (*parse_host_names(settings.admin_host), *(name.lower() for name in named if name))
    return AdminConfig(url=url, token_hash=hash_token(token), hosts=hosts)


@contextlib.asynccontextmanager
async def serve_pages(
    settings: ServerSettings,
    where: str,
    sockets: list[socket.socket],
    port: int,
    admin: AdminConfig | None = None,
    hosting: HostingConfig | None = None,
) -> AsyncIterator[PageProcess]:
    """Serve the pages of the database at `where` within the context, and yield their process.

    There are admin pages if `admin` is given, and submissions if `hosting` is. Bots connect to `port`.
    """
    order = WebServerConfig(
        where=where,
        statement_timeout_s=settings.database_timeout,
        descriptors=[one.fileno() for one in sockets],
        socket=settings.socket_url or settings.public_url or str(port),
        registration=settings.registration == "open",
        certificate=settings.tls_cert,
        key=settings.tls_key,
        proxies=settings.trusted_proxy,
        admin=admin,
        hosting=hosting,
        log_level=settings.log_level,
        log=settings.log,
        node=node_of(settings),
    )
    page = PageProcess(order, sockets[0].getsockname()[:2])
    log.info("the page is at %s", page_url(settings, sockets))
    if admin is not None:
        log.info("the operator's page is at %s%s", page_url(settings, sockets), PREFIX)
    async with background_task(keep_running(page.run, RESTART_DELAY_S, log, "the page")):
        yield page

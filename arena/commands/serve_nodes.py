"""`arena serve --nodes N`: supervises N servers on this machine as nodes of one arena, restarting those that crash."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from arena.commands.serve_runners import check_hosting
from arena.commands.settings import ServerSettings
from arena.network.binding import bind_sockets, port_of, reserve_port
from arena.operator import credentials
from arena.processes.process import keep_running
from arena.store.data_folder import FILE_MODE, FOLDER_MODE
from machine import held_signals, standard_streams
from machine.atomic_write import replacing_file
from machine.cores import excess_warning
from machine.event_loop import BackgroundTasks, background_task
from machine.log_output import configure_logging
from machine.service_manager import ServiceManager
from machine.subprocesses import describe_exit, die_with_parent
from machine.timeouts import scale_timeouts
from protocol.display import format_count
from protocol.errors import ArenaFault, os_errors_as

RESTART_DELAY_S = 0.5
"""Seconds before a node that crashed is started again for the first time."""
MAX_NOTICES_PATH_BYTES = 98
"""Maximum bytes in the path of the first node's socket. Unix allows 103 or more; others have a number at the end."""
MAX_NOTICE_BYTES = 4096
"""Maximum size in bytes of a message from a node to the supervisor."""
FATAL_EXIT_CODES = (1, 2)
"""Exit codes of a node that can't start, which ends all if it has never served. The node has printed the fault."""

log = logging.getLogger("arena.nodes")


def run_nodes(settings: ServerSettings) -> None:
    """Run the nodes until SIGINT or SIGTERM. Raise `Fault` if they can't start."""
    standard_streams.tolerate_lost_output()
    configure_logging(settings.log_level, settings.log)
    check_hosting(settings)
    excess = excess_warning("--nodes", settings.nodes)
    if excess is not None:
        log.warning("%s", excess)
    data = Path(settings.data)
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(one) for one in reserve_port(settings.host, settings.port)]
        with os_errors_as(ArenaFault, f"the data folder {data} can't be made"):
            data.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        with os_errors_as(ArenaFault, "a folder for the nodes' sockets can't be made"):
            notices = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="arena-")))
        if len(os.fsencode(notices / settings.node)) > MAX_NOTICES_PATH_BYTES:
            raise ArenaFault(f"the path {notices} is too long for the nodes' sockets: set TMPDIR to a shorter one")
        code = asyncio.run(NodeSupervisor(settings, port_of(ports), data, notices).run())
    if code:
        raise SystemExit(code)
    log.info("stopped")


class NodeSupervisor:
    """Runs the nodes of a machine, which share a port. They send their messages to sockets in the folder `notices`."""

    def __init__(self, settings: ServerSettings, port: int, data: Path, notices: Path) -> None:
        token = settings.operator_token_file or str(_token_file(data))
        page = settings.web_port or _free_port(settings.web_host or settings.host)
        words = node_arguments(settings, port, page, token)
        command = (sys.executable, "-P", "-m", "arena", *sys.argv[1:])
        timeouts = scale_timeouts(SupervisorTimeouts())
        self._nodes = [NodeProcess(name, (*command, *told), notices, timeouts) for name, told in words.items()]
        self._where = f"{settings.host}:{port}"
        self._manager = ServiceManager(os.environ)

    async def run(self) -> int:
        """Run the nodes until SIGINT or SIGTERM, or until all have ended.

        Return the exit code of a node that failed to start, or 0 if none did.
        """
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        restarts = BackgroundTasks()
        loop.add_signal_handler(signal.SIGUSR2, lambda: restarts or restarts.start(self._restart()))
        held_signals.unblock_signals()
        async with background_task(self._tell()):
            async with asyncio.TaskGroup() as group:
                keeping = [group.create_task(node.keep_running(stop)) for node in self._nodes]
            self._manager.notify("STOPPING=1")
        await restarts.cancel()
        return max(task.result() for task in keeping)

    async def _tell(self) -> None:
        for node in self._nodes:
            await node.is_ready.wait()
        log.info("%s on %s", format_count(len(self._nodes), "node", "nodes"), self._where)
        self._manager.notify("READY=1")
        await self._manager.send_status(self._status)

    def _status(self) -> str:
        ready = sum(node.is_ready.is_set() for node in self._nodes)
        return f"{ready} of {format_count(len(self._nodes), 'node', 'nodes')} ready"

    def _reload(self) -> None:
        for node in self._nodes:
            node.send(signal.SIGHUP)

    async def _restart(self) -> None:
        """Restart the nodes one after the other. If a node fails to restart, leave the remaining ones as they are."""
        for node in self._nodes:
            if not await node.restart():
                log.error("node %s has not restarted: the other nodes are left as they are", node.name)
                return
        log.info("all nodes have restarted")


@dataclass(frozen=True)
class SupervisorTimeouts:
    """The time limits of nodes. `ARENA_TIMEOUT_FACTOR` multiplies them."""

    watchdog_timeout_s: float = 20.0
    """Seconds without a watchdog message after which a node is killed. They are over twice the time for which the
    database keeps a silent node's name reserved (`NODE_LEASE_S`).
    """
    restart_timeout_s: float = 60.0
    """Seconds within which a node that restarts as planned must be ready."""


class NodeProcess:
    """The process of a node, started by a command. It reports its state to a socket in the folder `notices`."""

    def __init__(self, name: str, command: Sequence[str], notices: Path, timeouts: SupervisorTimeouts) -> None:
        self.is_ready = asyncio.Event()
        """An event that is set while the node serves clients."""
        self.name = name
        self._leaving = asyncio.Event()
        """An event that is set when the node announces its restart."""
        self._command = command
        self._notices = notices / name
        self._timeouts = timeouts
        self._process: asyncio.subprocess.Process | None = None
        self._start_failure = 0
        """The exit code of the node if it failed to start, else 0."""
        self._has_served = False
        """True once the node has served clients. If it can't start later, as its database is away, it may soon."""

    async def keep_running(self, stop: asyncio.Event) -> int:
        """Run the node, restarting it after crashes, until it ends normally or `stop` is set. Then return 0.

        If the node fails to start and has never served, set `stop` and return the node's exit code.
        """
        await keep_running(partial(self._run, stop), RESTART_DELAY_S, log, f"node {self.name}", stop)
        return self._start_failure

    def send(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def restart(self) -> bool:
        """Make the node restart in place. Return whether it was ready within `restart_timeout_s`."""
        self._leaving.clear()
        self.send(signal.SIGUSR2)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._timeouts.restart_timeout_s):
                await self._leaving.wait()
                await self.is_ready.wait()
                return True
        return False

    async def _run(self, stop: asyncio.Event) -> str | None:
        """Run the process until it ends, and return in words how it crashed; None if it did not, or failed to start."""
        watchdog_us = int(self._timeouts.watchdog_timeout_s * 1e6)
        words = {"NOTIFY_SOCKET": str(self._notices), "WATCHDOG_USEC": str(watchdog_us)}
        with contextlib.closing(_listening(self._notices)) as notices:
            self._process = process = await asyncio.create_subprocess_exec(
                *self._command, env={**os.environ, **words}, process_group=0, preexec_fn=_begin_as_node
            )
            try:
                async with background_task(self._follow_notices(notices)), background_task(self._terminate_on(stop)):
                    code = await process.wait()
            finally:
                self._process = None
                self.is_ready.clear()
        if stop.is_set() or not code:
            return None
        if not self._has_served and code in FATAL_EXIT_CODES:
            self._start_failure = code
            stop.set()
            return None
        return describe_exit(code)

    async def _terminate_on(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self.send(signal.SIGTERM)

    async def _follow_notices(self, notices: socket.socket) -> None:
        """Read the node's messages. Kill the node if it is ready and sends nothing for `watchdog_timeout_s`."""
        limit_s = self._timeouts.watchdog_timeout_s
        while True:
            try:
                async with asyncio.timeout(limit_s if self.is_ready.is_set() else None):
                    told = await asyncio.get_running_loop().sock_recv(notices, MAX_NOTICE_BYTES)
            except TimeoutError:
                log.warning("node %s has not answered for %g s: it is killed", self.name, limit_s)
                self.send(signal.SIGKILL)
                return
            lines = told.split(b"\n")
            if b"RELOADING=1" in lines:
                self.is_ready.clear()
                self._leaving.set()
            if b"READY=1" in lines:
                self.is_ready.set()
                self._has_served = True


def _begin_as_node() -> None:
    """Block signals until the node handles them, and let the process of the node end with the supervisor."""
    held_signals.block_signals()
    die_with_parent()


def node_arguments(settings: ServerSettings, port: int, page: int, token: str) -> dict[str, list[str]]:
    """Return the command-line options that the supervisor adds for each node, by the node's name.

    The first node has the name and the data folder of a single server, and serves the pages on the port `page`.
    """
    words: dict[str, list[str]] = {}
    for number in range(1, settings.nodes + 1):
        name = settings.node if number == 1 else f"{settings.node}-{number}"
        data = Path(settings.data) if number == 1 else Path(settings.data) / name
        own = port + number if settings.port else 0
        words[name] = ["--nodes=1", f"--node={name}", f"--data={data}", f"--port={own}", f"--shared-port={port}"]
        words[name].append(f"--operator-token-file={token}")
        words[name].append(f"--web-port={page}")
        if settings.metrics_port:
            words[name].append(f"--metrics-port={settings.metrics_port + number - 1}")
        if number > 1:
            words[name].append("--no-web")
    return words


def _token_file(data: Path) -> Path:
    file = data / "operator-token"
    token = credentials.read_or_make_token(data)
    if not file.exists():
        with os_errors_as(ArenaFault, f"{file} can't be written"), replacing_file(file) as part:
            part.touch(mode=FILE_MODE)
            part.write_text(f"{token}\n")
    return file


def _free_port(host: str) -> int:
    with contextlib.ExitStack() as stack:
        return port_of([stack.enter_context(one) for one in bind_sockets(host, 0)])


def _listening(address: Path) -> socket.socket:
    address.unlink(missing_ok=True)
    notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notices.setblocking(False)
    notices.bind(str(address))
    return notices

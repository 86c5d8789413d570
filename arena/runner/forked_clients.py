"""Starts the clients of hosted bots in processes that are forked from one that has imported what they need."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from arena.processes import forked_launcher
from arena.processes.launch_spec import allowed_environment
from arena.processes.process import KeeperProcess, StartKeeper, start_keeper
from machine.forked_processes import ForkServer

CLIENT_MODULES = (
    "arena.processes.forked_launcher",
    "bots.commands.pipe",
    "encodings.idna",
    "uvloop",
)
"""The modules that the keeper of a hosted bot and its client import."""

log = logging.getLogger("arena.runner")


@asynccontextmanager
async def forked_clients() -> AsyncIterator[StartKeeper]:
    """Yield a function that starts the keepers of hosted bots. Within the context, a server forks them, and they fork
    the clients. It is started again if it ends. Elsewhere than on Linux, where a fork is not safe, and on a kernel
    without pidfds, each is started by its command.
    """
    if not _can_fork():
        yield start_keeper
        return
    server = ForkServer(CLIENT_MODULES, allowed_environment(os.environ))

    async def fork(environment: dict[str, str], line: int, output: int) -> KeeperProcess:
        try:
            return await server.fork(forked_launcher.FUNCTION, environment, (line, output, output))
        except OSError as exc:
            log.warning("a client is started without the fork server: %s", exc)
            return await start_keeper(environment, line, output)

    try:
        with suppress(OSError):
            await server.start()
        yield fork
    finally:
        await server.close()


def _can_fork() -> bool:
    with suppress(OSError, AttributeError):
        os.close(os.pidfd_open(os.getpid()))
        return True
    return False

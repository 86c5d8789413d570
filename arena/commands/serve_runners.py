"""The runners that a server starts itself: on this machine, or on a Dask cluster."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from arena.builtin_bots import BuiltinBot, BuiltinBotSupervisor
from arena.commands.settings import ServerSettings, node_of
from arena.network.addresses import is_loopback
from arena.operator.credentials import runner_token_of
from arena.processes.launch_spec import allowed_environment
from protocol.errors import UsageFault

RUNNERS_FOLDER, CLUSTER_LOG = "runners", "cluster-runners"
"""The folder in a data folder for the runners that the server starts, and the name of the log of those on a cluster."""
MAX_LOCAL_RUNNERS = 16
"""Maximum number of runners on the machine of a server."""
DASK_PREFIX = "DASK_"
"""The beginning of the environment variables that are settings of Dask, such as those of TLS."""

log = logging.getLogger("arena")


def hosts_bots(settings: ServerSettings) -> bool:
    """Return whether the server accepts programs of hosted bots."""
    return settings.hosting or settings.runners > 0


def check_hosting(settings: ServerSettings) -> None:
    """Raise `UsageFault` if the settings ask for hosted bots but for no pages to hand them in, or for several nodes."""
    if not hosts_bots(settings):
        return
    if node_of(settings) is not None:
        raise UsageFault("hosting: nodes that share a database server can't host bots yet: use a database in a file")
    if not settings.web:
        raise UsageFault("hosting: programs are handed in on the pages' port, so leave out --no-web")


def check_runners(settings: ServerSettings) -> None:
    """Raise `Fault` if the runners that the settings ask for can't be started."""
    if settings.dask is not None:
        _check_cluster(settings, settings.dask)
    elif settings.runners > MAX_LOCAL_RUNNERS:
        raise UsageFault(f"runners is {settings.runners}: {MAX_LOCAL_RUNNERS} at most on one machine, without --dask")
    elif settings.runners:
        from arena.commands.runner import check_sandbox  # most servers don't need it

        check_sandbox(settings.runner_sandbox, "--runners", "--runner-sandbox none")


def _check_cluster(settings: ServerSettings, address: str) -> None:
    if not settings.runners:
        raise UsageFault(f"dask is {address}: say how many runners the cluster shall have, --runners N")
    if find_spec("distributed") is None:
        raise UsageFault("dask: for a Dask cluster, pip install 'bot-arena[cluster]'")
    is_here = _is_this_machine(urlsplit(address).hostname or "")
    if settings.public_url is None and _is_this_machine(settings.host) and not is_here:
        raise UsageFault(
            f"dask: runners on other machines can't connect to {settings.host}: give --host 0.0.0.0, or where clients "
            "connect, like --public-url wss://arena.example.org"
        )
    if not is_here and not address.startswith("tls:"):
        log.warning("the token of runners is sent to the cluster unencrypted: use an address like tls://HOST:8786")


def _is_this_machine(host: str) -> bool:
    return host == "localhost" or is_loopback(host)


@contextlib.asynccontextmanager
async def run_runners(
    settings: ServerSettings, data: Path, token: str, operator_url: str, client_url: str, public_url: str
) -> AsyncIterator[None]:
    """Keep the runners of a server within the context.

    Those on this machine connect to `operator_url` and their bots to `client_url`, which are private sockets. Those on
    a cluster and their bots connect to `public_url`.
    """
    folder, environment = data / RUNNERS_FOLDER, allowed_environment(os.environ)
    runner = (sys.executable, "-P", "-m", "arena", "runner")
    options = ("--slots", str(settings.runner_slots), "--sandbox", settings.runner_sandbox)
    if settings.dask is None:
        url = operator_url
        bots = [
            BuiltinBot(
                name=name, command=(*runner, *options, "--client-url", client_url, "--folder", str(folder / name))
            )
            for name in (f"runner-{number + 1}" for number in range(settings.runners))
        ]
    else:
        url = public_url
        environment |= {name: value for name, value in os.environ.items() if name.startswith(DASK_PREFIX)}
        command = (*runner, *options, "--dask", settings.dask, "--runners", str(settings.runners))
        bots = [BuiltinBot(name=CLUSTER_LOG, command=command)]
    supervisor = BuiltinBotSupervisor(
        bots,
        dict.fromkeys((bot.name for bot in bots), runner_token_of(token)),
        folder,
        environment,
        "the runner" if settings.dask is None else "the process",
    )
    supervisor.start(url, lambda name: False)
    try:
        yield
    finally:
        await supervisor.stop()

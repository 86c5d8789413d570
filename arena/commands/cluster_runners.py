"""`arena runner --dask`: keeps runners on the workers of a Dask cluster, until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from typing import Any
from urllib.parse import urlsplit

from arena.commands.runner import SANDBOXES, check_numbers
from arena.runner.cluster import ClusterRunner, keep_runners
from machine import event_loop, standard_streams
from machine.log_output import configure_logging
from machine.subprocesses import keep_private
from machine.workers.cluster import cluster_pool
from protocol.display import list_choices, short_repr
from protocol.errors import UsageFault

MAX_CLUSTER_RUNNERS = 256
"""Maximum number of runners on a cluster."""


def run(
    address: str, runners: int, url: str, client_url: str | None, slots: int, memory_mib: int, token: str, sandbox: str
) -> None:
    """Keep `runners` on the workers of the Dask cluster at an address until SIGINT or SIGTERM, which ends them. Raise
    `Fault` if there is no cluster, or if it is lost.
    """
    check_numbers(slots, memory_mib)
    if not 1 <= runners <= MAX_CLUSTER_RUNNERS:
        raise UsageFault(f"--runners is {runners}: 1 to {MAX_CLUSTER_RUNNERS}")
    if sandbox not in SANDBOXES:
        raise UsageFault(f"the sandbox is {short_repr(sandbox)}: {list_choices(SANDBOXES)}")
    standard_streams.tolerate_lost_output()
    configure_logging("info", "text")
    keep_private()
    options = ("--slots", str(slots), "--memory", str(memory_mib), "--sandbox", sandbox)
    arguments = ("-P", "-m", "arena", "runner", *options, "--client-url", client_url or url)
    place = urlsplit(url).netloc.replace(":", "-")
    kept = [ClusterRunner(f"{place}-{number + 1}", arguments, url, token) for number in range(runners)]
    with cluster_pool(address) as pool:
        event_loop.run(_run_until_signal(keep_runners(pool, kept)))


async def _run_until_signal(work: Coroutine[Any, Any, object]) -> None:
    working = asyncio.ensure_future(work)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, working.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await working

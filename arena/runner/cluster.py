"""Runs runners on the workers of a Dask cluster: each is a process of a task, which lasts until it is cancelled.

A worker that is lost takes its runner with it; the cluster's scheduler then gives the task to another worker.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from functools import partial
from typing import NamedTuple

from arena.processes.launch_spec import LaunchSpec, allowed_environment
from arena.processes.process import BotProcess, Crash, keep_running
from machine.cache import cache_folder
from machine.event_loop import wait_within
from machine.workers.cluster import ClusterPool, publish_event, watch_task
from protocol import bot_launch
from protocol.display import format_count
from protocol.errors import ArenaFault, os_errors_as

FIRST_RESTART_DELAY_S = 1.0
"""Seconds before a runner that ended is started again for the first time."""
TASK_CHECK_INTERVAL_S = 0.5
"""Seconds between two looks of a runner's task whether it was cancelled: Dask does not interrupt tasks that run."""
MAX_LOG_BYTES = 1024 * 1024
"""Maximum bytes of a runner's log. Then a new log begins, and the previous one is kept."""
FOLDER_NAME, LOG_NAME = "cluster-runners", "runner.log"
"""The folder of runners in the cache folder of a worker, and the log in the folder of each."""
STARTED_TOPIC = "bot-arena-runner-started"
"""The topic about which a worker publishes the name of each runner that it starts."""

log = logging.getLogger("arena.runner")


class ClusterRunner(NamedTuple):
    """A runner that some worker of a cluster shall run.

    `arguments` are those of Python, to which `--folder` is added. The `name` differs from those of all other runners
    on the cluster, and is that of its folder.
    """

    name: str
    arguments: Sequence[str]
    url: str
    token: str


async def keep_runners(pool: ClusterPool, runners: Sequence[ClusterRunner]) -> None:
    """Keep runners on the workers of a cluster until this is cancelled, and log on which. Raise `ArenaFault` if its
    scheduler is lost.
    """
    places: dict[str, str] = {}

    def on_started(started: tuple[str, str]) -> None:
        name, worker = started
        if all(name != one.name for one in runners):  # another arena's on the same cluster
            return
        if name in places:
            log.warning("%s was lost with its worker %s", name, places[name])
        places[name] = worker
        log.info("%s runs on the worker %s", name, worker)

    pool.follow(STARTED_TOPIC, on_started)
    log.info("the cluster gets %s", format_count(len(runners), "runner", "runners"))
    try:
        await asyncio.gather(
            *(
                keep_running(partial(_run_task, pool, one, places), FIRST_RESTART_DELAY_S, log, one.name)
                for one in runners
            )
        )
    finally:
        log.info("the runners on the cluster end")


async def _run_task(pool: ClusterPool, runner: ClusterRunner, places: dict[str, str]) -> str:
    """Have a worker run a runner until it ends, and return how it ended."""
    task = asyncio.wrap_future(pool.start(partial(run_on_worker, runner)))
    await asyncio.wait((task,))
    places.pop(runner.name, None)
    try:
        return task.result()
    except (asyncio.CancelledError, CancelledError):
        return "was lost with the scheduler of its cluster"
    except ImportError as error:
        return f"can't be started: its worker lacks this version of bot-arena ({error})"
    except Exception as error:
        return f"was lost with its worker: {error}"


def run_on_worker(runner: ClusterRunner) -> str:
    """Run a runner until it ends, or until the task of a Dask worker that calls this is cancelled or its worker stops.
    Return how it ended.
    """
    publish_event(STARTED_TOPIC, runner.name)
    try:
        return asyncio.run(_run_process(runner, watch_task()))
    except ArenaFault as fault:
        return f"can't be started: {fault}"


async def _run_process(runner: ClusterRunner, is_wanted: Callable[[], bool]) -> str:
    folder = cache_folder() / FOLDER_NAME / runner.name
    with os_errors_as(ArenaFault, f"the folder {folder} can't be made"):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    spec = LaunchSpec(
        command=(sys.executable, *runner.arguments, "--folder", str(folder)),
        environment={
            **allowed_environment(os.environ),
            bot_launch.URL_VARIABLE: runner.url,
            bot_launch.TOKEN_FD_VARIABLE: "0",
        },
        token=runner.token,
        largest_log=MAX_LOG_BYTES,
    )
    ended: asyncio.Future[Crash] = asyncio.get_running_loop().create_future()
    process = BotProcess(runner.name, spec, folder / LOG_NAME, lambda _, crash: ended.set_result(crash))
    try:
        await process.start()
        while is_wanted() and not ended.done():
            await wait_within(asyncio.wait((ended,)), TASK_CHECK_INTERVAL_S)
    finally:
        await process.stop(0)
    return ended.result().why if ended.done() else "was stopped"

"""A server whose runners are on the workers of a Dask cluster: the real programs."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path

import pytest

from boxes import boxed
from dask_cluster import dask, scheduler
from machine.file_lock import lock
from processes import serving
from timeouts import BUSY_ENVIRON, WITHIN

pytest.importorskip("distributed")
LOCK = "bot-arena/cluster-runners/*/lock"
"""The file that a runner on a worker locks while it lives, in the cache folder."""


@boxed
@pytest.mark.ci
async def test_a_runner_on_a_cluster_joins_the_server_moves_when_its_worker_is_killed_and_ends_with_the_server(
    tmp_path: Path,
) -> None:
    caches = [tmp_path / "one", tmp_path / "other"]
    with ExitStack() as stack:
        address, _ = stack.enter_context(scheduler())
        options = ("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        workers = [stack.enter_context(dask(*options, XDG_CACHE_HOME=str(cache), **BUSY_ENVIRON)) for cache in caches]

        serve = ("--runners", "1", "--runner-slots", "1", "--web-port", "0", "--dask", address)
        async with serving(tmp_path / "data", *serve) as arena:
            await arena.says("runner 1 is there, with 1 slots")
            (at,) = [number for number, cache in enumerate(caches) if [*cache.glob(LOCK)]]
            workers[at].kill()
            await arena.says("runner 1 is gone")
            await arena.says("runner 2 is there, with 1 slots")
        for cache in caches:
            (held,) = cache.glob(LOCK)
            await asyncio.wait_for(asyncio.to_thread(wait_until_free, held), WITHIN)


def wait_until_free(file: Path) -> None:
    """Wait until no runner holds a folder by this lock."""
    with file.open("ab") as opened:
        lock(opened.fileno())

"""Runners on the workers of a Dask cluster, which is in this process: each moves with its task, and ends with it."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from arena.commands import cluster_runners
from arena.commands import runner as runner_command
from arena.commands.runner import hold_folder, hold_free_folder
from arena.commands.serve_runners import check_runners
from arena.commands.settings import ServerSettings
from arena.runner import cluster
from arena.runner.cluster import ClusterRunner, keep_runners
from machine.workers.cluster import cluster_pool
from protocol.errors import ArenaFault, UsageFault
from timeouts import WITHIN, found_in

distributed = pytest.importorskip("distributed")
TELLS_WHO_IT_IS = """
import os, sys, time
print(sys.stdin.readline().strip(), os.environ["ARENA_URL"], flush=True)
file = os.path.join(sys.argv[-1], "pid")
with open(file + ".part", "w") as part:
    part.write(str(os.getpid()))
os.replace(file + ".part", file)
time.sleep(600)
"""
"""The program of a runner, which writes its token and URL to its log, and then the number of its process to a file."""


def runner_of(code: str) -> ClusterRunner:
    return ClusterRunner("arena-1", ("-I", "-S", "-c", code), "ws://arena:8765", "s3cret-token")


def has_ended(pid: int) -> Callable[[], bool]:
    """Whether a process that runs now has ended, which is waited for."""
    process = os.pidfd_open(pid)
    return lambda: bool(select.select([process], [], [], WITHIN)[0])


def test_a_runner_moves_to_another_worker_with_its_task_and_ends_with_its_pool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "arena.runner")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "bot-arena" / cluster.FOLDER_NAME / "arena-1"
    folder.mkdir(parents=True)

    def read_pid(before: int = 0) -> int:
        found = int((folder / "pid").read_text()) if (folder / "pid").exists() else 0
        return found if found != before else 0

    async def move_and_end(local: Any, pool: Any) -> Callable[[], bool]:
        keeping = asyncio.create_task(keep_runners(pool, [runner_of(TELLS_WHO_IT_IS)]))
        first = await asyncio.to_thread(found_in, folder, lambda: read_pid() or None)
        has_first_ended = has_ended(first)
        busy = next(worker for worker in local.workers.values() if worker.state.executing)
        local.sync(busy.close)
        second = await asyncio.to_thread(found_in, folder, lambda: read_pid(first) or None)
        assert has_first_ended()
        async with asyncio.timeout(WITHIN):  # the second may be told of later than it begins
            while caplog.text.count("arena-1 runs on the worker") < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        keeping.cancel()
        return has_ended(second)

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options, protocol="tcp", host="127.0.0.1") as local:
        with cluster_pool(local.scheduler_address) as pool:
            has_second_ended = asyncio.run(move_and_end(local, pool))
        assert has_second_ended()
    lines = [record.getMessage().partition(" tcp:")[0] for record in caplog.records if record.name == "arena.runner"]
    runs, lost = "arena-1 runs on the worker", "arena-1 was lost with its worker"
    assert lines == ["the cluster gets 1 runner", runs, lost, runs, "the runners on the cluster end"]
    assert (folder / cluster.LOG_NAME).read_text().splitlines() == 2 * ["s3cret-token ws://arena:8765"]


async def test_a_runner_that_cannot_be_kept_says_why_in_one_line_and_is_started_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ends = [ImportError("No module named 'arena.runner.cluster'"), RuntimeError("4 workers died"), None]
    monkeypatch.setattr(cluster, "FIRST_RESTART_DELAY_S", 0.001)

    class Pool:
        def follow(self, topic: str, on_event: Callable[[Any], None]) -> None:
            pass

        def start(self, work: Callable[[], str]) -> Future[str]:
            if not ends:
                raise ArenaFault("lost the Dask scheduler at tcp://x:1: is it running?")
            ended: Future[str] = Future()
            if (error := ends.pop(0)) is None:
                ended.cancel()
            else:
                ended.set_exception(error)
            return ended

    with caplog.at_level("WARNING"), pytest.raises(ArenaFault, match=r"^lost the Dask scheduler"):
        await keep_runners(Pool(), [runner_of("")])  # type: ignore[arg-type]
    assert [record.message.partition(";")[0] for record in caplog.records] == [
        "arena-1 can't be started: its worker lacks this version of bot-arena (No module named 'arena.runner.cluster')",
        "arena-1 was lost with its worker: 4 workers died",
        "arena-1 was lost with the scheduler of its cluster",
    ]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"runners": 17}, "runners is 17: 16 at most on one machine, without --dask"),
        ({"dask": "tls://far:1"}, "dask is tls://far:1: say how many runners the cluster shall have, --runners N"),
        (
            {"dask": "tls://far:1", "runners": 1, "host": "127.0.0.1"},
            "dask: runners on other machines can't connect to 127.0.0.1: give --host 0.0.0.0, or where clients "
            "connect, like --public-url wss://arena.example.org",
        ),
    ],
)
def test_runners_that_a_cluster_can_not_have_are_refused_before_the_server_starts(
    settings: dict[str, Any], why: str
) -> None:
    with pytest.raises(UsageFault) as refused:
        check_runners(ServerSettings(**settings))
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("address", "warnings"),
    [("tls://far:8786", 0), ("tcp://127.0.0.1:8786", 0), ("tcp://far:8786", 1)],
)
def test_a_server_warns_of_a_cluster_that_gets_the_token_unencrypted(
    caplog: pytest.LogCaptureFixture, address: str, warnings: int
) -> None:
    check_runners(ServerSettings(dask=address, runners=1, host="0.0.0.0"))
    assert caplog.text.count("unencrypted") == warnings


def test_a_folder_is_for_one_runner_at_a_time_and_a_runner_without_one_takes_a_free_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        hold_folder(tmp_path),
        pytest.raises(UsageFault, match=r"^another runner uses the folder"),
        ExitStack() as stack,
    ):
        stack.enter_context(hold_folder(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(runner_command, "MAX_FOLDERS", 3)
    with hold_free_folder() as first, hold_free_folder() as second:
        assert (first.name, second.name) == ("runner", "runner-2")
        with pytest.raises(UsageFault, match=r"^2 other runners use the folders"), ExitStack() as stack:
            stack.enter_context(hold_free_folder())
    with hold_free_folder() as again:
        assert again == first


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        ({"runners": 0}, "--runners is 0: 1 to 256"),
        ({"slots": 257}, "--slots is 257: 1 to 256"),
        ({"sandbox": "nsjail"}, "the sandbox is 'nsjail': one of bwrap, none"),
    ],
)
def test_numbers_of_runners_that_can_not_be_are_refused(numbers: dict[str, Any], why: str) -> None:
    given = {"runners": 1, "slots": 1, "sandbox": "bwrap"} | numbers
    with pytest.raises(UsageFault, match=f"^{why}$"):
        cluster_runners.run("tcp://x:1", url="ws://x:1", client_url=None, memory_mib=64, token="s3cret", **given)

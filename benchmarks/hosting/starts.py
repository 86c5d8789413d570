"""Measure how soon the bots of a runner are back: the start of many clients at a time.

    python benchmarks/hosting/starts.py [--bots 20] [--small]

A runner is told to run this many bots at a time, which play without a sandbox. The clients start in both ways: each is
forked, as on Linux, or started by a command, as elsewhere. The columns of the table: the seconds until half of the
clients have connected, and until all have; the processor time and the memory of a bot, with its program, which only
waits; and the memory of the process from which clients are forked.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

from hosted_arena import format_table, proportional_memory_mib, tree_processor_s
from toolkit import option, read_options

from arena.hosting.manifest import Manifest
from arena.operator.hosting import RunBot
from arena.processes.process import StartKeeper, start_keeper
from arena.runner.forked_clients import forked_clients
from arena.runner.hosted_bot import run_hosted_bot
from arena.runner.unboxed import Unboxed
from arena.runner.version_cache import BuiltProgram
from machine import event_loop
from machine.process_tree import process_tree, wait_until_idle

TIMEOUT_S = 300.0
"""Seconds in which all clients must connect."""
HEAD = ("", "p50 s", "all s", "core s", "MiB", "shared MiB")
"""The heads of the columns of the table."""


@asynccontextmanager
async def _started_by_command() -> AsyncIterator[StartKeeper]:
    yield start_keeper


async def _measure(title: str, bots: int) -> Sequence[str]:
    """Return the row of one way to start clients."""
    connected, all_connected = list[float](), asyncio.Event()

    async def receive(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        connected.append(time.perf_counter())
        if len(connected) == bots:
            all_connected.set()
        await reader.read()

    server = await asyncio.start_server(receive, "127.0.0.1", 0)
    url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    way = forked_clients if title == "forked" else _started_by_command
    with tempfile.TemporaryDirectory() as folder:
        program = BuiltProgram(folder=Path(folder), manifest=Manifest(games=("nim",), command=("sleep", "inf")))
        async with way() as start:
            for child in process_tree(os.getpid())[1:]:  # it imports
                await asyncio.to_thread(wait_until_idle, child, TIMEOUT_S)
            processor_s, memory_mib = _measure_children()
            began = time.perf_counter()
            runs = [
                asyncio.create_task(
                    run_hosted_bot(
                        RunBot(bot=f"bot{number}", number=1, digest="", ticket="t" * 64),
                        *(program, Unboxed(memory_mib=256), 0, url, Path(folder) / "logs", start, asyncio.Event()),
                    )
                )
                for number in range(bots)
            ]
            async with asyncio.timeout(TIMEOUT_S):
                await all_connected.wait()
            used = _measure_children()
            for run in runs:
                run.cancel()
            await asyncio.gather(*runs, return_exceptions=True)
    server.close()
    starts = [moment - began for moment in connected]
    per_bot = [f"{(used[0] - processor_s) / bots:.3f}", f"{(used[1] - memory_mib) / bots:.0f}"]
    return [title, f"{median(starts):.2f}", f"{max(starts):.2f}", *per_bot, f"{memory_mib:.0f}"]


def _measure_children() -> tuple[float, float]:
    """Return the processor time, in seconds, and the memory, in MiB, of the processes below this one."""
    children = process_tree(os.getpid())[1:]
    return tree_processor_s(children), proportional_memory_mib(children)


def main() -> None:
    options = read_options(__doc__, {"bots": 2}, bots=option(20, "that start at a time"))
    rows = [HEAD, *(event_loop.run(_measure(title, options.bots)) for title in ("forked", "by a command"))]
    print(f"{options.bots} bots at a time:")
    print(format_table(rows, (16, 8, 8, 8, 8, 12)))


if __name__ == "__main__":
    main()

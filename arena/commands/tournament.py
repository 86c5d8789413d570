"""`arena tournament`: bots as processes of their own, a progress bar, a table at the end; goes on where it stopped."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from arena.commands import event_loop
from arena.commands.holding import held
from arena.commands.tables import counted
from arena.commands.tournament_options import Options, read_options, surroundings
from arena.commands.tournament_report import Report
from arena.server.journal import Journal
from arena.store.archive import Archive
from arena.store.store import Store
from arena.tournament.plan import Plan
from arena.tournament.sandbox import Surroundings
from arena.tournament.tournament import Tournament
from machine.prctl import keep_private
from referee.result import Result


def run(options: Options) -> None:
    """Play a tournament, or what is missing of it, and print its table. Raises `Fault`."""
    keep_private()
    entry = read_options(options)
    around = surroundings(options, os.environ)
    data = options.data
    with held(data, options.db) as where, closing(Store.open(where)) as store:
        plan = entry.plan(*store.open_tournament(entry.key, options.seed))
        results = _play(plan, store, data, options.jobs or max(1, (os.cpu_count() or 2) - 1), around)
    report = Report(plan, results)
    if options.to_json is not None:
        report.write(options.to_json, entry.arguments)
    report.show(data)


def _play(plan: Plan, store: Store, data: Path, jobs: int, around: Surroundings) -> list[Result]:
    played = store.tournament_results(plan.id)
    journal = Journal(data / "journal")
    for result in played:
        journal.forget(result.match)  # it is there only if the arena was killed between storing and forgetting it
    if played:
        again = "" if len(played) < plan.count else ": another --seed or --data plays new ones"
        before = f"{len(played)} of {counted(plan.count, 'match was', 'matches were')} played before{again}"
        print(f"arena: {before}", file=sys.stderr)
    if len(played) < plan.count:
        _play_missing(plan, store, data, jobs, around, played)
        store.finish_tournament(plan.id)
    return store.tournament_results(plan.id)


def _play_missing(plan: Plan, store: Store, data: Path, jobs: int, around: Surroundings, played: list[Result]) -> None:
    logging.basicConfig(level=logging.WARNING, format="arena: %(message)s")
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
    console = Console(stderr=True)
    progress, task = _progress(console, plan, len(played))

    async def play() -> None:
        main = asyncio.current_task()
        assert main is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, main.cancel)
        archive = Archive(store, in_order=True)
        try:
            await Tournament(
                plan,
                archive,
                data,
                jobs,
                surroundings=around,
                told=lambda result: progress.advance(task),
                noted=lambda text: console.print(text, markup=False, highlight=False, soft_wrap=True),
            ).play(played)
        finally:
            await archive.drain()

    try:
        with progress:
            event_loop.run(play())
    except (KeyboardInterrupt, asyncio.CancelledError):
        done = len(store.tournament_results(plan.id))
        print(
            f"arena: stopped after {done} of {counted(plan.count, 'match', 'matches')}; the same command goes on",
            file=sys.stderr,
        )
        raise KeyboardInterrupt from None


def _progress(console: Console, plan: Plan, done: int) -> tuple[Progress, Any]:
    progress = Progress(
        TextColumn(plan.rules.name),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("matches"),
        TimeRemainingColumn(),
        console=console,
    )
    return progress, progress.add_task(plan.rules.name, total=plan.count, completed=done)

"""`arena tournament`: bots as processes of their own, a progress bar, a table at the end; goes on where it stopped."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from arena.commands.holding import held
from arena.commands.tables import counted
from arena.commands.tournament_options import Options, read_options, surroundings
from arena.commands.tournament_report import Report
from arena.ratings.pairing import Pairing
from arena.server.journal import Journal
from arena.store.store import Store
from arena.tournament.plan import Plan, place_of
from arena.tournament.playing import play
from arena.tournament.sandbox import Surroundings
from arena.tournament.storing import store_all
from arena.tournament.terms import Terms
from machine.crew.workers import processes
from machine.prctl import keep_private
from measuring.values import names_of
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
    terms = Terms(
        key=secrets.token_hex(8),
        plan=plan,
        surroundings=around,
        logs=plan.log(data, "any").parent,
        value=names_of(plan.rules)[0] if plan.rules.seats == 2 else None,
    )
    results = list(played)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with progress, processes(jobs) as crew:
            while missing := _missing(plan, results):
                for reports in play(terms, missing, crew):
                    store_all(store, reports)
                    for report in reports:
                        results.append(report.result)
                        for note in report.notes:
                            console.print(note, markup=False, highlight=False, soft_wrap=True)
                    progress.advance(task, len(reports))
    except KeyboardInterrupt:
        done = len(store.tournament_results(plan.id))
        print(
            f"arena: stopped after {done} of {counted(plan.count, 'match', 'matches')}; the same command goes on",
            file=sys.stderr,
        )
        raise


def _missing(plan: Plan, results: Sequence[Result]) -> list[Pairing]:
    done = set(map(place_of, results))
    return [match for match in plan.schedule(sorted(results, key=place_of)) if match.place not in done]


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

"""`arena tournament`: bots as processes of their own, a progress bar, a table at the end; goes on where it stopped."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from arena.commands.holding import held
from arena.commands.sitting import sitting, workers
from arena.commands.tables import counted
from arena.commands.tournament_options import Options, read_options, surroundings
from arena.commands.tournament_report import Report
from arena.ratings.pairing import Pairing
from arena.store.store import Store
from arena.tournament.luck import luck_by_match
from arena.tournament.plan import Plan, place_of
from arena.tournament.sandbox import Surroundings
from machine.crew.workers import Crew
from machine.prctl import keep_private
from measuring.values import names_of
from referee.result import Result


def run(options: Options) -> None:
    """Play a tournament, or what is missing of it, and print its table. Raises `Fault`."""
    keep_private()
    entry = read_options(options)
    around = surroundings(options, os.environ)
    with (
        workers(options) as crew,
        held(options.data, options.db) as where,
        closing(Store.open(where)) as store,
    ):
        plan = entry.plan(*store.open_tournament(entry.key, options.seed))
        results = _play(plan, store, crew, options, around)
        value, luck = luck_by_match(store, plan, results)
    report = Report(plan, results, luck, value)
    if options.to_json is not None:
        report.write(options.to_json, entry.arguments)
    report.show(options.data)


def _play(plan: Plan, store: Store, crew: Crew, options: Options, around: Surroundings) -> list[Result]:
    played = store.tournament_results(plan.id)
    if played:
        again = "" if len(played) < plan.count else ": another --seed or --data plays new ones"
        before = f"{len(played)} of {counted(plan.count, 'match was', 'matches were')} played before{again}"
        print(f"arena: {before}", file=sys.stderr)
    if len(played) < plan.count:
        _play_missing(plan, store, crew, options, around, played)
        store.finish_tournament(plan.id)
    return store.tournament_results(plan.id)


def _play_missing(
    plan: Plan, store: Store, crew: Crew, options: Options, around: Surroundings, played: list[Result]
) -> None:
    console = Console(stderr=True)
    progress, task = _progress(console, plan, len(played))
    value = names_of(plan.rules)[0] if plan.rules.seats == 2 else None
    results = list(played)
    try:
        with progress:
            seated = sitting(plan, store, crew, options, around, value, console)
            while missing := _missing(plan, results):
                for reports in seated.play(missing):
                    seated.keep(reports)
                    results += [report.result for report in reports]
                    progress.update(task, advance=len(reports), description=plan.rules.name)
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
    """A bar, which says so as long as nothing is over: bots may take half a minute to compile the first time."""
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("matches"),
        TimeRemainingColumn(),
        console=console,
    )
    return progress, progress.add_task(f"{plan.rules.name}: bots get ready", total=plan.count, completed=done)

"""`arena tournament`: bots as processes of their own, a progress bar, a table at the end; goes on where it stopped."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from arena.commands.sitting import Sitting, sitting
from arena.commands.tables import counted
from arena.commands.tournament_options import Options, read_options
from arena.commands.tournament_report import Report
from arena.ratings.pairing import Pairing
from arena.tournament.luck import luck_by_match
from arena.tournament.plan import Plan, place_of
from measuring.values import names_of
from referee.result import Result


def run(options: Options) -> None:
    """Play a tournament, or what is missing of it, and print its table. Raises `Fault`."""
    entry = read_options(options)
    value = names_of(entry.rules)[0] if entry.rules.seats == 2 else None
    with sitting(options, entry, value) as seated:
        results = _play(seated)
        measured_by, luck = luck_by_match(seated.store, seated.plan, results)
    report = Report(seated.plan, results, luck, measured_by)
    if options.to_json is not None:
        report.write(options.to_json, entry.arguments)
    report.show(options.data)


def _play(seated: Sitting) -> list[Result]:
    plan, store = seated.plan, seated.store
    played = store.tournament_results(plan.id)
    if played:
        again = "" if len(played) < plan.count else ": another --seed or --data plays new ones"
        before = f"{len(played)} of {counted(plan.count, 'match was', 'matches were')} played before{again}"
        print(f"arena: {before}", file=sys.stderr)
    if len(played) < plan.count:
        _play_missing(seated, played)
        store.finish_tournament(plan.id)
    return store.tournament_results(plan.id)


def _play_missing(seated: Sitting, played: list[Result]) -> None:
    plan, results = seated.plan, list(played)
    console = Console(stderr=True)
    progress, task = _progress(console, plan, len(played))
    try:
        with progress:
            while missing := _missing(plan, results):
                for reports in seated.play(missing):
                    seated.keep(reports, console)
                    results += [report.result for report in reports]
                    progress.update(task, advance=len(reports), description=plan.rules.name)
    except KeyboardInterrupt:
        done = len(seated.store.tournament_results(plan.id))
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

"""`arena tournament`: bots as processes of their own, a progress bar, a table at the end; goes on where it stopped."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from arena.commands.text_tables import counted
from arena.commands.tournament_options import TournamentOptions, read_options
from arena.commands.tournament_report import Report
from arena.commands.tournament_run import TournamentRun, tournament_run
from arena.ratings.tournament_pairing import Pairing
from arena.store.result_queries import bot_failures, tournament_results
from arena.store.tournament_state import finish_tournament
from arena.tournament.job import MatchReport
from arena.tournament.plan import Plan, place_of
from arena.tournament.result_writer import luck_by_match
from measuring.value_registry import names_of
from referee.result import Result


def run(options: TournamentOptions) -> None:
    """Play a tournament, or what is missing of it, and print its table. Raises `Fault`."""
    entry = read_options(options)
    value = names_of(entry.rules)[0] if entry.rules.seats == 2 else None
    for bot, why in entry.failing.items():
        print(f"arena: {bot} {why}; it forfeits its matches", file=sys.stderr)
    with tournament_run(options, entry, value) as seated:
        results = _play(seated)
        measured_by, luck = luck_by_match(seated.store, seated.plan, results)
        failures = seated.store.read(bot_failures, seated.plan.id)
    report = Report(seated.plan, results, luck, measured_by, failures)
    if options.to_json is not None:
        report.write(options.to_json, entry.arguments)
    report.show(options.data)


def _play(seated: TournamentRun) -> list[Result]:
    plan, store = seated.plan, seated.store
    played = store.read(tournament_results, plan.id)
    before = len(played) + len(seated.held())
    if before:
        again = "" if before < plan.count else ": another --seed or --data plays new ones"
        said = f"{before} of {counted(plan.count, 'match was', 'matches were')} played before{again}"
        print(f"arena: {said}", file=sys.stderr)
    if len(played) < plan.count:
        _Course(seated, played).play()
        store.write(finish_tournament, plan.id)
    return store.read(tournament_results, plan.id)


class _Course:
    """The missing matches of a tournament, played and stored, and how far that is."""

    def __init__(self, seated: TournamentRun, played: Sequence[Result]) -> None:
        self._seated = seated
        self._results = list(played)
        self._held = {place_of(report.result) for report in seated.held()}
        """The places of matches that wait to be rated."""
        self._console = Console(stderr=True)
        self._progress, self._task = _progress(self._console, seated.plan, self._so_far)

    @property
    def _so_far(self) -> int:
        return len(self._results) + len(self._held)

    def play(self) -> None:
        """Play on to the end."""
        plan = self._seated.plan
        try:
            with self._progress:
                while missing := _missing(plan, self._results):
                    for reports in self._seated.play(missing, self._hold):
                        self._keep(reports)
        except KeyboardInterrupt:
            # What is stored counts: the signal may come between that and its being noted here.
            stored = len(self._seated.store.read(tournament_results, plan.id)) + len(self._seated.held())
            matches = counted(plan.count, "match", "matches")
            print(f"arena: stopped after {stored} of {matches}; the same command goes on", file=sys.stderr)
            raise

    def _hold(self, reports: Sequence[MatchReport]) -> None:
        self._seated.hold(reports, self._console)
        self._held.update(place_of(report.result) for report in reports)
        self._show()

    def _keep(self, reports: Sequence[MatchReport]) -> None:
        self._seated.keep(reports, self._console)
        self._results += [report.result for report in reports]
        self._held.difference_update(place_of(report.result) for report in reports)
        self._show()

    def _show(self) -> None:
        self._progress.update(self._task, completed=self._so_far, description=self._seated.plan.rules.name)


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

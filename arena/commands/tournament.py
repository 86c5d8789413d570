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
    setup = read_options(options)
    rules, output = setup.schedule.rules, setup.output
    value = names_of(rules)[0] if rules.seats == 2 else None
    for bot, why in setup.entrants.failing.items():
        print(f"arena: {bot} {why}; it forfeits its matches", file=sys.stderr)
    with tournament_run(setup, value) as tournament:
        results = _play(tournament)
        measured_by, luck = luck_by_match(tournament.store, tournament.plan, results)
        failures = tournament.store.read(bot_failures, tournament.plan.id)
    report = Report(tournament.plan, results, luck, measured_by, failures)
    if output.to_json is not None:
        report.write(output.to_json, setup.schedule.arguments)
    report.show(output.data)


def _play(tournament: TournamentRun) -> list[Result]:
    plan, store = tournament.plan, tournament.store
    played = store.read(tournament_results, plan.id)
    before = len(played) + len(tournament.pending())
    if before:
        again = "" if before < plan.count else ": another --seed or --data plays new ones"
        said = f"{before} of {counted(plan.count, 'match was', 'matches were')} played before{again}"
        print(f"arena: {said}", file=sys.stderr)
    if len(played) < plan.count:
        _Player(tournament, played).play()
        store.write(finish_tournament, plan.id)
    return store.read(tournament_results, plan.id)


class _Player:
    """The missing matches of a tournament, played and stored, and how far that is."""

    def __init__(self, tournament: TournamentRun, played: Sequence[Result]) -> None:
        self._run = tournament
        self._results = list(played)
        self._pending = {place_of(report.result) for report in tournament.pending()}
        """The places of matches that wait to be rated."""
        self._console = Console(stderr=True)
        self._progress, self._task = _progress(self._console, tournament.plan, self._so_far)

    @property
    def _so_far(self) -> int:
        return len(self._results) + len(self._pending)

    def play(self) -> None:
        """Play on to the end."""
        plan = self._run.plan
        try:
            with self._progress:
                while missing := _missing(plan, self._results):
                    for reports in self._run.play(missing, self._save_pending):
                        self._finish(reports)
        except KeyboardInterrupt:
            # What is stored counts: the signal may come between that and its being noted here.
            stored = len(self._run.store.read(tournament_results, plan.id)) + len(self._run.pending())
            matches = counted(plan.count, "match", "matches")
            print(f"arena: stopped after {stored} of {matches}; the same command goes on", file=sys.stderr)
            raise

    def _save_pending(self, reports: Sequence[MatchReport]) -> None:
        self._run.save_pending(reports, self._console)
        self._pending.update(place_of(report.result) for report in reports)
        self._show()

    def _finish(self, reports: Sequence[MatchReport]) -> None:
        self._run.finish(reports, self._console)
        self._results += [report.result for report in reports]
        self._pending.difference_update(place_of(report.result) for report in reports)
        self._show()

    def _show(self) -> None:
        self._progress.update(self._task, completed=self._so_far, description=self._run.plan.rules.name)


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

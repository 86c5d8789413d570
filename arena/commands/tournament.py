"""`arena tournament`: bots as processes of their own, a progress bar, a table at the end; goes on where it stopped."""

from __future__ import annotations

import sys
from collections.abc import Sequence

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
    value = names_of(setup.rules)[0] if setup.rules.seats == 2 else None
    for bot, why in setup.failing.items():
        print(f"arena: {bot} {why}; it forfeits its matches", file=sys.stderr)
    with tournament_run(setup, value) as tournament:
        results = _play(tournament)
        measured_by, luck = luck_by_match(tournament.store, tournament.plan, results)
        failures = tournament.store.read(bot_failures, tournament.plan.id)
    report = Report(tournament.plan, results, luck, measured_by, failures)
    if options.to_json is not None:
        report.write(options.to_json, setup.arguments)
    report.show(options.data)


def _play(tournament: TournamentRun) -> list[Result]:
    plan, store = tournament.plan, tournament.store
    played = store.read(tournament_results, plan.id)
    pending = {place_of(report.result) for report in tournament.pending()}
    before = len(played) + len(pending)
    if before:
        again = "" if before < plan.count else ": another --seed or --data plays new ones"
        said = f"{before} of {counted(plan.count, 'match was', 'matches were')} played before{again}"
        print(f"arena: {said}", file=sys.stderr)
    if len(played) < plan.count:
        _play_missing(tournament, list(played), pending)
        store.write(finish_tournament, plan.id)
    return store.read(tournament_results, plan.id)


def _play_missing(tournament: TournamentRun, results: list[Result], pending: set[int]) -> None:
    """Play and store the missing matches, and show how far that is; `pending` are the places of those that wait to be
    rated.
    """
    plan = tournament.plan
    bar = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("matches"))
    progress = Progress(*bar, TimeRemainingColumn(), console=tournament.console)
    # It says so as long as nothing is over: bots may take half a minute to compile the first time.
    task = progress.add_task(
        f"{plan.rules.name}: bots get ready", total=plan.count, completed=len(results) + len(pending)
    )

    def show() -> None:
        progress.update(task, completed=len(results) + len(pending), description=plan.rules.name)

    def save_pending(reports: Sequence[MatchReport]) -> None:
        tournament.save_pending(reports)
        pending.update(place_of(report.result) for report in reports)
        show()

    try:
        with progress:
            while missing := _missing(plan, results):
                for reports in tournament.play(missing, save_pending):
                    tournament.finish(reports)
                    results += [report.result for report in reports]
                    pending.difference_update(place_of(report.result) for report in reports)
                    show()
    except KeyboardInterrupt:
        # What is stored counts: the signal may come between that and its being noted here.
        stored = len(tournament.store.read(tournament_results, plan.id)) + len(tournament.pending())
        matches = counted(plan.count, "match", "matches")
        print(f"arena: stopped after {stored} of {matches}; the same command goes on", file=sys.stderr)
        raise


def _missing(plan: Plan, results: Sequence[Result]) -> list[Pairing]:
    done = set(map(place_of, results))
    return [match for match in plan.schedule(sorted(results, key=place_of)) if match.place not in done]

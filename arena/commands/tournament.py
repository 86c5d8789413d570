"""`arena tournament`: plays a tournament of bots in their own processes, with a progress bar and a final table. It
resumes where it stopped.

`arena test` runs in the same way: workers play the matches of a plan, which are stored as they finish.
"""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import NamedTuple

from msgspec.structs import replace
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from arena.commands.data_dir import hold_data_dir
from arena.commands.tournament_options import TournamentOptions, TournamentSetup, read_options
from arena.commands.tournament_report import Report
from arena.processes.warmup_notice import announce_warmups
from arena.ratings.tournament_pairing import Pairing
from arena.runs.dispatch import play_matches
from arena.runs.job import MatchJob, MatchReport
from arena.runs.plan import Plan, place_of
from arena.runs.result_writer import load_pending_reports, luck_by_match, save_pending_reports, store_reports
from arena.runs.sandbox import BotEnvironment
from arena.runs.sandbox_users import reserved_users
from arena.store.answer_limit import server_timeouts
from arena.store.database_url import open_database_url
from arena.store.result_queries import bot_failures, tournament_results
from arena.store.store import Store
from arena.store.tournament_state import finish_tournament, open_tournament, tournament_randomness
from machine.console import Console
from machine.log_output import configure_logging
from machine.source_digest import digest_of_all
from machine.subprocesses import keep_private
from machine.terminal import say
from machine.workers.cluster import cluster_pool
from machine.workers.local import WorkerPool, process_pool
from measuring.value_registry import default_value_names
from protocol.display import format_count
from referee.result import Result


def run(options: TournamentOptions) -> None:
    """Play a tournament, or the rest of it, and print its table. Raise `Fault` if an option is wrong or a bot fails."""
    setup = read_options(options)
    value = default_value_names(setup.rules)[0] if setup.rules.seats == 2 else None
    for bot, why in setup.failing.items():
        say(f"arena: {bot} {why}; it forfeits its matches", err=True)
    with tournament_run(setup, value) as tournament:
        results = _play(tournament)
        measured_by, luck = luck_by_match(tournament.store, tournament.plan, results)
        failures = tournament.store.read(bot_failures, tournament.plan.id)
    report = Report(tournament.plan, results, luck, measured_by, failures, raw=options.no_luck_adjustment)
    if options.to_json is not None:
        report.write(options.to_json, setup.arguments)
    report.show(options.data)


def _play(tournament: TournamentRun) -> list[Result]:
    plan, store = tournament.plan, tournament.store
    played = plan.with_plan_names(store.read(tournament_results, plan.id))
    pending = {place_of(report.result) for report in tournament.pending()}
    before = len(played) + len(pending)
    if before:
        again = "" if before < plan.match_count else ": another --seed or --data plays new ones"
        said = f"{before} of {format_count(plan.match_count, 'match was', 'matches were')} played before{again}"
        say(f"arena: {said}", err=True)
    if len(played) < plan.match_count:
        _play_missing(tournament, list(played), pending)
        store.write(finish_tournament, plan.id)
    return plan.with_plan_names(store.read(tournament_results, plan.id))


def _play_missing(tournament: TournamentRun, results: list[Result], pending: set[int]) -> None:
    """Play and store the missing matches of a tournament, with a progress bar.

    `pending` has the schedule places of the matches that are stored but not rated yet.
    """
    plan = tournament.plan
    bar = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("matches"))
    progress = Progress(*bar, TimeRemainingColumn(), console=tournament.console)
    # The description stays until the first match is over: bots may take half a minute to compile the first time.
    task = progress.add_task(
        f"{plan.rules.name}: bots get ready", total=plan.match_count, completed=len(results) + len(pending)
    )

    def show() -> None:
        progress.update(task, completed=len(results) + len(pending), description=plan.rules.name)

    def save_pending(reports: Sequence[MatchReport]) -> None:
        tournament.save_pending(reports)
        pending.update(place_of(report.result) for report in reports)
        show()

    try:
        with progress:
            while missing := _missing_pairings(plan, results):
                for reports in tournament.play(missing, save_pending):
                    tournament.finish(reports)
                    results += [report.result for report in reports]
                    pending.difference_update(place_of(report.result) for report in reports)
                    show()
    except KeyboardInterrupt:
        # Count what is stored: the signal may arrive between storing a match and noting it here.
        stored = len(tournament.store.read(tournament_results, plan.id)) + len(tournament.pending())
        matches = format_count(plan.match_count, "match", "matches")
        say(f"arena: stopped after {stored} of {matches}; the same command continues", err=True)
        raise


def _missing_pairings(plan: Plan, results: Sequence[Result]) -> list[Pairing]:
    done = set(map(place_of, results))
    return [match for match in plan.schedule(sorted(results, key=place_of)) if match.place not in done]


class TournamentRun(NamedTuple):
    """The run of a tournament: its job, workers, store, and console."""

    job: MatchJob
    workers: WorkerPool
    store: Store
    console: Console

    @property
    def plan(self) -> Plan:
        """The plan of the tournament: its schedule, and the terms of each match."""
        return self.job.plan

    def play(
        self, matches: Sequence[Pairing], on_early: Callable[[Sequence[MatchReport]], object]
    ) -> Iterator[Sequence[MatchReport]]:
        """Play matches and yield their reports in the order of `matches`. Raise `ArenaFault` if a bot cannot go on.

        The caller may stop at any time. If a match ends before an earlier one of `matches`, `on_early` receives its
        report.
        """
        with announce_warmups(self.job.logs) as enough:
            for reports in play_matches(self.job, matches, self.workers, self.pending(), on_early):
                enough.set()
                yield reports

    def pending(self) -> list[MatchReport]:
        """Return the reports of stored matches that cannot be rated yet, because an earlier match is missing."""
        return load_pending_reports(self.store, self.plan.id)

    def save_pending(self, reports: Sequence[MatchReport]) -> None:
        """Store matches that cannot be rated before an earlier match has ended. Print the notes in their reports."""
        save_pending_reports(self.store, reports)
        self._tell(reports)

    def finish(self, reports: Sequence[MatchReport]) -> None:
        """Store and rate matches in the order of their reports, and print the notes of the reports."""
        store_reports(self.store, reports)
        self._tell(reports)

    def _tell(self, reports: Sequence[MatchReport]) -> None:
        for note in (note for report in reports for note in report.notes):
            self.console.print(note, soft_wrap=True)


@contextmanager
def tournament_run(setup: TournamentSetup, value: str | None) -> Iterator[TournamentRun]:
    """Start or resume a tournament within the context, in which SIGTERM acts like Ctrl-C.

    `value` names the value function that luck is measured by. Raise `Fault` if the data folder or the workers can't be
    used.
    """
    keep_private()
    configure_logging("warning", "text")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = setup.options
    with (
        _sandbox_users(setup) as environment,
        process_pool(setup.jobs) if options.dask is None else cluster_pool(options.dask) as workers,
        hold_data_dir(options.data, options.db) as where,
        closing(Store.open(open_database_url(where, server_timeouts()))) as store,
    ):
        tournament, seed = store.write(open_tournament, setup.key, options.seed, setup.randomness_key)
        plan = setup.plan(tournament, seed, *store.read(tournament_randomness, tournament))
        job = MatchJob(
            key=secrets.token_hex(8),
            plan=plan,
            environment=environment,
            logs=plan.log_folder(options.data).absolute(),
            value=value,
            connect_timeout_s=options.connect_timeout,
            in_process=options.in_process,
            strict=setup.strict,
            sources=None if options.dask is None else digest_of_all(),
            server=setup.server,
        )
        yield TournamentRun(job, workers, store, Console(stderr=True))


@contextmanager
def _sandbox_users(setup: TournamentSetup) -> Iterator[BotEnvironment]:
    """Yield the environment of the bots. If this process is root, each sandboxed bot gets a user of its own."""
    around = setup.environment
    if around.sandbox is None or os.geteuid() != 0:
        yield around
        return
    with reserved_users(len(setup.contestants)) as users:
        yield replace(around, sandbox=replace(around.sandbox, users=users))

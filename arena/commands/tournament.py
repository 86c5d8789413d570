"""`arena tournament`: plays a tournament of bots in their own processes, with a progress bar and a final table. It
resumes where it stopped.

`arena test` runs in the same way: workers play the matches of a plan, which are stored as they finish.
"""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as ProgressBar

from arena.commands.brought_games import store_game
from arena.commands.data_dir import open_data_dir
from arena.commands.hosted_entrants import HostedSource
from arena.commands.rehearsal import rehearse_game
from arena.commands.tournament_options import TournamentOptions, TournamentSetup, read_options, server_of
from arena.commands.tournament_report import Report
from arena.runner.entrants import built_plan
from arena.runs.job import MatchJob, MatchReport
from arena.runs.plan import Plan
from arena.runs.remote import RemotePlayers, RemoteRunnerPlayers
from arena.runs.result_writer import Goal, RatedLedger, load_pending_reports, luck_by_match
from arena.runs.run import Progress
from arena.runs.sandbox import BotEnvironment
from arena.runs.sandbox_users import reserved_users
from arena.runs.workers import WorkerPlayers
from arena.store.entrants import EntrantList
from arena.store.registry import DELETED_PREFIX
from arena.store.result_queries import bot_failures, tournament_results
from arena.store.rules_check import check_rules
from arena.store.store import Store
from arena.store.tournament_state import finish_tournament, open_tournament, tournament_randomness
from machine.console import Console
from machine.log_output import configure_logging
from machine.source_digest import digest_of_all
from machine.subprocesses import keep_private
from machine.terminal import say
from machine.workers.cluster import cluster_pool
from machine.workers.local import process_pool
from measuring.value_registry import default_value_names
from protocol.display import format_count
from protocol.errors import UsageFault
from referee.result import Result


def run(options: TournamentOptions) -> None:
    """Play a tournament, or the rest of it, and print its table. Raise `Fault` if an option is wrong or a bot fails."""
    setup = read_options(options)
    value = default_value_names(setup.rules)[0] if setup.rules.seats == 2 else None
    for bot, why in setup.failing.items():
        say(f"arena: {bot} {why}; it forfeits its matches", err=True)
    for note in () if setup.hosted is None else setup.hosted.notes:
        say(f"arena: {note}", err=True)
    with tournament_run(setup, value) as tournament:
        results = _play(tournament)
        measured_by, luck = luck_by_match(tournament.store, tournament.plan, results)
        failures = tournament.store.read(bot_failures, tournament.plan.id)
    report = Report(
        tournament.plan, results, luck, measured_by, failures, raw=options.no_luck_adjustment, entrant_list=setup.hosted
    )
    if options.to_json is not None:
        report.write(options.to_json, setup.arguments)
    report.show(options.data)


def _play(tournament: TournamentRun) -> list[Result]:
    plan, store = tournament.plan, tournament.store
    progress = tournament.progress()
    if progress.played:
        again = "" if progress.played < plan.match_count else ": another --seed or --data plays new ones"
        matches = format_count(plan.match_count, "match was", "matches were")
        say(f"arena: {progress.played} of {matches} played before{again}", err=True)
    if len(progress.results) < plan.match_count:
        _play_missing(tournament, progress)
        store.write(finish_tournament, plan.id)
    return tournament.results()


def _play_missing(tournament: TournamentRun, progress: Progress) -> None:
    """Play and store the missing matches of a tournament, with a progress bar."""
    plan = tournament.plan
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("matches"))
    bar = ProgressBar(*columns, TimeRemainingColumn(), console=tournament.console)
    # The description stays until the first match is over: bots may take half a minute to compile the first time.
    task = bar.add_task(f"{plan.rules.name}: bots get ready", total=plan.match_count, completed=progress.played)
    try:
        with bar:
            tournament.play(progress, lambda: bar.update(task, completed=progress.played, description=plan.rules.name))
    except KeyboardInterrupt:
        # Count what is stored: the signal may arrive between storing a match and noting it here.
        matches = format_count(plan.match_count, "match", "matches")
        say(f"arena: stopped after {tournament.progress().played} of {matches}; the same command continues", err=True)
        raise


class TournamentRun(NamedTuple):
    """The run of a tournament: its plan, who plays it, its store, and the console."""

    plan: Plan
    players: WorkerPlayers | RemotePlayers | RemoteRunnerPlayers
    store: Store
    console: Console

    def results(self) -> list[Result]:
        """Return the stored results of the tournament, with the bots' names in the plan."""
        return self.plan.with_plan_names(self.store.read(tournament_results, self.plan.id))

    def progress(self) -> Progress:
        """Return the progress of the tournament according to the store."""
        return Progress(self.plan, self.results(), load_pending_reports(self.store, self.plan.id))

    def play(self, progress: Progress, on_change: Callable[[], object], goal: Goal | None = None) -> None:
        """Play and store the missing matches, or as many as the goal needs. Raise `ArenaFault` if a bot cannot go on,
        and `UsageFault` if one has another name since it played: its further results would be those of another bot.

        Print the notes in the reports of matches. Then call `on_change`, whenever some were stored.
        """
        self._check_names()

        def on_stored(reports: Sequence[MatchReport]) -> None:
            for note in (note for report in reports for note in report.notes):
                self.console.print(note, soft_wrap=True)
            on_change()

        self.players.play_run(RatedLedger(self.store, progress, on_stored, goal))

    def _check_names(self) -> None:
        for planned, present in self.plan.renamed_bots(self.store.read(tournament_results, self.plan.id)).items():
            told = f"{planned} has played in this tournament, and "
            other = "another --seed or --data plays a new one"
            if present.startswith(DELETED_PREFIX):
                raise UsageFault(f"{told}was deleted since: {other}")
            back = f"`arena bot rename {present} {planned}` lets it go on"
            raise UsageFault(f"{told}is called {present} now: {back}; {other}")


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
    with ExitStack() as held:
        environment = held.enter_context(_sandbox_users(setup))
        pool = process_pool(setup.jobs) if options.dask is None else cluster_pool(options.dask)
        workers = held.enter_context(pool)
        store = held.enter_context(open_data_dir(options.data, options.db))
        if line := rehearse_game(options.game):
            say(f"arena: {line}", err=True)
        store_game(store, options.game)
        if setup.server is None or setup.hosted is not None:
            store.read(check_rules, [options.game])
        tournament, seed = store.write(open_tournament, setup.key, options.seed, setup.randomness_key)
        plan = setup.plan(tournament, seed, *store.read(tournament_randomness, tournament))
        if setup.hosted is not None:
            source = HostedSource(server_of(options), options.data, options.db)
            source.freeze(store, plan.id, setup.hosted.entrants)
            if setup.server is None:
                plan = held.enter_context(_built(setup, setup.hosted, store, plan, source))
        players: WorkerPlayers | RemotePlayers | RemoteRunnerPlayers
        if setup.server is not None and setup.hosted is not None:
            logs = plan.log_folder(options.data)
            players = RemoteRunnerPlayers(
                setup.server, plan, setup.hosted.entrants, logs, options.connect_timeout, setup.jobs, value
            )
        elif setup.server is not None:
            players = RemotePlayers(setup.server, plan, options.connect_timeout, setup.jobs, value)
        else:
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
            )
            players = WorkerPlayers(job, workers)
        yield TournamentRun(plan, players, store, Console(stderr=True))


@contextmanager
def _built(
    setup: TournamentSetup, entrant_list: EntrantList, store: Store, plan: Plan, source: HostedSource
) -> Iterator[Plan]:
    """Yield the plan with the commands of the programs of hosted bots, which are built here."""
    options = setup.options
    folder = plan.log_folder(options.data).absolute() / "programs"
    with built_plan(
        plan, entrant_list.entrants, folder, partial(source.read, store), options.memory, setup.jobs
    ) as built:
        for bot, fault in ((one.name, one.fault) for one in built.contestants if one.fault and not setup.strict):
            say(f"arena: {bot}, {fault}; it forfeits its matches", err=True)
        yield built


@contextmanager
def _sandbox_users(setup: TournamentSetup) -> Iterator[BotEnvironment]:
    """Yield the environment of the bots. If this process is root, each sandboxed bot gets a user of its own."""
    around = setup.environment
    if around.sandbox is None or os.geteuid() != 0:
        yield around
        return
    with reserved_users(len(setup.contestants)) as users:
        yield replace(around, sandbox=replace(around.sandbox, users=users))

"""A run of `arena tournament` or `arena test`: matches of a plan are played by workers, and stored as they come."""

from __future__ import annotations

import logging
import secrets
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import NamedTuple

from rich.console import Console

from arena.commands.data_dir import hold_data_dir
from arena.commands.tournament_options import TournamentSetup
from arena.processes.warmup_notice import tell_warm_ups
from arena.ratings.tournament_pairing import Pairing
from arena.store.store import Store
from arena.store.tournament_state import open_tournament, tournament_randomness
from arena.tournament.dispatch import play
from arena.tournament.job import MatchJob, MatchReport
from arena.tournament.plan import Plan
from arena.tournament.result_writer import pending_reports, save_pending_reports, store_reports
from machine.source_digest import digest_of_all
from machine.subprocesses import keep_private
from machine.workers.cluster import cluster
from machine.workers.local import WorkerPool, processes


class TournamentRun(NamedTuple):
    """Who plays under which terms, where the matches are stored, and where it is told how that goes."""

    job: MatchJob
    workers: WorkerPool
    store: Store
    console: Console

    @property
    def plan(self) -> Plan:
        """What is played."""
        return self.job.plan

    def play(
        self, matches: Sequence[Pairing], hold: Callable[[Sequence[MatchReport]], object]
    ) -> Iterator[Sequence[MatchReport]]:
        """The matches, in the order given; stop whenever you like. Raises `ArenaFault`.

        `hold` is given those that come in before their turn.
        """
        with tell_warm_ups(self.job.logs) as enough:
            for reports in play(self.job, matches, self.workers, self.pending(), hold):
                enough.set()
                yield reports

    def pending(self) -> list[MatchReport]:
        """The matches that are stored and wait for their turn to be rated."""
        return pending_reports(self.store, self.plan.id)

    def save_pending(self, reports: Sequence[MatchReport]) -> None:
        """Store matches before their turn, and tell what happened in them."""
        save_pending_reports(self.store, reports)
        self._tell(reports)

    def finish(self, reports: Sequence[MatchReport]) -> None:
        """Store and rate matches, in this order, and tell what happened in them."""
        store_reports(self.store, reports)
        self._tell(reports)

    def _tell(self, reports: Sequence[MatchReport]) -> None:
        for note in (note for report in reports for note in report.notes):
            self.console.print(note, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def tournament_run(setup: TournamentSetup, value: str | None) -> Iterator[TournamentRun]:
    """A tournament begun or gone on with; in it, SIGTERM stops this process as Ctrl-C does.

    `value` names what luck is measured by. Raises `UsageFault` and `ArenaFault`.
    """
    keep_private()
    logging.basicConfig(level=logging.WARNING, format="arena: %(message)s")
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = setup.options
    with (
        processes(setup.jobs) if options.dask is None else cluster(options.dask) as workers,
        hold_data_dir(options.data, options.db) as where,
        closing(Store.open(where)) as store,
    ):
        tournament, seed = store.write(open_tournament, setup.key, options.seed, setup.chance)
        plan = setup.plan(tournament, seed, *store.read(tournament_randomness, tournament))
        job = MatchJob(
            key=secrets.token_hex(8),
            plan=plan,
            environment=setup.environment,
            logs=plan.logs(options.data).absolute(),
            value=value,
            connect_timeout=options.connect_timeout,
            in_process=options.in_process,
            strict=setup.strict,
            sources=None if options.dask is None else digest_of_all(),
            server=setup.server,
        )
        yield TournamentRun(job, workers, store, Console(stderr=True))

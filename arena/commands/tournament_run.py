"""A sitting of `arena tournament` or `arena test`: matches of a plan are played by a crew, and stored as they come."""

from __future__ import annotations

import logging
import os
import secrets
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from typing import NamedTuple

from rich.console import Console

from arena.commands.data_dir import held
from arena.commands.tournament_options import Entry, TournamentOptions, environment, jobs, server
from arena.processes.warmup_notice import warm_ups_told
from arena.ratings.tournament_pairing import Pairing
from arena.store.store import Store
from arena.store.tournament_state import open_tournament, tournament_randomness
from arena.tournament.dispatch import play
from arena.tournament.job import MatchJob, MatchReport
from arena.tournament.plan import Plan
from arena.tournament.result_writer import held_by, hold_all, store_all
from machine.sources import digest_of_all
from machine.subprocesses import keep_private
from machine.workers.cluster import cluster
from machine.workers.local import WorkerPool, processes


class TournamentRun(NamedTuple):
    """Who plays under which terms, and where the matches are stored."""

    job: MatchJob
    crew: WorkerPool
    store: Store

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
        with warm_ups_told(self.job.logs) as enough:
            for reports in play(self.job, matches, self.crew, self.held(), hold):
                enough.set()
                yield reports

    def held(self) -> list[MatchReport]:
        """The matches that are stored and wait for their turn to be rated."""
        return held_by(self.store, self.plan.id)

    def hold(self, reports: Sequence[MatchReport], console: Console) -> None:
        """Store matches before their turn, and tell what happened in them."""
        hold_all(self.store, reports)
        self._tell(reports, console)

    def keep(self, reports: Sequence[MatchReport], console: Console) -> None:
        """Store and rate matches, in this order, and tell what happened in them."""
        store_all(self.store, reports)
        self._tell(reports, console)

    def _tell(self, reports: Sequence[MatchReport], console: Console) -> None:
        for note in (note for report in reports for note in report.notes):
            console.print(note, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def tournament_run(options: TournamentOptions, entry: Entry, value: str | None) -> Iterator[TournamentRun]:
    """A sitting as the options say, begun or gone on with; in it, SIGTERM stops this process as Ctrl-C does.

    `value` names what luck is measured by. Raises `UsageFault` and `ArenaFault`.
    """
    keep_private()
    logging.basicConfig(level=logging.WARNING, format="arena: %(message)s")
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    around = environment(options, os.environ)
    with (
        _workers(options) as crew,
        held(options.data, options.db) as where,
        closing(Store.open(where)) as store,
    ):
        tournament, seed = store.write(open_tournament, entry.key, options.seed, entry.chance)
        plan = entry.plan(tournament, seed, *store.read(tournament_randomness, tournament))
        job = MatchJob(
            key=secrets.token_hex(8),
            plan=plan,
            environment=around,
            logs=plan.logs(options.data).absolute(),
            value=value,
            connect_timeout=options.connect_timeout,
            in_process=options.in_process,
            strict=entry.strict,
            sources=None if options.dask is None else digest_of_all(),
            server=server(options),
        )
        yield TournamentRun(job, crew, store)


def _workers(options: TournamentOptions) -> AbstractContextManager[WorkerPool]:
    """Who plays: so many processes, or those of a cluster."""
    if options.dask is not None:
        return cluster(options.dask)
    return processes(jobs(options))

"""A sitting of `arena tournament` or `arena test`: matches of a plan are played by a crew, and stored as they come."""

from __future__ import annotations

import logging
import secrets
import signal
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from rich.console import Console

from arena.commands.tournament_options import Options, jobs
from arena.ratings.pairing import Pairing
from arena.store.store import Store
from arena.tournament.plan import Plan
from arena.tournament.playing import play
from arena.tournament.sandbox import Surroundings
from arena.tournament.storing import store_all
from arena.tournament.terms import MatchReport, Terms
from machine.crew.cluster import cluster
from machine.crew.workers import Crew, processes
from machine.sources import digest_of_all


class Sitting(NamedTuple):
    """Who plays under which terms, and where the matches are stored and what else happens is told."""

    terms: Terms
    crew: Crew
    store: Store
    console: Console

    def play(self, matches: Sequence[Pairing]) -> Iterator[Sequence[MatchReport]]:
        """The matches, in the order given; stop whenever you like. Raises `ArenaFault`."""
        return play(self.terms, matches, self.crew)

    def keep(self, reports: Sequence[MatchReport]) -> None:
        """Store and rate matches, in this order, and tell what happened in them."""
        store_all(self.store, reports)
        for note in (note for report in reports for note in report.notes):
            self.console.print(note, markup=False, highlight=False, soft_wrap=True)


def sitting(
    plan: Plan,
    store: Store,
    crew: Crew,
    options: Options,
    around: Surroundings,
    value: str | None,
    console: Console,
) -> Sitting:
    """A sitting as the options say; SIGTERM stops it as Ctrl-C does. `value` names what luck is measured by."""
    logging.basicConfig(level=logging.WARNING, format="arena: %(message)s")
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    terms = Terms(
        key=secrets.token_hex(8),
        plan=plan,
        surroundings=around,
        logs=plan.logs(options.data).absolute(),
        value=value,
        in_process=options.in_process,
        sources=None if options.dask is None else digest_of_all(),
    )
    return Sitting(terms, crew, store, console)


def workers(options: Options) -> AbstractContextManager[Crew]:
    """Who plays: so many processes, or those of a cluster.

    Raises `UsageFault` and `ArenaFault`.
    """
    if options.dask is not None:
        return cluster(options.dask)
    return processes(jobs(options))

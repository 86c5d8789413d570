"""Keeps the results of a run in the store, and retries while it is unavailable. Computes the luck of stored matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from arena.ratings.tournament_pairing import Pairing
from arena.runs.job import MatchReport
from arena.runs.plan import Plan
from arena.runs.run import Progress
from arena.store.database import StoreUnavailable
from arena.store.finish import finish_matches, prepare_match
from arena.store.luck_value import MatchLuck, storable_luck
from arena.store.match_luck import luck_of_tournament, save_luck
from arena.store.registry import log_incident
from arena.store.result_queries import record_of
from arena.store.store import Store
from arena.store.tournament_state import PendingResult, pending_of_tournament, save_pending
from machine.backoff import Backoff, Retry
from machine.terminal import say
from measuring.luck import luck_of
from measuring.value_function import NoLuck
from measuring.value_registry import default_value_names
from protocol.reasons import VOID
from referee.record_reader import read_record
from referee.result import Result

RETRY_DELAY_S = 2.0
"""Seconds between two attempts to reach the store."""


class Goal(Protocol):
    """A goal that may end a run before all its matches are played."""

    @property
    def is_reached(self) -> bool:
        """True if no more matches are needed."""

    def take(self, reports: Sequence[MatchReport]) -> Sequence[MatchReport]:
        """Take the next reports of the schedule, until the goal is reached. Return those that were taken."""


class RatedLedger:
    """Keeps the results of a run in a store, and rates them in schedule order. Matches that end early wait there.

    Without a `goal`, all matches are played. `on_stored` is called with the reports that were stored.
    """

    def __init__(
        self,
        store: Store,
        progress: Progress,
        on_stored: Callable[[Sequence[MatchReport]], object],
        goal: Goal | None = None,
    ) -> None:
        self._store = store
        self._progress = progress
        self._on_stored = on_stored
        self._goal = goal

    async def missing(self) -> list[Pairing]:
        """Return the matches to play next. First rate those that waited for their turn when an earlier process ended.

        Return none if there are none, or the goal is reached.
        """
        while True:
            missing = self._progress.missing()
            due, _ = self._progress.hand_in(())
            if due and not self._rate(due):
                return []
            if missing or not due:
                return missing

    async def hand_in(self, reports: Sequence[MatchReport]) -> bool:
        """Store the reports of matches that ended, and rate those whose turn has come. Return whether more are needed.

        While the store is unavailable, print that once, and retry. Raise `StoreError` if it rejects the matches.
        """
        due, early = self._progress.hand_in(reports)
        if early:
            batch = [PendingResult(one.closed, one.luck, one.failures) for one in early]
            self._keep(early, partial(self._store.write, save_pending, batch))
        return not due or self._rate(due)

    def _rate(self, due: Sequence[MatchReport]) -> bool:
        taken = due if self._goal is None else self._goal.take(due)
        batch = [prepare_match(one.closed, one.luck, one.failures) for one in taken]
        self._keep(taken, partial(self._store.write, finish_matches, batch))
        return self._goal is None or not self._goal.is_reached

    def _keep(self, reports: Sequence[MatchReport], change: Callable[[], object]) -> None:
        _retry_until_stored(change)
        for bot, incident in (noted for report in reports for noted in report.incidents):
            _retry_until_stored(partial(self._store.write, log_incident, bot, incident))
        self._on_stored(reports)


def load_pending_reports(store: Store, tournament: str) -> list[MatchReport]:
    """Return the reports of the stored matches of a tournament that are not rated yet, in the order of the schedule."""
    return [MatchReport(one.closed, one.luck, one.failures) for one in store.read(pending_of_tournament, tournament)]


def _retry_until_stored(change: Callable[[], object]) -> None:
    def tell_once(fault: StoreUnavailable, failing_s: float) -> None:
        if not failing_s:
            say(f"arena: results can't be stored now, which is tried again: {fault}", err=True)

    Retry(StoreUnavailable, Backoff(RETRY_DELAY_S), on_fault=tell_once).run_blocking(change)


def luck_by_match(store: Store, plan: Plan, results: Sequence[Result]) -> tuple[str | None, dict[str, float]]:
    """Return the name of the value function that measures luck, and the luck of seat 0 in points by match.

    The name is None for games without chance and for more than two seats. A match that is void or has no record any
    more has no luck. Stored luck by this value function is used; missing luck is computed from records and stored.
    """
    names = [name for name in default_value_names(plan.rules) if name != NoLuck.name]
    if not names:
        return None, {}
    kept = store.read(luck_of_tournament, plan.id)
    counted_in = {result.match for result in results if result.reason != VOID}
    values = Counter(luck.value for match, luck in kept.items() if match in counted_in)
    best = max(names, key=lambda name: values[name])
    value = next((name for name, times in values.items() if times == len(counted_in)), best)
    luck = {match: noted for match, noted in kept.items() if noted.value == value}
    anew = luck_of_records(store, sorted(counted_in - luck.keys()), value)
    store.write(save_luck, anew)
    return value, {match: noted.points for match, noted in (luck | anew).items()}


def luck_of_records(store: Store, match_ids: Iterable[str], value: str) -> dict[str, MatchLuck]:
    """Compute the luck of stored matches from their records, by the value function `value`.

    Matches whose records were removed are left out.
    """
    bodies = ((match, store.read(record_of, match)) for match in match_ids)
    return {
        match: storable_luck(luck_of(read_record(body, match), value)) for match, body in bodies if body is not None
    }

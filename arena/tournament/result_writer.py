"""Reports of matches into the store, while it can take them and until it can; and what luck gave in them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from arena.store.database import StoreUnavailable
from arena.store.finish import StorableMatch, finish_matches
from arena.store.match_luck import MatchLuck, luck_of_tournament, match_luck, save_luck
from arena.store.registry import note_incident
from arena.store.result_queries import record_of
from arena.store.store import Store
from arena.store.tournament_state import PendingResult, pending_of_tournament, save_pending
from arena.tournament.job import MatchReport
from arena.tournament.plan import Plan
from machine.terminal import say
from measuring.luck import luck_of
from measuring.value_function import NoLuck
from measuring.value_registry import names_in_points
from protocol.reasons import VOID
from referee.record_reader import read
from referee.result import Result

TRY_AGAIN = 2.0
"""Seconds until the store is tried again."""


def store_reports(store: Store, reports: Sequence[MatchReport]) -> None:
    """Store and rate matches, in this order, all or none of them, and what happened in them.

    While the store can do nothing that is said, once, and tried again. Raises `StoreError` for what it never takes.
    """
    batch = [StorableMatch(one.result, one.closed.record, one.luck, one.failures) for one in reports]
    _once_it_can(partial(store.write, finish_matches, batch))
    _note(store, reports)


def save_pending_reports(store: Store, reports: Sequence[MatchReport]) -> None:
    """Store matches whose turn to be rated has not come, as above."""
    _once_it_can(
        partial(store.write, save_pending, [PendingResult(one.closed, one.luck, one.failures) for one in reports])
    )
    _note(store, reports)


def pending_reports(store: Store, tournament: str) -> list[MatchReport]:
    """What was stored so of a tournament and is not rated yet, by place."""
    return [MatchReport(one.closed, one.luck, one.failures) for one in store.read(pending_of_tournament, tournament)]


def _note(store: Store, reports: Sequence[MatchReport]) -> None:
    for bot, incident in (noted for report in reports for noted in report.incidents):
        _once_it_can(partial(store.write, note_incident, bot, incident))


def _once_it_can(change: Callable[[], object]) -> None:
    told = False
    while True:
        try:
            change()
        except StoreUnavailable as fault:
            if not told:
                say(f"arena: results can't be stored now, which is tried again: {fault}", err=True)
                told = True
            time.sleep(TRY_AGAIN)
        else:
            return


def luck_by_match(store: Store, plan: Plan, results: Sequence[Result]) -> tuple[str | None, dict[str, float]]:
    """What luck is measured by, and the points that chance gave seat 0, by match; None where nothing is thrown, and
    with more than two seats. Void matches have none, nor have those whose record is gone.

    It is as it was kept. What was not, or not by the same value as the rest, comes from the records.
    """
    names = [name for name in names_in_points(plan.rules) if name != NoLuck.name]
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


def luck_of_records(store: Store, wanted: Iterable[str], value: str) -> dict[str, MatchLuck]:
    """The luck of stored matches by a value, worked out from their records; of those whose record is gone there is
    none.
    """
    bodies = ((match, store.read(record_of, match)) for match in wanted)
    return {match: match_luck(luck_of(read(body, match), value)) for match, body in bodies if body is not None}

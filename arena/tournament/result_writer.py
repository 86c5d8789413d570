"""Reports of matches into the store, while it can take them and until it can."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

from arena.store.database import StoreUnavailable
from arena.store.store import Store
from arena.tournament.job import MatchReport

TRY_AGAIN = 2.0
"""Seconds until the store is tried again."""


def store_all(store: Store, reports: Sequence[MatchReport]) -> None:
    """Store and rate matches, in this order, all or none of them, and what happened in them.

    While the store can do nothing that is said, once, and tried again. Raises `StoreFailed` for what it never takes.
    """
    _once_it_can(lambda: store.finish([report.finished() for report in reports]))
    _note(store, reports)


def hold_all(store: Store, reports: Sequence[MatchReport]) -> None:
    """Store matches whose turn to be rated has not come, as above."""
    _once_it_can(lambda: store.hold([report.awaiting() for report in reports]))
    _note(store, reports)


def held_by(store: Store, tournament: str) -> list[MatchReport]:
    """What was stored so of a tournament and is not rated yet, by place."""
    return [MatchReport(one.closed, one.luck, one.failures) for one in store.held(tournament)]


def _note(store: Store, reports: Sequence[MatchReport]) -> None:
    for bot, incident in (noted for report in reports for noted in report.incidents):
        _once_it_can(partial(store.note, bot, incident))


def _once_it_can(change: Callable[[], object]) -> None:
    told = False
    while True:
        try:
            change()
        except StoreUnavailable as fault:
            if not told:
                print(f"arena: results can't be stored now, which is tried again: {fault}", file=sys.stderr)
                told = True
            time.sleep(TRY_AGAIN)
        else:
            return

"""Reports of matches into the store, while it can take them and until it can."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from arena.store.database import StoreUnavailable
from arena.store.store import Store
from arena.tournament.terms import MatchReport

TRY_AGAIN = 2.0
"""Seconds until the store is tried again."""


def store_all(store: Store, reports: Sequence[MatchReport]) -> None:
    """Store and rate matches, in this order, all or none of them, and what happened in them.

    While the store can do nothing that is said, once, and tried again. Raises `StoreFailed` for what it never takes.
    """
    told = False
    while True:
        try:
            store.finish([report.finished() for report in reports])
            for bot, incident in (noted for report in reports for noted in report.incidents):
                store.note(bot, incident)
        except StoreUnavailable as fault:
            if not told:
                print(f"arena: results can't be stored now, which is tried again: {fault}", file=sys.stderr)
                told = True
            time.sleep(TRY_AGAIN)
        else:
            return

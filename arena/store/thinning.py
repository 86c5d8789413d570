"""Removing records of old matches, to limit the size of the database. Results, ratings, luck and counts stay, and so do
records of tournaments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct
from sqlalchemy import Connection

from arena.store.archive_file import batches
from arena.store.dialect import execute
from arena.store.match_numbers import IN_NUMBERS_SQL, numbers_parameter
from arena.store.retention_clock import days_before_now
from arena.store.store import Store
from machine.units import MIB
from protocol.names import fold_name

MAX_RECORDS_PER_TRANSACTION, MAX_BYTES_PER_TRANSACTION = 64, MIB
"""The limits on the records that one transaction removes, so that it takes about 10 ms: `MAX_RECORDS_PER_TRANSACTION`
on their number and `MAX_BYTES_PER_TRANSACTION` on their total size. A single record may be larger.
"""
Count = Annotated[int, Meta(ge=0)]

# An annulled match counts as rated, because annulling can be undone. The index matches_by_record agrees.
_RATED_OR_UNRATED_ROWS_SQL = """FROM matches WHERE record_bytes IS NOT NULL AND tournament IS NULL
    AND (coalesce(pool, annulled) IS NULL) = :unrated"""
"""The part of a query that selects the matches whose records may be removed: the unrated ones if :unrated is true,
otherwise the rated ones.
"""
_SUM_RECORD_BYTES = f"SELECT coalesce(sum(record_bytes), 0) {_RATED_OR_UNRATED_ROWS_SQL}"
_NEWEST_BEYOND_LIMIT = f"""SELECT max(finished) FROM (
        SELECT finished, sum(record_bytes) OVER (ORDER BY finished DESC) AS held {_RATED_OR_UNRATED_ROWS_SQL}
    ) AS summed WHERE held > :most"""
"""The query for the end time of the newest match whose record no longer fits in :most bytes. The sizes of records are
summed from the newest match on.
"""
_OLDEST_RECORDS = (
    f"SELECT number, record_bytes {_RATED_OR_UNRATED_ROWS_SQL} AND finished <= :until ORDER BY finished LIMIT :most"
)
_COUNT_OLD_RECORDS = (
    f"SELECT count(*) AS records, coalesce(sum(record_bytes), 0) AS bytes {_RATED_OR_UNRATED_ROWS_SQL} AND "
    "finished <= :until"
)
_RECORDS_OF_BOT = """SELECT DISTINCT number, coalesce(record_bytes, 0) AS record_bytes
    FROM seats JOIN matches ON number = match
    WHERE bot = (SELECT id FROM bots WHERE key = :key) AND match > :after
        AND (record_bytes IS NOT NULL OR archive IS NOT NULL)
    ORDER BY number LIMIT :most"""
_REMOVE_STATEMENTS = (
    f"DELETE FROM records WHERE match {IN_NUMBERS_SQL}",
    f"UPDATE matches SET record_bytes = NULL, archive = NULL WHERE number {IN_NUMBERS_SQL}",
)


class Retention(Struct, frozen=True, kw_only=True):
    """The limits on stored records: the days for which records of unrated and of rated matches are kept (0: for ever),
    and the total size of the unrated ones (0: unlimited).
    """

    unrated_days: Count = 30
    rated_days: Count = 0
    max_unrated_mib: Count = 10 * 1024


class RemovalCutoffs(NamedTuple):
    """The cutoff times for removing records, one for `unrated` and one for `rated` matches. A match that ended at its
    cutoff time or before loses its record.
    """

    unrated: str
    rated: str


class RemovalTotals(Struct, frozen=True, kw_only=True):
    """The number of removed records, and their bytes in the database."""

    records: int = 0
    bytes: int = 0

    def __add__(self, other: RemovalTotals) -> RemovalTotals:
        return RemovalTotals(records=self.records + other.records, bytes=self.bytes + other.bytes)


def find_removable(connection: Connection, retention: Retention, *, clock_steady: bool = True) -> RemovalCutoffs:
    """Return the cutoffs for the records to remove now, by the database's clock. Unless `clock_steady`, no record
    counts as too old. If the unrated records exceed their size limit, this reads the sizes of all of them.
    """
    unrated = _cutoff(connection, retention.unrated_days if clock_steady else 0)
    most = retention.max_unrated_mib * MIB
    if most and execute(connection, _SUM_RECORD_BYTES, {"unrated": True}).scalar_one() > most:
        unrated = max(unrated, execute(connection, _NEWEST_BEYOND_LIMIT, {"unrated": True, "most": most}).scalar_one())
    return RemovalCutoffs(unrated, _cutoff(connection, retention.rated_days if clock_steady else 0))


def _cutoff(connection: Connection, days: int) -> str:
    """Return the time `days` ago; for 0 days (keep for ever), the empty text, which sorts before every time."""
    return days_before_now(connection, days) if days else ""


def count_removable(connection: Connection, cutoffs: RemovalCutoffs) -> RemovalTotals:
    """Count the records of matches that ended by these cutoffs, and their bytes."""
    found = RemovalTotals()
    for unrated, until in ((True, cutoffs.unrated), (False, cutoffs.rated)):
        row = execute(connection, _COUNT_OLD_RECORDS, {"unrated": unrated, "until": until}).one()
        found += RemovalTotals(records=row.records, bytes=int(row.bytes))
    return found


def remove_all(store: Store, remove: Callable[..., RemovalTotals], *words: object) -> RemovalTotals:
    """Call `remove`, which removes a batch of records, until none are left. Use it only if no other client waits for
    the database.
    """
    removed = RemovalTotals()
    while (batch := store.write(remove, *words)).records:
        removed += batch
    return removed


def remove_records(connection: Connection, cutoffs: RemovalCutoffs) -> RemovalTotals:
    """Remove a batch of records of matches that ended by the `cutoffs`. Unrated matches come first, then rated ones,
    each in the order of their end times. Return the number of removed records and their bytes; both are 0 if none are
    left.
    """
    for unrated, until in ((True, cutoffs.unrated), (False, cutoffs.rated)):
        asked = {"unrated": unrated, "until": until, "most": MAX_RECORDS_PER_TRANSACTION}
        removed = _remove_first(connection, execute(connection, _OLDEST_RECORDS, asked).all())
        if removed.records:
            break
    return removed


class RecordsOfBot:
    """The removal of the records of all of a bot's matches, oldest first, including tournament matches. For a record in
    an archive file, only the reference is removed; `purge_removed_records` then removes it from the file.
    """

    def __init__(self, bot: str) -> None:
        self._key = fold_name(bot)
        self._after = 0
        """The number of the last match whose record was removed. The next batch begins after it."""

    def remove(self, connection: Connection) -> RemovalTotals:
        """Remove a batch of the bot's records. Return totals of 0 if none are left."""
        asked = {"key": self._key, "after": self._after, "most": MAX_RECORDS_PER_TRANSACTION}
        found = execute(connection, _RECORDS_OF_BOT, asked).all()
        removed = _remove_first(connection, found)
        if found:
            self._after = found[removed.records - 1].number
        return removed


def _remove_first(connection: Connection, found: Sequence[Any]) -> RemovalTotals:
    """Remove the first of the `found` records, as many as fit in one transaction."""
    first = next(batches(found, lambda row: row.record_bytes, MAX_BYTES_PER_TRANSACTION, len(found)), [])
    if first:
        remove_records_of(connection, [row.number for row in first])
    return RemovalTotals(records=len(first), bytes=sum(row.record_bytes for row in first))


def remove_records_of(connection: Connection, numbers: list[int]) -> None:
    """Remove the records of these matches, or the references to archived records, from the database."""
    for statement in _REMOVE_STATEMENTS:
        execute(connection, statement, numbers_parameter(numbers))


def count_removed(connection: Connection) -> int:
    """Return the number of matches whose record was removed."""
    return int(
        execute(connection, "SELECT count(*) FROM matches WHERE record_bytes IS NULL AND archive IS NULL").scalar_one()
    )

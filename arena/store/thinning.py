"""Retention: removing records of old matches to bound the database's size. Results, ratings, luck and counts stay, and
so do records of tournaments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct
from sqlalchemy import Connection

from arena.store.dialect import execute
from arena.store.match_numbers import AMONG, among
from arena.store.retention_clock import days_before_now
from arena.store.store import Store
from protocol.names import folded

MIB = 1024 * 1024
MOST_AT_ONCE, MOST_BYTES_AT_ONCE = 64, MIB
"""Maximum records and bytes per transaction, about 10 ms. A single record may be larger."""
Count = Annotated[int, Meta(ge=0)]

# As in the index matches_by_record: an annulled match counts as rated, since annulling can be undone.
_OF_A_KIND = """FROM matches WHERE record_bytes IS NOT NULL AND tournament IS NULL
    AND (coalesce(pool, annulled) IS NULL) = :unrated"""
_HELD = f"SELECT coalesce(sum(record_bytes), 0) {_OF_A_KIND}"
_TOO_MANY = f"""SELECT max(finished) FROM (
        SELECT finished, sum(record_bytes) OVER (ORDER BY finished DESC) AS held {_OF_A_KIND}
    ) AS summed WHERE held > :most"""
_OLDEST = f"SELECT number, record_bytes {_OF_A_KIND} AND finished <= :until ORDER BY finished LIMIT :most"
_COUNT = f"SELECT count(*) AS records, coalesce(sum(record_bytes), 0) AS bytes {_OF_A_KIND} AND finished <= :until"
_OF_A_BOT = """SELECT DISTINCT number, coalesce(record_bytes, 0) AS record_bytes
    FROM seats JOIN matches ON number = match
    WHERE bot = (SELECT id FROM bots WHERE key = :key) AND match > :after
        AND (record_bytes IS NOT NULL OR archive IS NOT NULL)
    ORDER BY number LIMIT :most"""
_REMOVE = (
    f"DELETE FROM records WHERE match {AMONG}",
    f"UPDATE matches SET record_bytes = NULL, archive = NULL WHERE number {AMONG}",
)


class Retention(Struct, frozen=True, kw_only=True):
    """Limits on how long records are kept, in days (0: for ever), and on the total size of unrated ones (0: none)."""

    unrated_days: Count = 30
    rated_days: Count = 0
    max_unrated_mib: Count = 10 * 1024


class Removable(NamedTuple):
    """Records to be removed: those of matches that ended at these times or before."""

    unrated: str
    rated: str


class Removed(Struct, frozen=True, kw_only=True):
    """Totals of removed records."""

    records: int = 0
    bytes: int = 0

    def __add__(self, more: Removed) -> Removed:
        return Removed(records=self.records + more.records, bytes=self.bytes + more.bytes)


def find_removable(connection: Connection, keep: Retention, *, clock_steady: bool = True) -> Removable:
    """Return which records to remove now by the database's clock. No record is too old unless `clock_steady`. If
    unrated records exceed their size limit, this scans all of them.
    """
    unrated = _ended_before(connection, keep.unrated_days if clock_steady else 0)
    most = keep.max_unrated_mib * MIB
    if most and execute(connection, _HELD, {"unrated": True}).scalar_one() > most:
        unrated = max(unrated, execute(connection, _TOO_MANY, {"unrated": True, "most": most}).scalar_one())
    return Removable(unrated, _ended_before(connection, keep.rated_days if clock_steady else 0))


def _ended_before(connection: Connection, days: int) -> str:
    """Return the time `days` ago; for 0, the empty string, which sorts before every time."""
    return days_before_now(connection, days) if days else ""


def count_removable(connection: Connection, old: Removable) -> Removed:
    """Count the records that would be removed."""
    found = Removed()
    for unrated, until in ((True, old.unrated), (False, old.rated)):
        row = execute(connection, _COUNT, {"unrated": unrated, "until": until}).one()
        found += Removed(records=row.records, bytes=int(row.bytes))
    return found


def remove_all(store: Store, remove: Callable[..., Removed], *words: object) -> Removed:
    """Call `remove` in batches until nothing is left. Use it where no other client waits for the database."""
    removed = Removed()
    while (batch := store.write(remove, *words)).records:
        removed += batch
    return removed


def remove_records(connection: Connection, old: Removable) -> Removed:
    """Remove a batch of these records, oldest first and unrated first. The totals are 0 if none are left."""
    for unrated, until in ((True, old.unrated), (False, old.rated)):
        asked = {"unrated": unrated, "until": until, "most": MOST_AT_ONCE}
        removed = _remove_first(connection, execute(connection, _OLDEST, asked).all())
        if removed.records:
            break
    return removed


class RecordsOfBot:
    """Removes the records of a bot's matches, tournaments included, oldest first. Records in archive files only lose
    their references; `leave_out_removed` then purges the files.
    """

    def __init__(self, bot: str) -> None:
        self._key = folded(bot)
        self._after = 0
        """The last match already handled, so that later batches skip everything before it."""

    def remove(self, connection: Connection) -> Removed:
        """Remove a batch of records. The totals are 0 if none are left."""
        asked = {"key": self._key, "after": self._after, "most": MOST_AT_ONCE}
        found = execute(connection, _OF_A_BOT, asked).all()
        removed = _remove_first(connection, found)
        if found:
            self._after = found[removed.records - 1].number
        return removed


def _remove_first(connection: Connection, found: Sequence[Any]) -> Removed:
    """Remove the first of these records, as many as one transaction may."""
    numbers: list[int] = []
    size = 0
    for row in found:
        if numbers and size + row.record_bytes > MOST_BYTES_AT_ONCE:
            break
        numbers.append(row.number)
        size += row.record_bytes
    if numbers:
        remove_records_of(connection, numbers)
    return Removed(records=len(numbers), bytes=size)


def remove_records_of(connection: Connection, numbers: list[int]) -> None:
    """Remove the records of these matches from the database, and the references to archived ones."""
    for statement in _REMOVE:
        execute(connection, statement, among(numbers))


def count_removed(connection: Connection) -> int:
    """Return the number of matches whose record was removed."""
    return int(
        execute(connection, "SELECT count(*) FROM matches WHERE record_bytes IS NULL AND archive IS NULL").scalar_one()
    )

"""Records of old matches are removed, so that a database does not grow for ever. Results, ratings, luck and counts
stay, and so do records of tournaments.
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
"""Records that go in one transaction, some 10 ms; one goes however large it is."""
Count = Annotated[int, Meta(ge=0)]

# As the index matches_by_record has it: an annulled match counts as rated, for that can be taken back.
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
    """For how many days records of matches are kept, 0: for ever; and what all of unrated ones have at most, 0:
    any size.
    """

    unrated_days: Count = 30
    rated_days: Count = 0
    max_unrated_mib: Count = 10 * 1024


class Removable(NamedTuple):
    """When the matches ended whose records are to be removed: then or before."""

    unrated: str
    rated: str


class Removed(Struct, frozen=True, kw_only=True):
    """How many records were removed, and what they had."""

    records: int = 0
    bytes: int = 0

    def __add__(self, more: Removed) -> Removed:
        return Removed(records=self.records + more.records, bytes=self.bytes + more.bytes)


def find_removable(connection: Connection, keep: Retention, *, clock_steady: bool = True) -> Removable:
    """Return what is to be removed now, by the database's clock; nothing for its age where that is not `clock_steady`.

    It looks at all unrated matches that have a record, if these have too much.
    """
    unrated = _ended_before(connection, keep.unrated_days if clock_steady else 0)
    most = keep.max_unrated_mib * MIB
    if most and execute(connection, _HELD, {"unrated": True}).scalar_one() > most:
        unrated = max(unrated, execute(connection, _TOO_MANY, {"unrated": True, "most": most}).scalar_one())
    return Removable(unrated, _ended_before(connection, keep.rated_days if clock_steady else 0))


def _ended_before(connection: Connection, days: int) -> str:
    """Return when matches ended that are older than so many days; before all of them where that is 0."""
    return days_before_now(connection, days) if days else ""


def count_removable(connection: Connection, old: Removable) -> Removed:
    """How much would be removed."""
    found = Removed()
    for unrated, until in ((True, old.unrated), (False, old.rated)):
        row = execute(connection, _COUNT, {"unrated": unrated, "until": until}).one()
        found += Removed(records=row.records, bytes=int(row.bytes))
    return found


def remove_all(store: Store, remove: Callable[..., Removed], *words: object) -> Removed:
    """Remove some records after others, as `remove` does, until none is left, where nobody waits for the database."""
    removed = Removed()
    while (batch := store.write(remove, *words)).records:
        removed += batch
    return removed


def remove_records(connection: Connection, old: Removable) -> Removed:
    """Remove the oldest of these records, those of unrated matches first; nothing when none is left."""
    for unrated, until in ((True, old.unrated), (False, old.rated)):
        asked = {"unrated": unrated, "until": until, "most": MOST_AT_ONCE}
        removed = _remove_first(connection, execute(connection, _OLDEST, asked).all())
        if removed.records:
            break
    return removed


class RecordsOfBot:
    """The records of a bot's matches, be they of tournaments, to be removed from the oldest on. Of those in files no
    match knows any more then; they are there until `leave_out_removed`.
    """

    def __init__(self, bot: str) -> None:
        self._key = folded(bot)
        self._after = 0
        """The match up to which there are none any more: not to be passed anew each time."""

    def remove(self, connection: Connection) -> Removed:
        """Remove some; nothing when none is left."""
        asked = {"key": self._key, "after": self._after, "most": MOST_AT_ONCE}
        found = execute(connection, _OF_A_BOT, asked).all()
        removed = _remove_first(connection, found)
        if found:
            self._after = found[removed.records - 1].number
        return removed


def _remove_first(connection: Connection, found: Sequence[Any]) -> Removed:
    """Remove the first of these records, as many as may go in one transaction."""
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
    """Remove the records of these matches, and note that."""
    for statement in _REMOVE:
        execute(connection, statement, among(numbers))


def count_removed(connection: Connection) -> int:
    """How many matches have no record any more."""
    return int(
        execute(connection, "SELECT count(*) FROM matches WHERE record_bytes IS NULL AND archive IS NULL").scalar_one()
    )

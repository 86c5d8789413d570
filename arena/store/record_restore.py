"""Records put back that were removed or are damaged: which are, what would be wrong with another, and that stored."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, bindparam, select, update

from arena.store.dialect import execute
from arena.store.integrity_check import RecordCheck, as_recorded
from arena.store.result_queries import record_of, result_with_seats
from arena.store.schema import matches

_NUMBER = select(matches.c.number).where(matches.c.id == bindparam("id"))
_REPLACE = """INSERT INTO records (match, data) VALUES (:match, :data)
ON CONFLICT (match) DO UPDATE SET data = excluded.data"""


def restore_records(connection: Connection, bodies: Mapping[str, bytes]) -> None:
    """Store these records (gzip) by the ids of their matches, which are all there, in place of what is kept."""
    for match, body in bodies.items():
        number = connection.execute(_NUMBER, {"id": match}).scalar_one()
        execute(connection, _REPLACE, {"match": number, "data": body})
        connection.execute(
            update(matches).where(matches.c.number == number).values(record_bytes=len(body), archive=None)
        )


def is_broken(connection: Connection, match: str, look: RecordCheck) -> bool:
    """Whether a match has no record, or one that is not true by `look`."""
    try:
        body = record_of(connection, match)
        return body is None or find_complaint(connection, match, body, look) is not None
    except Exception:  # removed, or what is there can't even be read, in any way that there is
        return True


def find_complaint(connection: Connection, match: str, body: bytes, look: RecordCheck) -> str | None:
    """What `look` first finds wrong with a record beside the result of its match, which is there; None if nothing."""
    stored = result_with_seats(connection, match)
    assert stored is not None  # matches are never removed
    return next(iter(look(*as_recorded(*stored), None, body)), None)

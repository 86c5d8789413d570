"""Restoring match records that were removed or damaged, after checking them."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from arena.store.dialect import execute
from arena.store.integrity_check import RecordCheck, as_recorded
from arena.store.result_queries import record_of, result_with_seats

_REPLACE_RECORD_SQL = """INSERT INTO records (match, data)
VALUES ((SELECT number FROM matches WHERE id = :match), :data)
ON CONFLICT (match) DO UPDATE SET data = excluded.data"""


def restore_records(connection: Connection, bodies: Mapping[str, bytes]) -> None:
    """Store records (gzip) by match id, in place of existing ones. All these matches must be in the database."""
    for match, body in bodies.items():
        words = {"match": match, "data": body, "bytes": len(body)}
        execute(connection, _REPLACE_RECORD_SQL, words)
        execute(connection, "UPDATE matches SET record_bytes = :bytes, archive = NULL WHERE id = :match", words)


def is_record_broken(connection: Connection, match: str, check_record: RecordCheck) -> bool:
    """Return whether a match's record is missing, or is wrong according to `check_record`."""
    try:
        body = record_of(connection, match)
        return body is None or find_complaint(connection, match, body, check_record) is not None
    except Exception:  # removed, or too damaged to be read
        return True


def find_complaint(connection: Connection, match: str, body: bytes, check_record: RecordCheck) -> str | None:
    """Return the first problem that `check_record` finds with `body` as the record of a match; None without one."""
    stored = result_with_seats(connection, match)
    assert stored is not None  # matches are never deleted
    return next(iter(check_record(*as_recorded(*stored), None, body)), None)

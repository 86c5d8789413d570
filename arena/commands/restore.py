"""`arena match restore`: restores removed or damaged records from a backup."""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from arena.commands.db import check_match
from arena.store.database import DatabaseNotFound, UnrecognizedDatabase
from arena.store.record_restore import find_complaint, is_record_broken, restore_records
from arena.store.result_queries import RecordRemoved, record_of, result_with_seats
from arena.store.store import Reader, Store
from machine.terminal import say
from protocol.display import format_count, list_first
from protocol.errors import ArenaFault, BadRecord, UsageFault


def restore(where: str, ids: Sequence[str], backup: Path) -> None:
    """Restore the records of these matches from a backup, all or none. A server may be running.

    Leave a record alone if it agrees with the match's result in the database. Raise `UsageFault` if a match is not in
    both databases, and `BadRecord` if the backup's record does not verify or does not belong to the result.
    """
    wanted = list(dict.fromkeys(ids))
    if not os.path.isfile(backup):
        raise UsageFault(f"there is no file {str(backup)!r}: name a copy that `arena db backup` made")
    with (
        closing(Store.open(where, create=False, checkpoint=False)) as store,
        closing(_open_backup(backup)) as copy,
    ):
        if missing := [match for match in wanted if store.read(result_with_seats, match) is None]:
            raise UsageFault(
                f"not in {store.database}: {list_first(missing)}; a record is put back beside its result "
                "alone: for a match "
                "that is missing restore the whole backup"
            )
        broken = [match for match in wanted if store.read(is_record_broken, match, check_match)]
        bodies = {match: _read_backup_record(store, copy, match) for match in broken}
        if bodies:
            store.write(restore_records, bodies)
    if bodies:
        say(f"{format_count(len(bodies), 'record', 'records')} restored, verified: {list_first(bodies)}")
    if whole := [match for match in wanted if match not in bodies]:
        say(f"nothing to restore, the record is there and verifies: {list_first(whole)}")


def _open_backup(backup: Path) -> Reader:
    try:
        return Reader.open(backup)
    except (DatabaseNotFound, UnrecognizedDatabase) as fault:
        raise UsageFault(f"{backup} has no database of an arena: name a copy that `arena db backup` made") from fault


def _read_backup_record(store: Store, backup_reader: Reader, match: str) -> bytes:
    """Return a match's record from the backup, checked against the result in the store."""
    try:
        body = backup_reader.read(record_of, match)
    except RecordRemoved as exc:
        raise ArenaFault(
            f"{backup_reader.database} has no record of match {match} either, it was removed: try an older one"
        ) from exc
    if body is None:
        raise UsageFault(f"there is no match {match!r} with a record in {backup_reader.database}: try another backup")
    if complaint := store.read(find_complaint, match, body, check_match):
        raise BadRecord(
            f"the record of match {match} in {backup_reader.database} is not that of its result: {complaint}"
        )
    return body

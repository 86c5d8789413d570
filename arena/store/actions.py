"""The audit log: what operators did. An entry has the action, its author, its time, and the bots or matches concerned.
If the action failed, the entry says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Row

from arena.store.dialect import execute, insert_into
from arena.store.paging import Page, read_page
from arena.store.rows import read_row
from machine.timestamps import utc_now
from protocol.names import fold_name

MAX_CONCERNED_NAMES = 200
"""The maximum number of names stored with an action. Further names are only counted."""
MAX_FAULT_CHARACTERS = 500
"""The maximum length in characters of the stored reason why an action failed."""
_ACTIONS_PAGE = """
SELECT *, (SELECT count(*) FROM actions) AS total FROM actions WHERE :start OR id < :id ORDER BY id DESC LIMIT :limit
"""


class AuditEntry(Struct, frozen=True, kw_only=True):
    """An entry of the audit log. `do` is an action, or says that an action was undone. `concerns` has names of bots or
    matches, and `more` counts further names, which were not stored. `fault` says why the action failed.
    """

    at: str
    by: str
    do: str
    concerns: list[str]
    more: int
    fault: str | None


def log_action(connection: Connection, by: str, do: str, concerns: Sequence[str]) -> int:
    """Add an action that happens now to the audit log, and return the number of its entry."""
    row = {
        "at": utc_now(),
        "by": by,
        "do": do,
        "concerns": msgspec.json.encode(concerns[:MAX_CONCERNED_NAMES]).decode(),
        "more": max(0, len(concerns) - MAX_CONCERNED_NAMES),
    }
    return int(execute(connection, f"{insert_into('actions', list(row))} RETURNING id", row).scalar_one())


def log_failure(connection: Connection, action: int, fault: str) -> None:
    """Store the reason why a logged action failed."""
    words = {"action": action, "fault": fault[:MAX_FAULT_CHARACTERS]}
    execute(connection, "UPDATE actions SET fault = :fault WHERE id = :action", words)


def actions_page(connection: Connection, *, after: str | None = None, limit: int = 50) -> Page[AuditEntry]:
    """Return a page of the audit log, newest first."""
    return read_page(connection, _ACTIONS_PAGE, {}, {"id": int}, _action, after=after, limit=limit)


def rename_in_actions(connection: Connection, old: str, new: str) -> None:
    """Rename a bot in the audit log. Delete the reasons of its failed actions, which may contain the old name."""
    key = fold_name(old)
    for row in execute(connection, "SELECT id, concerns FROM actions").all():
        names = msgspec.json.decode(row.concerns, type=list[str])
        if any(fold_name(one) == key for one in names):
            now = [new if fold_name(one) == key else one for one in names]
            words = {"action": row.id, "concerns": msgspec.json.encode(now).decode()}
            execute(connection, "UPDATE actions SET concerns = :concerns, fault = NULL WHERE id = :action", words)


def _action(row: Row[Any]) -> AuditEntry:
    return read_row(AuditEntry, row, concerns=msgspec.json.decode(row.concerns, type=list[str]))

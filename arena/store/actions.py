"""The audit log: each operator action with its author, time, the bots or matches concerned, and any failure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Row, insert, select, update

from arena.store.paging import Page, read_page
from arena.store.schema import actions
from machine.timestamps import utc
from protocol.names import folded

MOST_CONCERNED = 200
"""An action stores at most this many names; it only counts the rest."""
MAX_FAULT_TEXT = 500
"""Maximum characters of a stored failure text."""
_PAGE = """
SELECT *, (SELECT count(*) FROM actions) AS total FROM actions WHERE :start OR id < :id ORDER BY id DESC LIMIT :limit
"""


class Action(Struct, frozen=True, kw_only=True):
    """An entry of the audit log. `do` is the request or its undoing, `concerns` are names of bots or matches, `more`
    counts the names that were not stored, and `fault` says why the action failed.
    """

    at: str
    by: str
    do: str
    concerns: list[str]
    more: int
    fault: str | None


def note_action(connection: Connection, by: str, do: str, concerns: Sequence[str]) -> int:
    """Log an action that happens now, and return its number."""
    row = {
        "at": utc(),
        "by": by,
        "do": do,
        "concerns": msgspec.json.encode(concerns[:MOST_CONCERNED]).decode(),
        "more": max(0, len(concerns) - MOST_CONCERNED),
    }
    number: int = connection.execute(insert(actions).values(row).returning(actions.c.id)).scalar_one()
    return number


def note_fault(connection: Connection, number: int, fault: str) -> None:
    """Add to a logged action the reason why it failed."""
    connection.execute(update(actions).where(actions.c.id == number).values(fault=fault[:MAX_FAULT_TEXT]))


def actions_page(connection: Connection, *, after: str | None = None, limit: int = 50) -> Page[Action]:
    """Return a page of the audit log, newest first."""
    return read_page(connection, _PAGE, {}, {"id": int}, _action, after=after, limit=limit)


def rename_in_actions(connection: Connection, name: str, new: str) -> None:
    """Rename a bot in all logged actions. Drop the failure texts of these, which may contain the old name."""
    key = folded(name)
    for row in connection.execute(select(actions.c.id, actions.c.concerns)).all():
        names = msgspec.json.decode(row.concerns, type=list[str])
        if any(folded(one) == key for one in names):
            now = [new if folded(one) == key else one for one in names]
            values = {"concerns": msgspec.json.encode(now).decode(), "fault": None}
            connection.execute(update(actions).where(actions.c.id == row.id).values(values))


def _action(row: Row[Any]) -> Action:
    concerns = msgspec.json.decode(row.concerns, type=list[str])
    return Action(at=row.at, by=row.by, do=row.do, concerns=concerns, more=row.more, fault=row.fault)

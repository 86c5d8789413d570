"""The log of what the operator did: who, what, of which bots or matches, when, and what kept it from being done."""

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
"""Names that are kept of an action; of the rest, how many there were."""
MAX_FAULT_TEXT = 500
"""Characters."""
_PAGE = """
SELECT *, (SELECT count(*) FROM actions) AS total FROM actions WHERE :start OR id < :id ORDER BY id DESC LIMIT :limit
"""


class Action(Struct, frozen=True, kw_only=True):
    """What was done `by` somebody: `do` is the request, or what undoes it, `concerns` what it is about, and `more` how
    many names of that are not kept. `fault` says why it was not done.
    """

    at: str
    by: str
    do: str
    concerns: list[str]
    more: int
    fault: str | None


def note_action(connection: Connection, by: str, do: str, concerns: Sequence[str]) -> int:
    """Keep that something is done now; its number."""
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
    """Keep why an action was not done after all."""
    connection.execute(update(actions).where(actions.c.id == number).values(fault=fault[:MAX_FAULT_TEXT]))


def actions_page(connection: Connection, *, after: str | None = None, limit: int = 50) -> Page[Action]:
    """A page of them, the newest first."""
    return read_page(connection, _PAGE, {}, {"id": int}, _action, after=after, limit=limit)


def rename_in_actions(connection: Connection, name: str, new: str) -> None:
    """Call a bot as it is called now, in every action that it is about; their faults, which may name it, go."""
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

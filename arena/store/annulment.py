"""Matches annulled, and taken back: they stay, marked, and count for no rating; those after them are rated anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, select

from arena.store import rating_rebuild
from arena.store.registry import bot_number
from arena.store.result_queries import MOST_ASKED_AT_ONCE
from arena.store.schema import matches, seats
from protocol.display import few
from protocol.errors import UsageFault

_COLUMNS = (matches.c.number, matches.c.id, matches.c.pool, matches.c.annulled)
_ANNUL = (
    "UPDATE matches SET annulled = pool, pool = NULL WHERE number = :at",
    "UPDATE seats SET mu_before = NULL, sigma_before = NULL, mu_after = NULL, sigma_after = NULL WHERE match = :at",
)
_UNDO = ("UPDATE matches SET pool = annulled, annulled = NULL WHERE number = :at",)


class Annulment(Struct, frozen=True, kw_only=True):
    """What came of it: how many matches changed, and the pools in which they are, or were, rated."""

    matches: int
    pools: list[str] = []


def annul_matches(
    connection: Connection,
    ids: Sequence[str] = (),
    bot: str | None = None,
    since: str | None = None,
    *,
    undo: bool = False,
) -> Annulment:
    """Annul these matches and those of a bot (that ended `since` then), as far as they are rated; or `undo` that.

    Raises `UsageFault` for a match or a bot that there is none of, and a match that was never rated.
    """
    found = [*_named(connection, ids), *([] if bot is None else _of_bot(connection, bot, since))]
    changed = {row.number: row for row in found if (row.pool is None if undo else row.pool is not None)}
    if not changed:
        return Annulment(matches=0)
    for statement in _UNDO if undo else _ANNUL:
        connection.exec_driver_sql(statement, [{"at": number} for number in changed])
    pools = sorted({row.pool or row.annulled for row in changed.values()})
    rating_rebuild.rerate_from(connection, min(changed), pools)
    return Annulment(matches=len(changed), pools=pools)


def annulled_pool(connection: Connection, match: str) -> str | None:
    """The pool in which a match was rated, until that was annulled; None for any other."""
    return connection.execute(select(matches.c.annulled).where(matches.c.id == match)).scalar()


def _named(connection: Connection, ids: Sequence[str]) -> list[Any]:
    found: list[Any] = []
    for at in range(0, len(ids), MOST_ASKED_AT_ONCE):
        found += connection.execute(select(*_COLUMNS).where(matches.c.id.in_(ids[at : at + MOST_ASKED_AT_ONCE])))
    known = {row.id for row in found}
    if unknown := [match for match in ids if match not in known]:
        raise UsageFault(f"there is no match {few(map(repr, unknown))}: `arena matches` lists those there are")
    if unrated := [row.id for row in found if row.pool is None and row.annulled is None]:
        raise UsageFault(f"not rated, so there is nothing to annul: {few(unrated)}")
    return found


def _of_bot(connection: Connection, name: str, since: str | None) -> list[Any]:
    bot = bot_number(connection, name)
    if bot is None:
        raise UsageFault(f"there is no bot called {name}: `arena bot list` names them")
    sat = select(seats.c.match).where(seats.c.bot == bot)
    query = select(*_COLUMNS).where(matches.c.number.in_(sat), matches.c.finished >= (since or ""))
    return [row for row in connection.execute(query) if row.pool is not None or row.annulled is not None]

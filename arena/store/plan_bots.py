"""Keeps planned tournaments in step with their bots, which are renamed and deleted: results are stored by name."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection

from arena.store.dialect import execute
from protocol.names import fold_name

_SELECT_PLAYED = """SELECT planned_tournaments.title FROM planned_tournaments
JOIN entrants ON entrants.tournament = planned_tournaments.tournament
WHERE state = 'playing' AND entrants.bot = :bot ORDER BY planned_tournaments.id LIMIT 1"""
"""The query for the title of a planned tournament that is played and has a bot."""
_FAIL_PLAYED = """UPDATE planned_tournaments SET state = 'failed', note = :note
WHERE state = 'playing' AND tournament IN (SELECT tournament FROM entrants WHERE bot = :bot)"""
"""The statement that ends the planned tournaments that are played and have a bot."""


def find_played_plan(connection: Connection, bot: int | None) -> str | None:
    """Return the title of a planned tournament that is played, and that the bot with this row id entered; None if there
    is none.
    """
    title: str | None = execute(connection, _SELECT_PLAYED, {"bot": bot}).scalar()
    return title


def fail_plans_of_bot(connection: Connection, bot: int | None, placeholder: str) -> None:
    """End the planned tournaments that are played, and that the bot with this row id entered, as it is being deleted.
    `placeholder` is its new name.
    """
    note = f"{placeholder}: its program is gone, as the bot was deleted"
    execute(connection, _FAIL_PLAYED, {"bot": bot, "note": note})


def rename_in_plans(connection: Connection, old: str, new: str) -> None:
    """Let planned tournaments that have not begun name a bot as it is called from now on."""
    for row in execute(connection, "SELECT id, terms FROM planned_tournaments WHERE state = 'waiting'").all():
        terms = msgspec.json.decode(row.terms)
        bots = [new if fold_name(bot) == fold_name(old) else bot for bot in terms["bots"]]
        online = terms["online_bots"]
        if online is not None:
            online = sorted(fold_name(new) if bot == fold_name(old) else bot for bot in online)
        renamed = {**terms, "bots": bots, "online_bots": online}
        if renamed != terms:
            words = {"id": row.id, "terms": msgspec.json.encode(renamed).decode()}
            execute(connection, "UPDATE planned_tournaments SET terms = :terms WHERE id = :id", words)

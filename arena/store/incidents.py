"""What went wrong with bots of late by their own doing: the last of each bot, in the words that they were told."""

from __future__ import annotations

from msgspec import Struct
from sqlalchemy import Connection, Select, delete, insert, select

from arena.store.schema import bots, incidents
from protocol.names import folded

MAX_PER_BOT = 20
"""Of each bot."""
MOST_TEXT = 500


class Incident(Struct, frozen=True, kw_only=True):
    """What went wrong, and when: `code` is that of an error or of a close, or a match's reason, `text` a sentence."""

    at: str
    code: str
    text: str


def note_incident(connection: Connection, bot: str, incident: Incident) -> None:
    """Keep an incident of a bot that is known, and no more than the last of it."""
    number = connection.execute(_owner(bot)).scalar_one_or_none()
    if number is None:
        return
    row = {"bot": number, "at": incident.at, "code": incident.code, "text": incident.text[:MOST_TEXT]}
    connection.execute(insert(incidents).values(row))
    of_bot = incidents.c.bot == number
    last = select(incidents.c.id).where(of_bot).order_by(incidents.c.id.desc()).limit(MAX_PER_BOT)
    connection.execute(delete(incidents).where(of_bot, incidents.c.id.not_in(last)))


def forget_incidents(connection: Connection, bot: str) -> None:
    """Keep nothing of a bot: its name is somebody else's now."""
    connection.execute(delete(incidents).where(incidents.c.bot == _owner(bot).scalar_subquery()))


def latest_incidents(connection: Connection, bot: str) -> list[Incident]:
    """Those of a bot that are kept, the newest first."""
    query = select(incidents).where(incidents.c.bot == _owner(bot).scalar_subquery()).order_by(incidents.c.id.desc())
    return [Incident(at=row.at, code=row.code, text=row.text) for row in connection.execute(query)]


def _owner(bot: str) -> Select[tuple[int]]:
    """The number of a bot, if there is one of this name."""
    return select(bots.c.id).where(bots.c.key == folded(bot))

"""Notes since when a version of a hosted bot is the active one."""

from __future__ import annotations

from sqlalchemy import Connection

from arena.store.dialect import execute

MAX_ACTIVATIONS = 500
"""Number of activations of a bot that are kept: the latest."""
_NOTE = """INSERT INTO bot_activations (bot, number, digest, since)
SELECT bot, number, digest, CAST(:since AS text) FROM bot_versions WHERE id = :version AND digest <> coalesce((
    SELECT digest FROM bot_activations AS before WHERE before.bot = bot_versions.bot
    ORDER BY before.id DESC LIMIT 1
), '')"""
"""The statement that notes an activation, unless the version is the active one already."""
_SUBMISSION_QUERY = """SELECT submitted, EXISTS (
    SELECT 1 FROM bot_activations WHERE bot_activations.bot = bot_versions.bot AND since > submitted AND since <= :now
) AS replaced FROM bot_versions WHERE id = :version"""
"""The query for when a version was handed in, and whether its bot had another active version since."""
_DELETE_OLD = f"""DELETE FROM bot_activations WHERE bot = (SELECT bot FROM bot_versions WHERE id = :version)
AND id NOT IN (
    SELECT id FROM bot_activations AS kept WHERE kept.bot = (SELECT bot FROM bot_versions WHERE id = :version)
    ORDER BY kept.id DESC LIMIT {MAX_ACTIVATIONS}
)"""


def note_activation(connection: Connection, version: int, since: str) -> None:
    """Note that the version with this id is the active one of its bot from a time on."""
    execute(connection, _NOTE, {"version": version, "since": since})
    execute(connection, _DELETE_OLD, {"version": version})


def submitted_unless_replaced(connection: Connection, version: int, now: str) -> str | None:
    """Return when a version was handed in, from which on it counts if it passes its check, so that a queue of checks
    makes no version late. Return None if another version became active since, or it is unknown. A version that became
    active after `now` does not count: the clock was set back since.
    """
    found = execute(connection, _SUBMISSION_QUERY, {"version": version, "now": now}).one_or_none()
    return None if found is None or found.replaced else str(found.submitted)

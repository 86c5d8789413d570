"""The files that hosted bots keep between matches: a tar for each version, or one for all that carry it over."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection

from arena.store.dialect import execute, insert_into
from arena.store.registry import find_bot_id
from arena.store.retention_clock import database_now

READ_CHUNK_BYTES = 16 * 1024
"""The number of bytes of a tar that are read at a time."""
ALL_VERSIONS = 0
"""The number that stands for all versions that carry their files over."""
_DELETE_ORPHANS = f"""DELETE FROM bot_states WHERE bot = :bot AND number <> {ALL_VERSIONS}
AND number NOT IN (SELECT number FROM bot_versions WHERE bot = :bot)"""
"""The statement that deletes what versions of a bot kept that are gone."""


def store_state(connection: Connection, bot: str, number: int, digest: str, content: bytes) -> None:
    """Replace what a version of a bot keeps. Do nothing if the bot has no version with this number and digest: its name
    may have another owner now, with versions of the same numbers.
    """
    owner = find_bot_id(connection, bot)
    scope = _scope(connection, owner, number, digest)
    if scope is None:
        return
    words = {"bot": owner, "number": scope}
    execute(connection, "DELETE FROM bot_states WHERE bot = :bot AND number = :number", words)
    execute(connection, _DELETE_ORPHANS, {"bot": owner})
    row = {**words, "written": database_now(connection), "content": content}
    execute(connection, insert_into("bot_states", list(row)), row)


def read_state(connection: Connection, bot: str, number: int, offset: int = 0) -> bytes:
    """Return up to `READ_CHUNK_BYTES` of the tar of what a version of a bot keeps from `offset` on; nothing at its end,
    or if it keeps nothing.
    """
    owner = find_bot_id(connection, bot)
    words: dict[str, object] = {"bot": owner, "number": _scope(connection, owner, number)}
    words |= {"first": offset + 1, "size": READ_CHUNK_BYTES}
    query = "SELECT substr(content, :first, :size) AS part FROM bot_states WHERE bot = :bot AND number = :number"
    row = execute(connection, query, words).one_or_none()
    return b"" if row is None else bytes(row.part)


def read_whole_state(connection: Connection, bot: str, number: int) -> bytes:
    """Return the tar of what a version of a bot keeps; nothing if it keeps nothing."""
    found = bytearray()
    while part := read_state(connection, bot, number, len(found)):
        found += part
    return bytes(found)


def _scope(connection: Connection, owner: int | None, number: int, digest: str | None = None) -> int | None:
    """Return the number under which a version of a bot keeps its files. Return None if there is no such version, or it
    has another digest than the one that is given.
    """
    query = "SELECT manifest, digest FROM bot_versions WHERE bot = :bot AND number = :number"
    found = execute(connection, query, {"bot": owner, "number": number}).one_or_none()
    if found is None or digest not in (None, found.digest):
        return None
    return ALL_VERSIONS if msgspec.json.decode(found.manifest).get("keep_over_versions") else number

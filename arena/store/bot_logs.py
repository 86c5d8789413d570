"""The logs of hosted bots: what their programs wrote in each match. They are kept for some days, and within limits."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Row

from arena.store.dialect import execute, insert_into
from arena.store.registry import find_bot_id
from arena.store.retention_clock import database_now, days_before_now
from protocol.match_logs import MatchLog
from protocol.names import fold_name

MAX_LOGS, MAX_LOG_BYTES = 500, 4 * 1024 * 1024
"""Maximum number of logs of a bot that are kept, and of their bytes, packed. The oldest go first."""
_OF_BOT = "bot = (SELECT id FROM bots WHERE key = :key)"
"""The SQL condition for the logs of a bot."""
_FOREIGN_MATCH_QUERY = """SELECT EXISTS (SELECT 1 FROM matches WHERE id = :match) AND NOT EXISTS (
    SELECT 1 FROM matches JOIN seats ON seats.match = matches.number WHERE matches.id = :match AND seats.bot = :bot
)"""
"""The query for whether a match is over, and a bot did not play in it."""
_DELETE_SURPLUS = """DELETE FROM bot_logs WHERE bot = :bot AND id NOT IN (
    SELECT id FROM (
        SELECT id, row_number() OVER newest AS place, sum(size) OVER newest AS held FROM bot_logs WHERE bot = :bot
        WINDOW newest AS (ORDER BY id DESC)
    ) AS kept WHERE place <= :logs AND held <= :bytes
)"""
"""The statement that deletes the logs of a bot beyond `MAX_LOGS` and `MAX_LOG_BYTES`."""


class BotLog(Struct, frozen=True, kw_only=True):
    """The log of a match, with the number of the bot's version, and the time at which it was stored."""

    number: int
    written: str
    log: MatchLog


def add_log(connection: Connection, bot: str, number: int, log: MatchLog) -> None:
    """Store the log of a match that a version of a bot played. A log that comes again is stored once. That of a bot
    that is gone is not stored, even if another bot has its name now.
    """
    owner = find_bot_id(connection, bot)
    if owner is None or execute(connection, _FOREIGN_MATCH_QUERY, {"match": log.match, "bot": owner}).scalar():
        return
    content = zlib.compress(msgspec.json.encode(log))
    row = {"bot": owner, "number": number, "match": log.match, "written": database_now(connection)}
    row |= {"faults": len(log.faults)}
    row |= {"size": len(content), "content": content}
    query = "SELECT content FROM bot_logs WHERE bot = :bot AND match = :match ORDER BY id DESC LIMIT 1"
    before = execute(connection, query, {"bot": owner, "match": log.match}).scalar()
    if before is not None and bytes(before) == content:
        return
    execute(connection, insert_into("bot_logs", list(row)), row)
    execute(connection, _DELETE_SURPLUS, {"bot": owner, "logs": MAX_LOGS, "bytes": MAX_LOG_BYTES})


def list_logs(connection: Connection, bot: str, search: str, limit: int) -> list[BotLog]:
    """Return the logs of a bot that contain a text in any case, newest first, but no more than `limit`."""
    query = f"SELECT number, written, content FROM bot_logs WHERE {_OF_BOT} ORDER BY id DESC"
    found: list[BotLog] = []
    for log in _read(connection, query, {"key": fold_name(bot)}):
        if len(found) == limit:
            break
        faults = (str(fault) for fault in log.log.faults)
        if search.casefold() in "\n".join((log.log.text, *faults)).casefold():
            found.append(log)
    return found


def logs_of_match(connection: Connection, bot: str, match: str) -> list[BotLog]:
    """Return the logs of a bot's match, oldest first: one from each runner that had a part of it."""
    query = f"SELECT number, written, content FROM bot_logs WHERE {_OF_BOT} AND match = :match ORDER BY id"
    return list(_read(connection, query, {"key": fold_name(bot), "match": match}))


def find_logged(connection: Connection, match: str, bots: Sequence[str]) -> list[str]:
    """Return those of these bots that have a log of a match."""
    query = f"SELECT 1 FROM bot_logs WHERE {_OF_BOT} AND match = :match LIMIT 1"
    return [bot for bot in bots if execute(connection, query, {"key": fold_name(bot), "match": match}).first()]


def fault_notes(connection: Connection, bot: str) -> dict[int, str]:
    """Return a line about the matches in which the program of a bot failed, by the number of its version."""
    query = f"""SELECT number, written, content, failed FROM bot_logs JOIN (
        SELECT max(id) AS newest, count(*) AS failed FROM bot_logs WHERE {_OF_BOT} AND faults > 0 GROUP BY number
    ) AS summed ON id = newest"""
    notes = {}
    for row in execute(connection, query, {"key": fold_name(bot)}):
        log = _log_of(row).log
        matches = f"in {row.failed} matches, last in" if row.failed > 1 else "in match"
        notes[row.number] = f"its program failed {matches} {log.match}: {log.faults[-1]}"
    return notes


def remove_old_logs(connection: Connection, days: int) -> int:
    """Remove the logs that are older than this number of days, and return how many they were. 0 days keep all."""
    if not days:
        return 0
    words = {"until": days_before_now(connection, days)}
    return execute(connection, "DELETE FROM bot_logs WHERE written <= :until", words).rowcount


def _read(connection: Connection, query: str, words: dict[str, object]) -> Iterator[BotLog]:
    for row in execute(connection, query, words):
        yield _log_of(row)


def _log_of(row: Row[Any]) -> BotLog:
    log = msgspec.json.decode(zlib.decompress(row.content), type=MatchLog)
    return BotLog(number=row.number, written=row.written, log=log)

"""The versions of hosted bots: what their authors handed in, and how its check ended.

The active version of a bot is the one that became active last, among those that passed their check.
"""

from __future__ import annotations

from msgspec import Struct
from sqlalchemy import Connection

from arena.store.activations import note_activation, note_passed_check
from arena.store.dialect import execute, insert_into, replace_nul
from arena.store.registry import find_bot_id
from arena.store.retention_clock import database_now, days_before_now
from arena.store.rows import read_row, read_rows
from protocol.errors import UsageFault
from protocol.names import fold_name

WAITING, CHECKING, PASSED, FAILED = "waiting", "checking", "passed", "failed"
"""The states of a version: it waits for its check, is checked, or the check ended so."""
MAX_REPORT_CHARS = 16_384
"""Maximum characters of the report of a check. Of a longer one, the end is kept."""
MAX_VERSIONS = 20
"""Number of versions of a bot that are kept for longer than a day. Older ones go, but never the active one."""
MAX_PER_DAY = 50
"""Maximum number of versions of a bot that may be handed in within 24 hours."""
READ_CHUNK_BYTES = 512 * 1024
"""The number of bytes of a submission that are read at a time."""
_COLUMNS = "bot_versions.id, number, digest, manifest, submitted, state, report, active_since"
"""The columns of `BotVersion`, which leave out the content."""
_OF_BOT = "bot = (SELECT id FROM bots WHERE key = :key)"
"""The SQL condition for the versions of a bot."""
_ACTIVE = f"""id = coalesce((SELECT other.id FROM bot_versions AS other WHERE other.bot = bot_versions.bot
    AND other.state = '{PASSED}' ORDER BY other.active_since DESC, other.id DESC LIMIT 1), 0)"""
"""The SQL condition for the active version of each bot."""
_DELETE_OLD = f"""DELETE FROM bot_versions WHERE bot = :bot AND submitted <= :since
AND state NOT IN ('{WAITING}', '{CHECKING}') AND NOT {_ACTIVE} AND NOT EXISTS (
    SELECT 1 FROM entrants WHERE entrants.bot = bot_versions.bot AND entrants.digest = bot_versions.digest
) AND id NOT IN (
    SELECT id FROM bot_versions AS kept WHERE kept.bot = :bot ORDER BY kept.id DESC LIMIT {MAX_VERSIONS}
)"""
"""The statement that deletes the versions of a bot beyond `MAX_VERSIONS` that are older than a day, but none with which
it entered a tournament."""
_SELECT_HOSTED = f"""SELECT bots.name, bots.key, bot_versions.id AS version, bot_versions.number, digest
FROM bot_versions JOIN bots ON bots.id = bot_versions.bot
WHERE state = '{PASSED}' AND bots.token_hash IS NOT NULL AND NOT bots.revoked AND bot_versions.{_ACTIVE}
ORDER BY active_since, bot_versions.id"""
"""The query for the bots that shall run, those that wait longest first."""


class BotVersion(Struct, frozen=True, kw_only=True):
    """A version of a hosted bot, without its content. `manifest` is JSON."""

    id: int
    number: int
    digest: str
    manifest: str
    submitted: str
    state: str
    report: str
    active_since: str | None


class HostedVersion(Struct, frozen=True, kw_only=True):
    """A bot that shall run, by name and folded name, with its active version: id, number and digest."""

    name: str
    key: str
    version: int
    number: int
    digest: str


def add_version(connection: Connection, bot: str, digest: str, content: bytes, manifest: str) -> BotVersion:
    """Store what was handed in for a bot, and return the version. Raise `UsageFault` for an unknown bot, or if too much
    was handed in today.

    The same content is one version: if it had passed, it is active again; if it had failed, it is checked again.
    """
    owner = find_bot_id(connection, bot)
    if owner is None:
        raise UsageFault(f"there is no bot called {bot}")
    now = database_now(connection)
    key = {"bot": owner, "digest": digest}
    found = execute(connection, "SELECT id, state FROM bot_versions WHERE bot = :bot AND digest = :digest", key).first()
    if found is not None:
        change = "active_since = :now" if found.state == PASSED else "state = :state, report = ''"
        if found.state in (PASSED, FAILED):
            words = {"id": found.id, "now": now, "state": WAITING}
            execute(connection, f"UPDATE bot_versions SET {change} WHERE id = :id", words)
        if found.state == PASSED:
            note_activation(connection, found.id, now)
        return _version(connection, found.id)
    since = days_before_now(connection, 1)
    query = "SELECT count(*) FROM bot_versions WHERE bot = :bot AND submitted > :since"
    if execute(connection, query, {"bot": owner, "since": since}).scalar_one() >= MAX_PER_DAY:
        raise UsageFault(f"{bot} had {MAX_PER_DAY} new versions within 24 hours, which is the most: try again tomorrow")
    query = "SELECT coalesce(max(number), 0) + 1 FROM bot_versions WHERE bot = :bot"
    number = execute(connection, query, {"bot": owner}).scalar_one()
    row = {**key, "number": number, "content": content, "manifest": manifest, "submitted": now}
    row |= {"state": WAITING, "report": ""}
    made = execute(connection, f"{insert_into('bot_versions', list(row))} RETURNING id", row).scalar_one()
    execute(connection, _DELETE_OLD, {"bot": owner, "since": since})
    return _version(connection, made)


def _version(connection: Connection, id_: int) -> BotVersion:
    query = f"SELECT {_COLUMNS} FROM bot_versions WHERE id = :id"
    return read_row(BotVersion, execute(connection, query, {"id": id_}).one())


def list_versions(connection: Connection, bot: str) -> list[BotVersion]:
    """Return the versions of a bot, newest first."""
    query = f"SELECT {_COLUMNS} FROM bot_versions WHERE {_OF_BOT} ORDER BY number DESC"
    return read_rows(BotVersion, execute(connection, query, {"key": fold_name(bot)}))


def active_version(connection: Connection, bot: str) -> BotVersion | None:
    """Return the active version of a bot; None if none has passed its check."""
    query = f"SELECT {_COLUMNS} FROM bot_versions WHERE {_OF_BOT} AND {_ACTIVE}"
    row = execute(connection, query, {"key": fold_name(bot)}).one_or_none()
    return None if row is None else read_row(BotVersion, row)


def hosted_bots(connection: Connection) -> list[HostedVersion]:
    """Return the bots that shall run, with their active versions."""
    return read_rows(HostedVersion, execute(connection, _SELECT_HOSTED))


def unchecked_versions(connection: Connection) -> list[int]:
    """Return the ids of the versions whose check has not ended, oldest first."""
    query = "SELECT id FROM bot_versions WHERE state IN (:waiting, :checking) ORDER BY id"
    return [row.id for row in execute(connection, query, {"waiting": WAITING, "checking": CHECKING})]


def begin_check(connection: Connection, version: int) -> HostedVersion | None:
    """Note that a version is checked, and return it with its bot; None if it is gone."""
    query = """SELECT bots.name, bots.key, bot_versions.id AS version, bot_versions.number, digest
    FROM bot_versions JOIN bots ON bots.id = bot_versions.bot WHERE bot_versions.id = :id"""
    row = execute(connection, query, {"id": version}).one_or_none()
    if row is None:
        return None
    execute(connection, "UPDATE bot_versions SET state = :state WHERE id = :id", {"state": CHECKING, "id": version})
    return read_row(HostedVersion, row)


def end_check(connection: Connection, version: int, *, passed: bool, report: str) -> None:
    """Store how the check of a version ended. A version that passed is active from now on."""
    words = {
        "id": version,
        "state": PASSED if passed else FAILED,
        "report": replace_nul(report[-MAX_REPORT_CHARS:]),
        "active_since": database_now(connection) if passed else None,
    }
    execute(
        connection,
        "UPDATE bot_versions SET state = :state, report = :report, active_since = :active_since WHERE id = :id",
        words,
    )
    if passed:
        note_passed_check(connection, version)


def read_content(connection: Connection, digest: str, offset: int) -> bytes:
    """Return up to `READ_CHUNK_BYTES` of a submission from `offset` on; nothing at its end, or if it is gone."""
    query = "SELECT substr(content, :first, :size) AS part FROM bot_versions WHERE digest = :digest LIMIT 1"
    words = {"first": offset + 1, "size": READ_CHUNK_BYTES, "digest": digest}
    row = execute(connection, query, words).one_or_none()
    return b"" if row is None else bytes(row.part)

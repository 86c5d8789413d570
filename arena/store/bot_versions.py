"""The versions of hosted bots: what their authors handed in, how its check ended, and what their owners chose.

The active version of a bot is the one that became active last, among those that passed their check. It plays unless its
owner has paused the bot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct
from sqlalchemy import Connection

from arena.hosting.limits import MAX_REPORT_CHARS, VersionLimits
from arena.store.activations import note_activation, submitted_unless_replaced
from arena.store.dialect import execute, insert_into, replace_nul
from arena.store.registry import find_bot_id
from arena.store.retention_clock import database_now, days_before_now
from arena.store.rows import read_row, read_rows
from machine.timestamps import format_timestamp
from protocol.display import list_choices, short_repr
from protocol.errors import UsageFault
from protocol.names import fold_name

WAITING, CHECKING, PASSED, FAILED = "waiting", "checking", "passed", "failed"
"""The states of a version: it waits for its check, is checked, or the check ended so."""
READ_CHUNK_BYTES = 512 * 1024
"""The number of bytes of a submission that are read at a time."""
MAX_CONTENT_BYTES = 2**30
"""More bytes than the content of any version has."""
_COLUMNS = """bot_versions.id, number, digest, manifest, submitted, state, report, active_since, source_file,
chosen_games, published, check_records IS NOT NULL AS has_records"""
"""The columns of `BotVersion`, which leave out the content."""
_OF_BOT = "bot = (SELECT id FROM bots WHERE key = :key)"
"""The SQL condition for the versions of a bot."""
_ACTIVE = f"""id = coalesce((SELECT other.id FROM bot_versions AS other WHERE other.bot = bot_versions.bot
    AND other.state = '{PASSED}' ORDER BY other.active_since DESC, other.id DESC LIMIT 1), 0)"""
"""The SQL condition for the active version of each bot."""
_OPEN_CHECK = f"state IN ('{WAITING}', '{CHECKING}')"
"""The SQL condition for the versions whose check has not ended."""
_DELETE_OLD = f"""DELETE FROM bot_versions WHERE bot = :bot AND submitted <= :since
AND NOT {_OPEN_CHECK} AND NOT {_ACTIVE} AND NOT EXISTS (
    SELECT 1 FROM entrants WHERE entrants.bot = bot_versions.bot AND entrants.digest = bot_versions.digest
) AND digest NOT IN (
    SELECT digest FROM bot_activations JOIN planned_tournaments ON planned_tournaments.state = 'waiting'
    WHERE bot_activations.bot = :bot AND since = (
        SELECT max(since) FROM bot_activations AS before WHERE before.bot = :bot AND before.since <= closes
    )
) AND id NOT IN (
    SELECT id FROM bot_versions AS kept WHERE kept.bot = :bot ORDER BY kept.id DESC LIMIT :kept
)"""
"""The statement that deletes the versions of a bot that are older than a day, but for the newest, `:kept` of them,
those with which it entered a tournament, and those with which it will enter one that is planned.
"""
_SELECT_VERSION = """SELECT bots.name, bots.key, bot_versions.id AS version, bot_versions.number, digest, manifest,
chosen_games, EXISTS (SELECT 1 FROM paused_bots WHERE paused_bots.bot = bots.id) AS is_paused
FROM bot_versions JOIN bots ON bots.id = bot_versions.bot"""
"""The query for `HostedVersion`, without a condition."""
_SELECT_HOSTED = f"""{_SELECT_VERSION}
WHERE state = '{PASSED}' AND bots.token_hash IS NOT NULL AND NOT bots.revoked AND bot_versions.{_ACTIVE}
ORDER BY active_since, bot_versions.id"""
"""The query for the bots that may run, those that wait longest first."""


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
    source_file: str | None
    """The name of the file, if the version was handed in as one source file."""
    chosen_games: str | None
    """The games that the version plays, as JSON, if its owner chose some of those that it declares."""
    published: bool
    """True if everybody may read the source."""
    has_records: bool
    """True if matches of the check were kept."""

    @property
    def declared_games(self) -> tuple[str, ...]:
        """The games of the manifest, for which the version was checked."""
        return games_of(self.manifest, None)

    @property
    def games(self) -> tuple[str, ...]:
        """The games that the version plays."""
        return games_of(self.manifest, self.chosen_games)


class FailedVersion(Struct, frozen=True, kw_only=True):
    """A version that failed its check, with its bot and the end of its report."""

    bot: str
    number: int
    submitted: str
    report: str

    @property
    def why(self) -> str:
        """The line of the report that says what failed."""
        lines = self.report.splitlines()
        return next((line for line in lines if ": failed" in line), lines[0] if lines else "")


class HostedVersion(Struct, frozen=True, kw_only=True):
    """A bot, by name and folded name, with one of its versions: id, number and digest."""

    name: str
    key: str
    version: int
    number: int
    digest: str
    manifest: str
    chosen_games: str | None
    is_paused: bool
    """True if the owner has paused the bot."""

    @property
    def games(self) -> tuple[str, ...]:
        """The games that the version plays."""
        return games_of(self.manifest, self.chosen_games)


class SingleFile(Struct, frozen=True, kw_only=True):
    """A version that was handed in as one source file: the file's name, and a digest that leaves out the name."""

    name: str
    digest: str


def games_of(manifest: str, chosen: str | None) -> tuple[str, ...]:
    """Return the games that an owner chose, or those that the manifest declares if there was no choice."""
    return tuple(msgspec.json.decode(manifest)["games"] if chosen is None else msgspec.json.decode(chosen))


def add_version(
    connection: Connection,
    bot: str,
    digest: str,
    content: bytes,
    manifest: str,
    file: SingleFile | None = None,
    limits: VersionLimits = VersionLimits(),  # noqa: B008 - it is frozen
) -> BotVersion:
    """Store what was handed in for a bot, and return the version. Raise `UsageFault` for an unknown bot, or if too much
    was handed in today or by all.

    The same content is one version: if it had passed, it is active again; if it had failed, it is checked again. The
    content of a single `file` is the same whatever its name.
    """
    owner = _require_bot(connection, bot)
    now = database_now(connection)
    execute(connection, "UPDATE bots SET seen = :now WHERE id = :bot", {"now": now, "bot": owner})  # its name is in use
    key = {"bot": owner, "digest": digest, "source_digest": None if file is None else file.digest}
    query = """SELECT id, state FROM bot_versions
    WHERE bot = :bot AND (digest = :digest OR source_digest = :source_digest) ORDER BY id DESC LIMIT 1"""
    found = execute(connection, query, key).first()
    if found is not None:
        if found.state == PASSED:
            _activate(connection, owner, found.id)
        elif found.state == FAILED:
            again = "UPDATE bot_versions SET state = :state, report = '' WHERE id = :id"
            execute(connection, again, {"id": found.id, "state": WAITING})
        return _version(connection, found.id)
    since = days_before_now(connection, 1)
    query = "SELECT count(*) FROM bot_versions WHERE bot = :bot AND submitted > :since"
    if execute(connection, query, {"bot": owner, "since": since}).scalar_one() >= limits.per_day:
        most = f"{limits.per_day} new {'version' if limits.per_day == 1 else 'versions'}"
        raise UsageFault(f"{bot} had {most} within 24 hours, which is the most: try again tomorrow")
    _check_room(connection, len(content), limits.stored_bytes)
    query = "SELECT coalesce(max(number), 0) + 1 FROM bot_versions WHERE bot = :bot"
    number = execute(connection, query, {"bot": owner}).scalar_one()
    row = {**key, "number": number, "content": content, "manifest": manifest, "submitted": now}
    row |= {"state": WAITING, "report": "", "source_file": None if file is None else file.name}
    made = execute(connection, f"{insert_into('bot_versions', list(row))} RETURNING id", row).scalar_one()
    execute(connection, _DELETE_OLD, {"bot": owner, "since": since, "kept": limits.kept})
    return _version(connection, made)


def _require_bot(connection: Connection, bot: str) -> int:
    owner = find_bot_id(connection, bot)
    if owner is None:
        raise UsageFault(f"there is no bot called {bot}")
    return owner


def _activate(connection: Connection, owner: int, version: int, since: str | None = None) -> None:
    """Make a version the active one of its bot, also if the clock has not moved on since the last change. For
    tournaments it is so from the time `since`, by default from now on.
    """
    query = "SELECT max(active_since) FROM bot_versions WHERE bot = :bot"
    latest = execute(connection, query, {"bot": owner}).scalar_one()
    now = active_since = database_now(connection)
    if latest is not None and now <= latest:
        active_since = format_timestamp(datetime.fromisoformat(latest) + timedelta(milliseconds=1))
    words = {"since": active_since, "id": version}
    execute(connection, "UPDATE bot_versions SET active_since = :since WHERE id = :id", words)
    note_activation(connection, version, since or now)


def _check_room(connection: Connection, size: int, max_bytes: int) -> None:
    """Raise `UsageFault` if all versions would have more than `max_bytes` with `size` bytes more; 0 for no limit."""
    if not max_bytes:
        return
    if _stored_bytes(connection) + size > max_bytes:
        raise UsageFault(
            f"the programs of all hosted bots would take more than the {max_bytes // 1024**2} MiB that this arena has "
            "for them: ask its operator"
        )


def _stored_bytes(connection: Connection) -> int:
    query = "SELECT coalesce(sum(length(content)), 0) AS bytes FROM bot_versions"
    return int(execute(connection, query).scalar_one())


def _version(connection: Connection, id_: int) -> BotVersion:
    query = f"SELECT {_COLUMNS} FROM bot_versions WHERE id = :id"
    return read_row(BotVersion, execute(connection, query, {"id": id_}).one())


def list_versions(connection: Connection, bot: str) -> list[BotVersion]:
    """Return the versions of a bot, newest first."""
    query = f"SELECT {_COLUMNS} FROM bot_versions WHERE {_OF_BOT} ORDER BY number DESC"
    return read_rows(BotVersion, execute(connection, query, {"key": fold_name(bot)}))


def count_versions(connection: Connection, bot: str) -> int:
    """Return the number of versions of a bot, 0 for an unknown one."""
    query = f"SELECT count(*) FROM bot_versions WHERE {_OF_BOT}"
    return int(execute(connection, query, {"key": fold_name(bot)}).scalar_one())


def has_versions(connection: Connection, bot: str) -> bool:
    """Return whether anything was handed in for a bot."""
    query = f"SELECT 1 FROM bot_versions WHERE {_OF_BOT} LIMIT 1"
    return execute(connection, query, {"key": fold_name(bot)}).first() is not None


def active_version(connection: Connection, bot: str) -> BotVersion | None:
    """Return the active version of a bot; None if none has passed its check."""
    query = f"SELECT {_COLUMNS} FROM bot_versions WHERE {_OF_BOT} AND {_ACTIVE}"
    row = execute(connection, query, {"key": fold_name(bot)}).one_or_none()
    return None if row is None else read_row(BotVersion, row)


def hosted_bots(connection: Connection) -> list[HostedVersion]:
    """Return the bots that may run, with their active versions. Those that are paused only finish their matches."""
    return read_rows(HostedVersion, execute(connection, _SELECT_HOSTED))


def find_passed_version(connection: Connection, key: str, number: int) -> HostedVersion | None:
    """Return the version with this number of the bot with this folded name; None if it is gone or has not passed."""
    query = f"{_SELECT_VERSION} WHERE key = :key AND number = :number AND state = :state"
    row = execute(connection, query, {"key": key, "number": number, "state": PASSED}).one_or_none()
    return None if row is None else read_row(HostedVersion, row)


def unchecked_versions(connection: Connection) -> list[HostedVersion]:
    """Return the versions whose check has not ended, oldest first."""
    query = f"{_SELECT_VERSION} WHERE {_OPEN_CHECK} ORDER BY bot_versions.id"
    return read_rows(HostedVersion, execute(connection, query))


class HostingTotals(Struct, frozen=True, kw_only=True):
    """The bots that shall run, and what the operator is told about all versions."""

    hosted: list[HostedVersion]
    waiting: int
    failed: list[FailedVersion]
    stored_bytes: int


def read_totals(connection: Connection, max_failed: int) -> HostingTotals:
    """Return the totals of all hosted bots, with at most `max_failed` of the versions that failed, newest first."""
    query = f"""SELECT bots.name AS bot, number, submitted, report FROM bot_versions JOIN bots ON bots.id = bot
    WHERE state = '{FAILED}' ORDER BY bot_versions.id DESC LIMIT :most"""
    waiting = "SELECT count(*) FROM bot_versions WHERE state = :waiting"
    failed = read_rows(FailedVersion, execute(connection, query, {"most": max_failed}))
    return HostingTotals(
        hosted=[one for one in hosted_bots(connection) if not one.is_paused],
        waiting=execute(connection, waiting, {"waiting": WAITING}).scalar_one(),
        failed=failed,
        stored_bytes=_stored_bytes(connection),
    )


class LatestVersion(Struct, frozen=True, kw_only=True):
    """The version that was handed in last for a bot, and the number of the version that plays, if there is one."""

    bot: str
    number: int
    state: str
    submitted: str
    active: int | None


def latest_versions(connection: Connection, limit: int) -> list[LatestVersion]:
    """Return the newest version of each hosted bot, those that were handed in last first."""
    query = f"""SELECT bots.name AS bot, bot_versions.number, bot_versions.state, bot_versions.submitted,
    (SELECT playing.number FROM bot_versions AS playing WHERE playing.bot = bots.id AND playing.state = '{PASSED}'
    ORDER BY playing.active_since DESC, playing.id DESC LIMIT 1) AS active
    FROM bot_versions JOIN bots ON bots.id = bot_versions.bot
    WHERE bot_versions.number = (SELECT max(later.number) FROM bot_versions AS later WHERE later.bot = bots.id)
    ORDER BY bot_versions.submitted DESC, bot_versions.id DESC LIMIT :limit"""
    return read_rows(LatestVersion, execute(connection, query, {"limit": limit}))


def begin_check(connection: Connection, version: int) -> HostedVersion | None:
    """Note that a version is checked, and return it with its bot; None if it is gone, or if its check has ended."""
    query = f"UPDATE bot_versions SET state = '{CHECKING}' WHERE id = :id AND {_OPEN_CHECK}"
    if not execute(connection, query, {"id": version}).rowcount:
        return None
    return read_row(
        HostedVersion, execute(connection, f"{_SELECT_VERSION} WHERE bot_versions.id = :id", {"id": version}).one()
    )


def end_check(
    connection: Connection, version: int, *, passed: bool, report: str, records: Mapping[str, bytes] = {}
) -> None:
    """Store how the check of a version ended, with the gzipped records of its matches by game, unless that is known
    already. A version that passed is active from now on.
    """
    words = {
        "id": version,
        "state": PASSED if passed else FAILED,
        "report": replace_nul(report[-MAX_REPORT_CHARS:]),
        "records": msgspec.json.encode(records) if records else None,
    }
    query = f"""UPDATE bot_versions SET state = :state, report = :report, check_records = :records, active_since = NULL
    WHERE id = :id AND {_OPEN_CHECK} RETURNING bot"""
    owner = execute(connection, query, words).scalar_one_or_none()
    if passed and owner is not None:
        _activate(connection, owner, version, submitted_unless_replaced(connection, version, database_now(connection)))


def use_version(connection: Connection, bot: str, number: int) -> None:
    """Make a version that passed its check the active one. Raise `UsageFault` if there is none with this number."""
    versions = list_versions(connection, bot)
    passed = [version for version in versions if version.state == PASSED]
    found = next((version for version in versions if version.number == number), None)
    if found is None or found not in passed:
        wrong = "does not exist" if found is None else "failed its check" if found.state == FAILED else "is not checked"
        choices = (
            "choose " + " or ".join(str(version.number) for version in passed)
            if passed
            else "none has passed its check"
        )
        raise UsageFault(f"version {number} of {bot} {wrong}: {choices}")
    _activate(connection, _require_bot(connection, bot), found.id)


def choose_games(connection: Connection, bot: str, games: Sequence[str]) -> None:
    """Let the active version of a bot play these games only; with none, all that it declares. Raise `UsageFault` if no
    version is active, or for a game that the version was not checked for.
    """
    active = active_version(connection, bot)
    if active is None:
        raise UsageFault(f"{bot} has no version that passed its check: hand one in first")
    for game in games:
        if game not in active.declared_games:
            raise UsageFault(
                f"version {active.number} of {bot} was not checked for {short_repr(game)}: "
                f"{list_choices(active.declared_games)}, or hand the program in for more games"
            )
    chosen = [game for game in active.declared_games if game in games]
    words = {"id": active.id, "games": msgspec.json.encode(chosen).decode() if chosen else None}
    execute(connection, "UPDATE bot_versions SET chosen_games = :games WHERE id = :id", words)


def set_paused(connection: Connection, bot: str, *, paused: bool) -> None:
    """Pause a bot, or let it run again. Raise `UsageFault` for an unknown bot."""
    owner = _require_bot(connection, bot)
    execute(connection, "DELETE FROM paused_bots WHERE bot = :bot", {"bot": owner})
    if paused:
        row = {"bot": owner, "since": database_now(connection)}
        execute(connection, insert_into("paused_bots", list(row)), row)


def change_hosting(
    connection: Connection, bot: str, *, number: int | None, games: Sequence[str] | None, paused: bool | None
) -> None:
    """Make a version active, choose its games, and pause or resume the bot. What is None stays as it is.

    Raise `UsageFault` as the functions above do.
    """
    if number is not None:
        use_version(connection, bot, number)
    if games is not None:
        choose_games(connection, bot, games)
    if paused is not None:
        set_paused(connection, bot, paused=paused)


def is_paused(connection: Connection, bot: str) -> bool:
    """Return whether the owner of a bot has paused it."""
    query = f"SELECT 1 FROM paused_bots WHERE {_OF_BOT}"
    return execute(connection, query, {"key": fold_name(bot)}).first() is not None


def set_published(connection: Connection, bot: str, number: int, *, published: bool) -> None:
    """Let everybody read the source of a version, or its owner only. Raise `UsageFault` if there is no such version."""
    query = f"UPDATE bot_versions SET published = :published WHERE number = :number AND {_OF_BOT}"
    words = {"published": published, "number": number, "key": fold_name(bot)}
    if not execute(connection, query, words).rowcount:
        raise UsageFault(f"{bot} has no version {number}")


def published_versions(connection: Connection, bot: str) -> list[BotVersion]:
    """Return the versions of a bot whose source everybody may read, newest first."""
    query = f"SELECT {_COLUMNS} FROM bot_versions WHERE published AND {_OF_BOT} ORDER BY number DESC"
    return read_rows(BotVersion, execute(connection, query, {"key": fold_name(bot)}))


def records_of_check(connection: Connection, bot: str, number: int) -> Mapping[str, bytes]:
    """Return the gzipped records of the matches of a version's check, by game; none if there are none."""
    query = f"SELECT check_records FROM bot_versions WHERE number = :number AND {_OF_BOT}"
    row = execute(connection, query, {"number": number, "key": fold_name(bot)}).one_or_none()
    if row is None or row.check_records is None:
        return {}
    return msgspec.json.decode(bytes(row.check_records), type=dict[str, bytes])


def source_of(connection: Connection, bot: str, number: int, max_bytes: int = MAX_CONTENT_BYTES) -> bytes | None:
    """Return the content of a version, a zip; None if there is no such version, or if it has more than `max_bytes`."""
    query = f"SELECT content FROM bot_versions WHERE number = :number AND {_OF_BOT} AND length(content) <= :max"
    words = {"number": number, "key": fold_name(bot), "max": max_bytes}
    row = execute(connection, query, words).one_or_none()
    return None if row is None else bytes(row.content)


def read_content(connection: Connection, digest: str, offset: int, max_bytes: int = READ_CHUNK_BYTES) -> bytes:
    """Return up to `max_bytes` of a submission from `offset` on; nothing at its end, or if it is gone."""
    query = "SELECT substr(content, :first, :size) AS part FROM bot_versions WHERE digest = :digest LIMIT 1"
    words = {"first": offset + 1, "size": min(max_bytes, READ_CHUNK_BYTES), "digest": digest}
    row = execute(connection, query, words).one_or_none()
    return b"" if row is None else bytes(row.part)

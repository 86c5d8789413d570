"""The registered bots: their approval, their revocation, their last connections, and their latest incidents."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Row

from arena.store.actions import rename_in_actions
from arena.store.announcements import announce
from arena.store.dialect import execute, insert_into, list_parameter, replace_nul
from arena.store.incident import Incident
from arena.store.nodes import nodes_of_bot
from arena.store.paging import Page, read_page
from arena.store.plan_bots import fail_plans_of_bot, find_played_plan, rename_in_plans
from arena.store.result_queries import UNRATED_SUFFIX
from arena.store.retention_clock import database_now, days_before_now, is_steady
from arena.store.rows import read_row, read_rows
from machine.timestamps import utc_now
from protocol.display import list_first
from protocol.display_names import describe_invalid_bot_name, describe_taken_display_name, fold_display_name
from protocol.errors import UsageFault
from protocol.names import fold_name, is_bot_name

DELETED_PREFIX = "deleted-"
"""The beginning of the names that the results of deleted bots get."""
MAX_INCIDENTS = 20
"""The maximum number of incidents stored for a bot."""
MAX_INCIDENT_CHARACTERS = 500
"""The maximum length in characters of an incident's stored text."""


class NameInUse(UsageFault):
    """A bot's name is already registered."""


class StillPlaying(UsageFault):
    """A bot cannot be renamed or deleted now, because it has matches in progress, perhaps on another node."""


class RegisteredBot(Struct, frozen=True, kw_only=True):
    """A bot. `token_hash` is None if the bot is `revoked`, or has no token because it only played in tournaments."""

    name: str
    token_hash: str | None
    revoked: bool
    created: str
    seen: str | None = None
    approved: bool = False
    person: bool = False
    display: str | None = None
    """The display name of the player, shown beside the bot's name."""


class RosterRow(RegisteredBot, frozen=True, kw_only=True):
    """A bot with its latest incident."""

    incident: Incident | None


_ROSTER_SQL = """
SELECT bots.*, incidents.at, incidents.code, incidents.text,
    (SELECT count(*) FROM bots WHERE {instr}(key, :find) > 0) AS total
FROM bots LEFT JOIN incidents ON incidents.id = (SELECT max(id) FROM incidents AS latest WHERE latest.bot = bots.id)
WHERE {instr}(key, :find) > 0 AND (:start OR key > :key) ORDER BY key LIMIT :limit
"""
"""The query for a page of the bots whose keys (folded names) contain :find, each with its latest incident."""
_SELECT_BOTS = f"SELECT {', '.join(RegisteredBot.__struct_fields__)} FROM bots"
_REGISTER = """INSERT INTO bots (name, key, token_hash, revoked, created, seen, person, display)
VALUES (:name, :key, :token_hash, false, :now, :now, :person, :display)
ON CONFLICT (key) DO UPDATE SET name = excluded.name, token_hash = excluded.token_hash, created = excluded.created,
    seen = excluded.seen, person = excluded.person, display = excluded.display
WHERE (bots.token_hash IS NULL AND NOT bots.revoked
        AND NOT EXISTS (SELECT 1 FROM seats WHERE seats.bot = bots.id AND seats.mu_after IS NOT NULL))
    OR (bots.token_hash IS NOT NULL AND bots.seen < CAST(:unused_since AS text) AND NOT bots.approved
        AND NOT EXISTS (SELECT 1 FROM seats WHERE seats.bot = bots.id))
RETURNING id"""
"""The statement that registers a bot. A bot of the same name is replaced if it has no token and no rated match. It is
also replaced if it registered itself, never played and was not seen since :unused_since.
"""
_ADD_BOT = """INSERT INTO bots (name, key, token_hash, revoked, approved, created, display)
VALUES (:name, :key, :token_hash, false, true, :created, :display)
ON CONFLICT (key) DO UPDATE SET name = excluded.name, token_hash = excluded.token_hash, approved = true,
    display = excluded.display
WHERE bots.token_hash IS NULL AND NOT bots.revoked RETURNING id"""
"""The statement that registers a bot for the operator, unless a bot of this name has a token or is revoked."""
_CLAIM_PERSON = f"""UPDATE bots SET person = :person WHERE key = :key AND NOT EXISTS (
    SELECT 1 FROM tallies WHERE tallies.bot = bots.id AND tournament = '' AND pool NOT LIKE '%/{UNRATED_SUFFIX}'
)"""
"""The statement that marks the name of a person or of a bot, unless it has rated ladder matches."""
_DELETE_OLD_INCIDENTS = f"""DELETE FROM incidents WHERE bot = :bot AND id NOT IN (
    SELECT id FROM incidents WHERE bot = :bot ORDER BY id DESC LIMIT {MAX_INCIDENTS}
)"""
_DELETE_INCIDENTS = "DELETE FROM incidents WHERE bot = :bot"
_DELETE_PROGRAMS = (
    "DELETE FROM bot_versions WHERE bot = :bot",
    "DELETE FROM bot_logs WHERE bot = :bot",
    "DELETE FROM bot_states WHERE bot = :bot",
    "DELETE FROM paused_bots WHERE bot = :bot",
    "DELETE FROM bot_activations WHERE bot = :bot",
)
"""The statements that delete the programs of a hosted bot, what they wrote and kept, and its pause."""
_DELETE_FAILURES = """DELETE FROM failures WHERE EXISTS (
    SELECT 1 FROM seats WHERE seats.match = failures.match AND seats.seat = failures.seat AND seats.bot = :bot
)"""


def find_registered_bot(connection: Connection, name: str) -> RegisteredBot | None:
    """Return the registered bot with this name, in any case; None if it is unknown or only played in tournaments."""
    row = execute(connection, f"{_SELECT_BOTS} WHERE key = :key", {"key": fold_name(name)}).one_or_none()
    if row is None or (row.token_hash is None and not row.revoked):
        return None
    return read_row(RegisteredBot, row)


def find_registered_bots(connection: Connection, names: Collection[str]) -> dict[str, RegisteredBot]:
    """Return the registered bots with these folded names, by folded name."""
    query = f"{_SELECT_BOTS} WHERE key IN (SELECT value FROM {{each:names}} AS told)"
    found = read_rows(RegisteredBot, execute(connection, query, list_parameter("names", names)))
    return {fold_name(bot.name): bot for bot in found if bot.token_hash is not None or bot.revoked}


def token_hashes(connection: Connection) -> set[str]:
    """Return the hashes of the tokens of all bots."""
    return set(execute(connection, "SELECT token_hash FROM bots WHERE token_hash IS NOT NULL").scalars())


def find_bot_id(connection: Connection, name: str) -> int | None:
    """Return the row id of the bot with this name, in any case; None if it is unknown."""
    found: int | None = execute(connection, "SELECT id FROM bots WHERE key = :key", {"key": fold_name(name)}).scalar()
    return found


def all_bots(connection: Connection) -> list[RegisteredBot]:
    """Return all bots in the order of their names, including those that only played in tournaments."""
    return read_rows(RegisteredBot, execute(connection, f"{_SELECT_BOTS} ORDER BY key"))


def roster_page(
    connection: Connection, search: str = "", *, after: str | None = None, limit: int = 200
) -> Page[RosterRow]:
    """Return a page of the bots whose names contain `search`, each with its latest incident."""
    given = {"find": fold_name(search)}
    return read_page(connection, _ROSTER_SQL, given, {"key": str}, _roster_row, after=after, limit=limit)


def _roster_row(row: Row[Any]) -> RosterRow:
    incident = None if row.at is None else read_row(Incident, row)
    return read_row(RosterRow, row, incident=incident)


def is_known_bot(connection: Connection, name: str) -> bool:
    """Return whether a bot with this name, in any case, was ever registered or played."""
    return find_bot_id(connection, name) is not None


def register_bot(
    connection: Connection,
    name: str,
    token_hash: str,
    unused_since: str | None = None,
    *,
    person: bool = False,
    display: str | None = None,
) -> None:
    """Register a bot, or a `person`, that connects for the first time. `display` is its display name, if any.

    A bot with this name is replaced if it has no token and no rated match. With `unused_since`, it is also replaced if
    it registered itself, never finished a match, and was last seen before that time. Raise `NameInUse` for the name of
    any other known bot.
    """
    words: dict[str, object] = {"name": name, "key": fold_name(name), "token_hash": token_hash, "person": person}
    words |= {"display": display, "now": database_now(connection), "unused_since": unused_since}
    registered = execute(connection, _REGISTER, words).scalar()
    if registered is None:
        raise NameInUse(f"a bot is called {name} already")
    # Incidents and programs of an earlier bot with this name do not belong to the new one.
    for statement in (_DELETE_INCIDENTS, *_DELETE_PROGRAMS):
        execute(connection, statement, {"bot": registered})


def register_newcomer(
    connection: Connection,
    name: str,
    token_hash: str,
    free_after_days: int,
    *,
    person: bool = False,
    display: str | None = None,
) -> None:
    """Register a bot or a `person`. The newcomer may take the name of a bot that never finished a match and was not
    seen for `free_after_days` days, by the database's clock. No such name is free if `free_after_days` is 0, or if the
    clock has not run steadily.
    """
    unused_since = None
    if free_after_days and is_steady(connection):
        unused_since = days_before_now(connection, free_after_days)
    register_bot(connection, name, token_hash, unused_since, person=person, display=display)


def update_last_seen(connection: Connection, times: Mapping[str, str]) -> None:
    """Store when each of some bots was last seen. `times` has the times by folded name."""
    if times:
        rows = [{"bot": bot, "at": at} for bot, at in times.items()]
        execute(connection, "UPDATE bots SET seen = :at WHERE key = :bot", rows)


def add_bots(connection: Connection, hashes: Mapping[str, str], displays: Mapping[str, str] | None = None) -> None:
    """Register bots on behalf of the operator, with the hashes of their tokens, as approved bots. Bots known from
    tournaments keep their ratings.

    `displays` has the display names of some of the bots. New bots may have equal display names. Raise `NameInUse` if a
    name is taken, or if another bot has one of the display names.
    """
    _check_displays(connection, displays or {})
    for name, token_hash in hashes.items():
        words = {"name": name, "key": fold_name(name), "token_hash": token_hash, "created": utc_now()}
        display = (displays or {}).get(name)
        if execute(connection, _ADD_BOT, {**words, "display": display}).first() is None:
            raise NameInUse(f"a bot is called {name} already: choose another name, or `arena bot rotate {name}`")


def rotate_token(connection: Connection, name: str, token_hash: str) -> None:
    """Give a bot, even a revoked one, a new token in place of the old. Raise `UsageFault` for an unknown bot."""
    _update_bots(connection, [name], token_hash=token_hash, revoked=False)


def revoke_bots(connection: Connection, names: Iterable[str]) -> None:
    """Revoke bots, which ends their access until `rotate_token`. If a name is unknown, raise `UsageFault` and revoke
    none.
    """
    _update_bots(connection, names, token_hash=None, revoked=True)


def approve_bots(connection: Connection, names: Iterable[str], *, approved: bool) -> None:
    """Approve bots, or end their approval. Raise `UsageFault` and change no bot if a name is unknown."""
    _update_bots(connection, names, approved=approved)


def set_people(connection: Connection, names: Iterable[str], *, person: bool) -> None:
    """Mark names as those of people or, if `person` is false, of bots. Their ratings stay. Raise `UsageFault` and mark
    none if a name is unknown.
    """
    _update_bots(connection, names, person=person)


def set_display(connection: Connection, name: str, display: str | None) -> None:
    """Set a bot's display name, or remove it if `display` is None. Raise `UsageFault` for an unknown bot, and
    `NameInUse` if another bot has that display name.
    """
    if display is not None:
        _check_displays(connection, {name: display})
    _update_bots(connection, [name], display=display)


def _check_displays(connection: Connection, displays: Mapping[str, str]) -> None:
    """Raise `NameInUse` if one of the display names in `displays` belongs to a registered bot that is not in
    `displays`. `displays` has the new display names of bots, by bot name.
    """
    if not displays:
        return
    query = "SELECT name, key, display FROM bots WHERE display IS NOT NULL AND (token_hash IS NOT NULL OR revoked)"
    own = set(map(fold_name, displays))
    taken = {fold_display_name(row.display): row.name for row in execute(connection, query) if row.key not in own}
    for display in displays.values():
        if (key := fold_display_name(display)) in taken:
            raise NameInUse(describe_taken_display_name(display, taken[key], taken))


def display_names(connection: Connection, limit: int) -> dict[str, str]:
    """Return the display names of up to `limit` bots, by folded bot name. Bots that were registered last come first."""
    query = "SELECT key, display FROM bots WHERE display IS NOT NULL ORDER BY id DESC LIMIT :limit"
    return {row.key: row.display for row in execute(connection, query, {"limit": limit})}


def claim_person(connection: Connection, name: str, *, person: bool) -> bool:
    """Mark a name as a person's or a bot's, unless it has rated ladder matches. Return whether it was marked."""
    key = fold_name(name)
    if execute(connection, _CLAIM_PERSON, {"key": key, "person": person}).rowcount != 1:
        return False
    announce(connection, "bots", [key])
    return True


def rename_bot(connection: Connection, old: str, new: str) -> None:
    """Rename a bot, which keeps its token and ratings. Raise `UsageFault` for an unknown bot, and the errors of
    `check_new_name`.
    """
    check_new_name(connection, old, new)
    _update_bots(connection, [old], name=new, key=fold_name(new), renamed=_time_of_renaming(connection))
    rename_in_actions(connection, old, new)
    rename_in_plans(connection, old, new)


def _time_of_renaming(connection: Connection) -> str:
    """Return the present time, but no earlier one than the end of the latest match: the clock may have been set back
    since, and the records of the matches so far have the old name.
    """
    latest: str | None = execute(connection, "SELECT max(finished) FROM matches").scalar()
    return max(utc_now(), latest or "")


def check_new_name(connection: Connection, old: str, new: str) -> None:
    """Raise `UsageFault` for an invalid new name, `NameInUse` for a taken one, `StillPlaying` if the bot plays now, or
    in a planned tournament, the rest of whose results would be those of the old name.
    """
    if not is_bot_name(new):
        raise UsageFault(describe_invalid_bot_name(new))
    if find_bot_id(connection, new) not in (None, find_bot_id(connection, old)):
        raise NameInUse(f"a bot is called {new} already: choose another name")
    _check_is_not_playing(connection, old, "renamed")
    title = find_played_plan(connection, find_bot_id(connection, old))
    if title is not None:
        raise StillPlaying(f"{old} plays in the planned tournament {title}: it can be renamed when that is over")


def anonymize_bot(connection: Connection, name: str) -> str:
    """Delete a bot's identity. Its name and token become free, and its results get a placeholder name, which is
    returned. The planned tournaments in which it plays end. Raise `StillPlaying` if the bot has a match under way, and
    `UsageFault` if there is no such bot.
    """
    _check_is_not_playing(connection, name, "deleted")
    number = find_bot_id(connection, name)
    first = f"{DELETED_PREFIX}{number}"
    names = itertools.chain([first], (f"{first}-{at}" for at in itertools.count(2)))
    placeholder = next(one for one in names if find_bot_id(connection, one) in (None, number))
    values = {
        "name": placeholder,
        "key": placeholder,
        "token_hash": None,
        "revoked": True,
        "approved": False,
        "person": False,
        "display": None,
    }
    _update_bots(connection, [name], **values, seen=None, renamed=_time_of_renaming(connection))
    rename_in_actions(connection, name, placeholder)
    rename_in_plans(connection, name, placeholder)  # another bot that takes the name was not invited
    fail_plans_of_bot(connection, number, placeholder)
    for statement in (_DELETE_INCIDENTS, _DELETE_FAILURES, *_DELETE_PROGRAMS):
        execute(connection, statement, {"bot": number})
    return placeholder


def _check_is_not_playing(connection: Connection, name: str, change: str) -> None:
    nodes = nodes_of_bot(connection, name)
    if nodes:
        raise StillPlaying(
            f"{name} plays in a match under way at node {list_first(nodes)}: it can be {change} when that is over"
        )


def _update_bots(connection: Connection, names: Iterable[str], **values: str | bool | None) -> None:
    names = list(names)
    announce(connection, "bots", map(fold_name, names))
    changes = ", ".join(f"{column} = :{column}" for column in values)
    for name in names:
        words = {**values, "old_key": fold_name(name)}
        if execute(connection, f"UPDATE bots SET {changes} WHERE key = :old_key", words).rowcount != 1:
            raise UsageFault(f"there is no bot called {name}: `arena bot list` names them")


def log_incident(connection: Connection, bot: str, incident: Incident) -> None:
    """Store an incident of a bot, and delete its oldest incidents beyond `MAX_INCIDENTS`. Ignore an unknown bot."""
    number = find_bot_id(connection, bot)
    if number is None:
        return
    text = replace_nul(incident.text[:MAX_INCIDENT_CHARACTERS])
    row = {"bot": number, "at": incident.at, "code": incident.code, "text": text}
    execute(connection, insert_into("incidents", list(row)), row)
    execute(connection, _DELETE_OLD_INCIDENTS, {"bot": number})


def latest_incidents(connection: Connection, bot: str) -> list[Incident]:
    """Return the stored incidents of a bot, newest first."""
    rows = execute(
        connection, "SELECT * FROM incidents WHERE bot = :bot ORDER BY id DESC", {"bot": find_bot_id(connection, bot)}
    )
    return read_rows(Incident, rows)

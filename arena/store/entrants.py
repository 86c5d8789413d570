"""The hosted bots that enter a tournament, each with the version that was active at a time: its deadline.

The versions with which bots entered are kept for as long as their bots are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from msgspec import Struct
from sqlalchemy import Connection

from arena.store.bot_versions import CHECKING, WAITING, games_of
from arena.store.dialect import execute, insert_into
from arena.store.registry import find_bot_id
from arena.store.retention_clock import database_now
from protocol.display import list_first
from protocol.errors import UsageFault
from protocol.names import fold_name

_SELECT_ACTIVATIONS = """SELECT bots.name, bots.key, bot_activations.number, bot_activations.digest,
    bot_activations.since, bot_versions.manifest, bot_versions.chosen_games
FROM bot_activations JOIN bots ON bots.id = bot_activations.bot
LEFT JOIN bot_versions ON bot_versions.bot = bots.id AND bot_versions.digest = bot_activations.digest
WHERE bots.token_hash IS NOT NULL AND NOT bots.revoked
ORDER BY bots.key, bot_activations.id"""
"""The query for the activations of all hosted bots, by bot, each bot's in their order."""
_SELECT_UNCHECKED = """SELECT bots.name, bots.key, bot_versions.number FROM bot_versions
JOIN bots ON bots.id = bot_versions.bot
WHERE state IN (:waiting, :checking) AND submitted <= :until ORDER BY bots.key, bot_versions.number"""
"""The query for the versions that were handed in until a time, and whose check has not ended."""


class HostedEntrant(Struct, frozen=True, kw_only=True):
    """A hosted bot in a tournament, with the version that plays. `since` is when that was handed in or chosen again.
    It is `late` if that was after the deadline.
    """

    bot: str
    number: int
    digest: str
    since: str
    late: bool = False

    @property
    def label(self) -> str:
        """The version as tables have it: its number, and whether it is late."""
        return f"v{self.number} late" if self.late else f"v{self.number}"


class EntrantList(Struct, frozen=True, kw_only=True):
    """The entrants of a tournament, by name, at the deadline `as_of`. `notes` say what did not enter, and why."""

    as_of: str
    entrants: list[HostedEntrant]
    notes: list[str] = []


def find_entrants(
    connection: Connection, game: str, as_of: str | None = None, bots: Sequence[str] = (), *, late: bool = False
) -> EntrantList:
    """Return the hosted bots that play a game, each with the version that was active at `as_of`, by default now.

    If `bots` are named, they alone enter. With `late`, a bot that had no version then enters with its first one since.
    Raise `UsageFault` if a named bot can't enter.
    """
    now = database_now(connection)
    until = as_of or now
    named = {fold_name(bot): bot for bot in bots}
    entrants, notes = [], []
    if until > now:
        notes.append(describe_early_entry(until))
    rows = execute(connection, _SELECT_ACTIVATIONS).all()
    refusals: dict[str, str] = {}
    for key, group in groupby(rows, lambda row: row.key):
        if named and key not in named:
            continue
        found = _choose(list(group), game, until, now, late=late)
        if isinstance(found, str):
            refusals[key] = found
            continue
        entrant, note = found
        entrants.append(entrant)
        notes += note
    known = {fold_name(entrant.bot) for entrant in entrants}
    for key, bot in named.items():
        if key not in known:
            raise UsageFault(refusals.get(key) or f"{bot} is no hosted bot, or has no version that passed its check")
    notes += (refusal for refusal in refusals.values() if refusal)
    notes += _unchecked(connection, until, named)
    return EntrantList(as_of=until, entrants=entrants, notes=notes)


def describe_early_entry(until: str) -> str:
    """Return the note of an entrant list whose deadline is still to come."""
    return f"{until} is still to come: versions that are handed in until then play if this is repeated"


def _choose(
    rows: Sequence[Any], game: str, until: str, now: str, *, late: bool
) -> tuple[HostedEntrant, list[str]] | str:
    """Return a bot's entry and what is to be said of it; else why it has none: "" if its program is for other games.

    `rows` are its activations. One that is later than `now` was in time: the clock was set back since.
    """
    before = [row for row in rows if row.since <= until or row.since > now]
    row = before[-1] if before else rows[0]
    version = f"{row.name}, version {row.number}"
    if row.manifest is None:
        return f"{version}, which was active at {until}, is no longer kept: it can't enter"
    if game not in games_of(row.manifest, row.chosen_games):
        is_declared = game in games_of(row.manifest, None)
        return f"{version}, does not enter: its owner chose games without {game}" if is_declared else ""
    if not before and not late:
        return f"{version}, was handed in at {row.since}, after the deadline: it enters only if late bots may"
    entrant = HostedEntrant(bot=row.name, number=row.number, digest=row.digest, since=row.since, late=not before)
    newest = rows[-1]
    if before and newest is not row:
        return entrant, [f"{newest.name}, version {newest.number}, came after the deadline: version {row.number} plays"]
    return entrant, []


def _unchecked(connection: Connection, until: str, named: Mapping[str, str]) -> Iterator[str]:
    for row in unchecked_rows(connection, until):
        if not named or row.key in named:
            yield f"{row.name}, version {row.number}, was handed in before the deadline, and its check has not ended"


def unchecked_rows(connection: Connection, until: str) -> Sequence[Any]:
    """Return the versions that were handed in until a time and wait for their check, with name, key and number."""
    words = {"waiting": WAITING, "checking": CHECKING, "until": until}
    return execute(connection, _SELECT_UNCHECKED, words).all()


def freeze_entrants(connection: Connection, tournament: str, entrants: Sequence[HostedEntrant]) -> None:
    """Keep the versions with which bots enter a tournament. Raise `UsageFault` if one is gone."""
    for entrant in entrants:
        words = {"bot": find_bot_id(connection, entrant.bot), "digest": entrant.digest}
        query = "SELECT 1 FROM bot_versions WHERE bot = :bot AND digest = :digest"
        if execute(connection, query, words).first() is None:
            raise UsageFault(f"{entrant.bot}, version {entrant.number}, is no longer kept: it can't enter")
        row = {"tournament": tournament, **words, "number": entrant.number, "late": entrant.late}
        execute(connection, f"{insert_into('entrants', list(row))} ON CONFLICT DO NOTHING", row)


class EnteredVersion(NamedTuple):
    """A version with which a hosted bot entered a tournament: its number, and whether it came after the deadline."""

    number: int
    is_late: bool


def entered_versions(
    connection: Connection, tournament: str, arguments: Mapping[str, Any]
) -> dict[str, EnteredVersion]:
    """Return the versions with which hosted bots entered a tournament, by the names that the bots have now. If another
    arena keeps them, the names are those of the tournament's arguments.
    """
    query = """SELECT bots.name, number, late FROM entrants JOIN bots ON bots.id = entrants.bot
    WHERE tournament = :tournament"""
    rows = execute(connection, query, {"tournament": tournament}).all()
    if rows:
        return {row.name: EnteredVersion(row.number, bool(row.late)) for row in rows}
    hosted = arguments.get("hosted") or {}
    return {bot: EnteredVersion(one["version"], bool(one.get("late"))) for bot, one in hosted.items()}


def tournaments_of_bot(connection: Connection, bot: str) -> list[str]:
    """Return the ids of the tournaments that a hosted bot entered. Without its versions, none can be repeated."""
    query = "SELECT tournament FROM entrants WHERE bot = :bot ORDER BY tournament"
    return [row.tournament for row in execute(connection, query, {"bot": find_bot_id(connection, bot)})]


def describe_unrepeatable(tournaments: Sequence[str]) -> str:
    """Return the sentence about tournaments that can't be repeated, because a bot was deleted."""
    return f"its programs are gone, so these tournaments can't be repeated: {list_first(tournaments)}"


def sources_of(connection: Connection, tournament: str | None = None) -> Iterator[tuple[str, int, bytes]]:
    """Yield the name, the version's number and the content (zip) of each hosted bot: the versions that entered a
    tournament, or without one those that are active now.
    """
    if tournament is None:
        listed = find_active(connection)
    else:
        query = """SELECT bots.name, entrants.number, entrants.bot, entrants.digest FROM entrants
        JOIN bots ON bots.id = entrants.bot WHERE tournament = :tournament ORDER BY bots.key"""
        listed = execute(connection, query, {"tournament": tournament}).all()
    for row in listed:
        words = {"bot": row.bot, "digest": row.digest}
        query = "SELECT content FROM bot_versions WHERE bot = :bot AND digest = :digest"
        found = execute(connection, query, words).one_or_none()
        if found is not None:
            yield row.name, row.number, bytes(found.content)


def find_active(connection: Connection) -> Sequence[Any]:
    """Return the latest activation of each hosted bot, with name, id, number and digest."""
    query = """SELECT bots.name, bot_activations.bot, number, digest FROM bot_activations
    JOIN bots ON bots.id = bot_activations.bot WHERE bots.token_hash IS NOT NULL AND bot_activations.id = (
        SELECT max(id) FROM bot_activations AS latest WHERE latest.bot = bots.id
    ) ORDER BY bots.key"""
    return execute(connection, query).all()

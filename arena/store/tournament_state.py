"""Tournaments in progress: opening them, their seeds, and finished matches that wait to be rated in schedule order."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection

from arena.store.dialect import execute, insert_into, list_parameter
from arena.store.luck_value import MatchLuck
from arena.store.rows import read_row
from arena.store.schema import tournament_id
from machine.timestamps import utc_now
from protocol.errors import UsageFault
from referee.footer import ClosedMatch
from referee.result import Result

_UNFINISHED_SQL = """SELECT id, seed FROM tournaments WHERE arguments = :arguments AND finished IS NULL
ORDER BY started DESC LIMIT 1"""
_SEEDS_SQL = """SELECT seed, finished FROM tournaments WHERE arguments IN (SELECT value FROM {each:arguments} AS told)
ORDER BY started DESC"""
_STORED_TOURNAMENTS = """SELECT id, seed, arguments, finished IS NOT NULL AS finished,
    (SELECT count(*) FROM matches WHERE matches.tournament = tournaments.id) AS matches
FROM tournaments ORDER BY started DESC"""
_SAVE_PENDING = """INSERT INTO awaiting (match, tournament, place, data)
SELECT CAST(:match AS text), :tournament, CAST(:place AS integer), :data
WHERE NOT EXISTS (SELECT 1 FROM matches WHERE id = :match) ON CONFLICT (match) DO NOTHING"""
"""The statement that stores a match that waits to be rated, unless it is stored or rated already."""
_PENDING_SQL = """SELECT awaiting.*, EXISTS (SELECT 1 FROM matches WHERE id = awaiting.match) AS known
FROM awaiting ORDER BY match"""
"""The query for the matches that wait to be rated, and for whether they are rated already."""


def open_tournament(
    connection: Connection, arguments: str, seed: str | None, dice_arguments: str | None = None
) -> tuple[str, str]:
    """Return the id and the seed of a tournament with these arguments (canonical JSON without the seed). Store it if it
    is new.

    If a seed is given, it is the tournament with that seed, finished or not. Without one, it is the newest unfinished
    tournament with these arguments, or a new one with a random seed. The dice of a new tournament follow from the seed
    and `dice_arguments` (canonical JSON). Without these, they follow from the seed and the tournament's id.
    """
    if seed is None:
        unfinished = execute(connection, _UNFINISHED_SQL, {"arguments": arguments}).first()
        if unfinished is not None:
            return unfinished.id, unfinished.seed
        seed = secrets.token_hex(16)
    name = tournament_id(arguments, seed)
    row = {"id": name, "arguments": arguments, "seed": seed, "started": utc_now()}
    if dice_arguments is not None:
        stem = tournament_id(dice_arguments, seed)
        taken = execute(connection, "SELECT id FROM tournaments WHERE prefix = :stem", {"stem": stem}).first()
        row |= {"stem": stem, "prefix": stem if taken is None else name}
    execute(connection, f"{insert_into('tournaments', list(row))} ON CONFLICT DO NOTHING", row)
    return name, seed


def tournament_randomness(connection: Connection, tournament: str) -> tuple[str, str]:
    """Return two texts of a tournament: the stem, from which its dice follow together with the seed, and the prefix of
    its match ids.
    """
    row = execute(connection, "SELECT stem, prefix FROM tournaments WHERE id = :id", {"id": tournament}).one()
    return row.stem or tournament, row.prefix or tournament


class OriginArguments(Struct):
    """The arguments of a tournament that say which bots it has: the words that name the bots, the settings of all of
    them, whether their programs ran elsewhere (`afar`), and which of the words name hosted bots (`hosted`).
    """

    bots: list[str]
    settings: dict[str, str] = {}
    afar: bool = False
    hosted: dict[str, Any] = {}


class TournamentOrigin(NamedTuple):
    """The origin of a tournament: the arguments that say which bots it has, and the `seed` and the `stem`, two texts
    from which its dice follow.
    """

    arguments: OriginArguments
    seed: str
    stem: str


def tournament_origin(connection: Connection, tournament: str) -> TournamentOrigin | None:
    """Return which bots a tournament has, and the texts from which its dice follow; None if it does not exist. Raise
    `UsageFault` if its stored arguments are not those of a tournament.
    """
    query = "SELECT arguments, seed, stem FROM tournaments WHERE id = :id"
    row = execute(connection, query, {"id": tournament}).one_or_none()
    if row is None:
        return None
    try:
        arguments = msgspec.json.decode(row.arguments, type=OriginArguments)
    except msgspec.DecodeError as exc:
        raise UsageFault(
            f"{tournament}: its arguments in the database are not those of a tournament: restore a backup"
        ) from exc
    return TournamentOrigin(arguments, row.seed, row.stem or tournament)


class StoredSeeds(NamedTuple):
    """The newest seeds with which a group of tournaments was played. `open` is the newest seed with which some
    tournaments of the group are unfinished or not started. `finished` is the newest with which all are finished. Each
    is None if there is no such seed.
    """

    open: str | None
    finished: str | None


def find_seeds(connection: Connection, arguments: Collection[str]) -> StoredSeeds:
    """Return the newest seeds with which a group of tournaments was played. Each of `arguments` (canonical JSON without
    the seed) stands for a tournament of the group.
    """
    finished: dict[str, int] = {}
    for row in execute(connection, _SEEDS_SQL, list_parameter("arguments", arguments)):
        finished[row.seed] = finished.get(row.seed, 0) + (row.finished is not None)
    whole = {seed: count == len(arguments) for seed, count in finished.items()}
    return StoredSeeds(*(next((seed for seed in whole if whole[seed] is wanted), None) for wanted in (False, True)))


class StoredTournament(NamedTuple):
    """A stored tournament. `arguments` are canonical JSON without the seed. `matches` counts its stored matches."""

    id: str
    seed: str
    arguments: str
    matches: int
    finished: bool


def find_similar_tournaments(
    connection: Connection, arguments: str, ignored: Collection[str]
) -> list[StoredTournament]:
    """Return the stored tournaments with these arguments, newest first. Arguments in `ignored` may differ."""
    wanted = _without(arguments, ignored)
    return [
        read_row(StoredTournament, row)
        for row in execute(connection, _STORED_TOURNAMENTS)
        if _without(row.arguments, ignored) == wanted
    ]


def _without(arguments: str, names: Collection[str]) -> dict[str, Any]:
    read: dict[str, Any] = msgspec.json.decode(arguments)
    return {name: value for name, value in read.items() if name not in names}


def is_finished(connection: Connection, tournament: str) -> bool:
    """Return whether a tournament is finished."""
    query = "SELECT finished FROM tournaments WHERE id = :id"
    return execute(connection, query, {"id": tournament}).scalar() is not None


def finish_tournament(connection: Connection, tournament: str) -> None:
    """Mark a tournament as finished. Delete its matches that still wait to be rated, because they were not needed."""
    words = {"id": tournament, "now": utc_now()}
    execute(connection, "DELETE FROM awaiting WHERE tournament = :id", words)
    execute(connection, "UPDATE tournaments SET finished = :now WHERE id = :id", words)


class PendingResult(Struct, frozen=True):
    """A finished match of a tournament that waits to be rated. `failures` says by seat why a bot's program failed."""

    closed: ClosedMatch
    luck: MatchLuck | None = None
    failures: Mapping[int, str] = {}


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(PendingResult).decode


def save_pending(connection: Connection, batch: Iterable[PendingResult]) -> None:
    """Store matches that wait to be rated, except those stored already. `finish_matches` later deletes them."""
    for one in batch:
        result = one.closed.result
        row = {"match": result.match, "tournament": result.tournament, "place": result.place, "data": _encode(one)}
        execute(connection, _SAVE_PENDING, row)


def pending_of_tournament(connection: Connection, tournament: str) -> list[PendingResult]:
    """Return the matches of a tournament that wait to be rated, in schedule order."""
    query = "SELECT data FROM awaiting WHERE tournament = :id ORDER BY place"
    return [_decode(data) for data in execute(connection, query, {"id": tournament}).scalars()]


def drop_pending(connection: Connection, matches: Sequence[str]) -> None:
    """Delete matches that wait to be rated, by id."""
    statement = "DELETE FROM awaiting WHERE match IN (SELECT value FROM {each:ids} AS told)"
    execute(connection, statement, list_parameter("ids", matches))


def find_pending_problems(
    connection: Connection, check_record: Callable[[Result, tuple[()], MatchLuck | None, bytes], Iterable[str]]
) -> Iterator[str]:
    """Yield a line for each problem with matches that wait to be rated. `check_record` checks one match's record."""
    for row in execute(connection, _PENDING_SQL):
        if row.known:
            yield f"match {row.match}: it waits to be rated, but is rated"
        try:
            one = _decode(row.data)
        except (msgspec.DecodeError, TypeError) as exc:
            yield f"match {row.match}, which waits to be rated: it can't be read: {exc}"
            continue
        result = one.closed.result
        if (result.match, result.tournament, result.place) != (row.match, row.tournament, row.place):
            said = f"{result.match}, place {result.place} of {result.tournament}"
            yield f"match {row.match}, which waits to be rated: its stored data says {said}"
            continue
        unrated = replace(result, rated=False, pool=None)
        for complaint in check_record(unrated, (), one.luck, one.closed.pack_record()):
            yield f"match {row.match}, which waits to be rated: {complaint}"

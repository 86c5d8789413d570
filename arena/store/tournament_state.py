"""Tournaments in progress: opening them, their seeds, and finished matches that wait to be rated in schedule order."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, delete, func, insert, select, update

from arena.store.dialect import upsert
from arena.store.luck_value import MatchLuck
from arena.store.schema import awaiting, matches, tournament_id, tournaments
from machine.timestamps import utc_now
from protocol.errors import UsageFault
from referee.footer import ClosedMatch
from referee.result import Result


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
        unfinished = connection.execute(
            select(tournaments.c.id, tournaments.c.seed)
            .where(tournaments.c.arguments == arguments, tournaments.c.finished.is_(None))
            .order_by(tournaments.c.started.desc())
        ).first()
        if unfinished is not None:
            return unfinished.id, unfinished.seed
        seed = secrets.token_hex(16)
    name = tournament_id(arguments, seed)
    row = {"id": name, "arguments": arguments, "seed": seed, "started": utc_now()}
    if dice_arguments is not None:
        stem = tournament_id(dice_arguments, seed)
        taken = connection.execute(select(tournaments.c.id).where(tournaments.c.prefix == stem)).first()
        row |= {"stem": stem, "prefix": stem if taken is None else name}
    connection.execute(upsert(connection, tournaments).values(row).on_conflict_do_nothing())
    return name, seed


def tournament_randomness(connection: Connection, tournament: str) -> tuple[str, str]:
    """Return two texts of a tournament: the stem, from which its dice follow together with the seed, and the prefix of
    its match ids.
    """
    query = select(tournaments.c.stem, tournaments.c.prefix).where(tournaments.c.id == tournament)
    row = connection.execute(query).one()
    return row.stem or tournament, row.prefix or tournament


class OriginArguments(Struct):
    """The arguments of a tournament that say which bots it has: the words that name the bots, the settings of all of
    them, and whether their programs ran elsewhere (`afar`).
    """

    bots: list[str]
    settings: dict[str, str] = {}
    afar: bool = False


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
    query = select(tournaments.c.arguments, tournaments.c.seed, tournaments.c.stem).where(
        tournaments.c.id == tournament
    )
    row = connection.execute(query).one_or_none()
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
    rows = connection.execute(
        select(tournaments.c.seed, tournaments.c.finished)
        .where(tournaments.c.arguments.in_(arguments))
        .order_by(tournaments.c.started.desc())
    )
    finished: dict[str, int] = {}
    for seed, when in rows:
        finished[seed] = finished.get(seed, 0) + (when is not None)
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
    played = func.count(matches.c.number)
    columns = [tournaments.c[name] for name in ("id", "seed", "arguments", "finished")]
    query = (
        select(*columns, played.label("played"))
        .outerjoin(matches, matches.c.tournament == tournaments.c.id)
        .group_by(*columns, tournaments.c.started)
        .order_by(tournaments.c.started.desc())
    )
    wanted = _without(arguments, ignored)
    return [
        StoredTournament(row.id, row.seed, row.arguments, row.played, row.finished is not None)
        for row in connection.execute(query)
        if _without(row.arguments, ignored) == wanted
    ]


def _without(arguments: str, names: Collection[str]) -> dict[str, Any]:
    read: dict[str, Any] = msgspec.json.decode(arguments)
    return {name: value for name, value in read.items() if name not in names}


def is_finished(connection: Connection, tournament: str) -> bool:
    """Return whether a tournament is finished."""
    query = select(tournaments.c.finished).where(tournaments.c.id == tournament)
    return connection.execute(query).scalar() is not None


def finish_tournament(connection: Connection, tournament: str) -> None:
    """Mark a tournament as finished. Delete its matches that still wait to be rated, because they were not needed."""
    connection.execute(delete(awaiting).where(awaiting.c.tournament == tournament))
    connection.execute(update(tournaments).where(tournaments.c.id == tournament).values(finished=utc_now()))


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
        rated = select(matches.c.id).where(matches.c.id == result.match)
        known = rated.union_all(select(awaiting.c.match).where(awaiting.c.match == result.match))
        if connection.execute(known).first() is None:
            row = {"match": result.match, "tournament": result.tournament, "place": result.place, "data": _encode(one)}
            connection.execute(insert(awaiting), row)


def pending_of_tournament(connection: Connection, tournament: str) -> list[PendingResult]:
    """Return the matches of a tournament that wait to be rated, in schedule order."""
    query = select(awaiting.c.data).where(awaiting.c.tournament == tournament).order_by(awaiting.c.place)
    return [_decode(data) for data in connection.execute(query).scalars()]


def drop_pending(connection: Connection, matches: Sequence[str]) -> None:
    """Delete matches that wait to be rated, by id."""
    connection.execute(delete(awaiting).where(awaiting.c.match.in_(matches)))


def find_pending_problems(
    connection: Connection, check_record: Callable[[Result, tuple[()], MatchLuck | None, bytes], Iterable[str]]
) -> Iterator[str]:
    """Yield a line for each problem with matches that wait to be rated. `check_record` checks one match's record."""
    known = select(matches.c.id).where(matches.c.id == awaiting.c.match).exists().label("known")
    for row in connection.execute(select(awaiting, known).order_by(awaiting.c.match)):
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

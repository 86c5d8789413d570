"""Checking a database: its file, each row, the references between rows, and the ratings. Damage becomes a line of the
report and does not stop the check. The report names the parts that cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace
from sqlalchemy import Boolean, Connection
from sqlalchemy.exc import DBAPIError

from arena.store import archives, games, match_log, match_luck, rating_rebuild, result_queries, tournament_state, views
from arena.store.database import first_line
from arena.store.dialect import execute, is_postgresql
from arena.store.luck_value import MatchLuck
from arena.store.match_numbers import IN_NUMBERS_SQL, last_match_number, numbers_parameter
from arena.store.schema import metadata, tournament_id
from protocol.digest import encode_canonical
from protocol.names import fold_name, is_bot_name
from referee.result import Result, SeatRating

CHECK_BATCH_MATCHES = 32
"""The number of matches checked at a time."""
_TIME_PATTERN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
_HASH_PATTERN = re.compile(r"[0-9a-f]{64}")


_SELECT_BOT = """SELECT bots.name, bots.key, bots.token_hash, bots.revoked, bots.created, bots.seen, bots.renamed
FROM bots WHERE id = :number"""


class RecordCheck(Protocol):
    """A function that compares the stored data of a match (result, ratings and luck) with its record. In the result,
    renamed bots have empty names.
    """

    def __call__(
        self,
        result: Result,
        ratings: tuple[SeatRating, ...],
        luck: MatchLuck | None,
        body: bytes,
        /,
        *,
        is_pending: bool = False,
    ) -> Iterable[str]:
        """Yield a line for each difference between the stored data of a match and its record (`body`). With
        `is_pending`, the match still waits to be rated.
        """


class _StoredMatch(NamedTuple):
    """The stored data of a match. `rows` are its seats, and `body` is its record. `archive` is the number of the
    archive file to which the record was moved; None if the record is in the database. If `rows[0]` names an archive
    file although the record is in the database, the match is damaged.
    """

    result: Result
    rows: list[Any]
    body: bytes | None
    archive: int | None


def check_database(
    connection: Connection,
    check_record: RecordCheck = lambda result, ratings, luck, record, is_pending=False: (),
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Iterator[str]:
    """Yield a line for each problem of a database. `check_record` compares a match with its record. `progress` is
    called with two numbers: the matches checked so far, and all matches.
    """
    for what, part in (
        ("the file", _check_file(connection)),
        ("the views", views.find_problems(connection)),
        ("the bots", _check_bots(connection)),
        ("the tournaments", _check_tournaments(connection)),
        ("the seasons", _check_seasons(connection)),
        ("the brought games", games.find_problems(connection)),
        ("the order of the matches", _check_numbers(connection)),
        ("the nodes of the matches", _nodes(connection)),
        ("the matches", _check_matches(connection, check_record, progress)),
        ("the log", match_log.find_problems(connection)),
        ("the files of old records", _check_archives(connection)),
        (
            "the matches to be rated",
            tournament_state.find_pending_problems(connection, partial(check_record, is_pending=True)),
        ),
        ("the luck of the matches", match_luck.find_problems(connection)),
        ("the ratings and summaries", rating_rebuild.find_problems(connection)),
    ):
        yield from _report_errors(connection, what, part)


def _report_errors(connection: Connection, what: str, part: Iterable[str]) -> Iterator[str]:
    try:
        yield from part
    except Exception as exc:  # damaged rows can make the code that reads them fail in any way
        if isinstance(exc, DBAPIError) and is_postgresql(connection):
            connection.rollback()  # otherwise the transaction rejects further statements
        yield f"{what} can't be read: {first_line(getattr(exc, 'orig', exc))}"


def _check_file(connection: Connection) -> Iterator[str]:
    """Yield problems that SQLite's own checks find. A PostgreSQL server checks its files and constraints itself."""
    if is_postgresql(connection):
        return
    for row in connection.exec_driver_sql("PRAGMA integrity_check"):
        if row[0] != "ok":
            yield f"the file is damaged: {row[0]}"
    for row in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"table {row[0]}, row {row[1]}: refers to a missing row of {row[2]}"
    for table in metadata.sorted_tables:
        for column in table.columns:
            if isinstance(column.type, Boolean):
                query = f"SELECT count(*) FROM {table.name} WHERE {column.name} NOT IN (0, 1)"
                if count := execute(connection, query).scalar_one():
                    yield f"table {table.name}: {column.name} is neither 0 nor 1 in {count} rows"


def _check_bots(connection: Connection) -> Iterator[str]:
    numbers = execute(connection, "SELECT id FROM bots ORDER BY id").scalars().all()
    for number in numbers:
        yield from _report_errors(connection, f"bot number {number}", _check_bot(connection, number))


def _check_bot(connection: Connection, number: int) -> Iterator[str]:
    row = execute(connection, _SELECT_BOT, {"number": number}).one()
    if not is_bot_name(row.name):
        yield f"bot number {number}: {row.name!r} is not a valid name"
    if row.key != fold_name(row.name):
        yield f"bot {row.name}: its lookup key is {row.key!r}, but must be {fold_name(row.name)!r}"
    if row.token_hash is not None and not _HASH_PATTERN.fullmatch(row.token_hash):
        yield f"bot {row.name}: its token's hash is not 64 hex digits"
    if row.token_hash is not None and row.revoked:
        yield f"bot {row.name}: it is revoked and has a token"
    for name in ("created", "seen", "renamed"):
        if (time := getattr(row, name)) is not None and not _TIME_PATTERN.fullmatch(time):
            yield f"bot {row.name}: {name} is {time!r}, which is not a time"


def _check_tournaments(connection: Connection) -> Iterator[str]:
    for row in execute(connection, "SELECT * FROM tournaments"):
        if row.id != tournament_id(row.arguments, row.seed):
            yield f"tournament {row.id}: its id does not follow from its arguments and seed"
        for time in (row.started, row.finished):
            if time is not None and not _TIME_PATTERN.fullmatch(time):
                yield f"tournament {row.id}: {time!r} is not a time"


def _check_seasons(connection: Connection) -> Iterator[str]:
    last = last_match_number(connection)
    before = 1
    for row in execute(connection, "SELECT * FROM seasons ORDER BY id"):
        if row.key != fold_name(row.name) or not is_bot_name(row.name):
            yield f"season {row.name!r}: the name is invalid, or its lookup key {row.key!r} is wrong"
        if not _TIME_PATTERN.fullmatch(row.started):
            yield f"season {row.name}: started is {row.started!r}, which is not a time"
        if not before <= row.first <= last + 1:
            yield f"season {row.name}: its first match is number {row.first}: it must be {before} to {last + 1}"
        before = row.first


def _check_numbers(connection: Connection) -> Iterator[str]:
    query = "SELECT count(*), min(number), max(number) FROM matches"
    count, first, last = tuple(execute(connection, query).one())
    if count and (first, last) != (1, count):
        yield f"there are {count} matches, but their numbers go from {first} to {last}: some are missing"


def _nodes(connection: Connection) -> Iterator[str]:
    query = "SELECT id, node FROM matches WHERE node IS NOT NULL AND node NOT IN (SELECT id FROM nodes)"
    for row in execute(connection, query):
        yield f"match {row.id}: it was played on node {row.node!r}, which does not exist"


def _check_matches(
    connection: Connection, check_record: RecordCheck, progress: Callable[[int, int], None]
) -> Iterator[str]:
    numbers = execute(connection, "SELECT number FROM matches ORDER BY number").scalars().all()
    for at in range(0, len(numbers), CHECK_BATCH_MATCHES):
        some = numbers[at : at + CHECK_BATCH_MATCHES]
        try:
            found = _load_matches(connection, some)
        except Exception:  # one match is damaged, so load each match alone
            found = {}
        for number in some:
            yield from _report_errors(
                connection, f"match number {number}", _check_match(connection, number, found, check_record)
            )
        progress(at + len(some), len(numbers))


def _load_matches(connection: Connection, numbers: Sequence[int]) -> dict[int, _StoredMatch]:
    query = f"SELECT match, data FROM records WHERE match {IN_NUMBERS_SQL}"
    bodies = {row.match: row.data for row in execute(connection, query, numbers_parameter(numbers))}
    found = list(result_queries.iter_numbered_results(connection, numbers))
    files = {result.match: rows[0].archive for number, result, rows in found if number not in bodies}
    moved = archives.read_all_archived(connection, {match: file for match, file in files.items() if file is not None})
    return {
        number: _StoredMatch(result, rows, bodies.get(number) or moved.get(result.match), files.get(result.match))
        for number, result, rows in found
    }


def _check_match(
    connection: Connection, number: int, found: dict[int, _StoredMatch], check_record: RecordCheck
) -> Iterator[str]:
    stored = found.get(number) or _load_matches(connection, [number]).get(number)
    if stored is None:
        yield f"match number {number} has no seats"
        return
    result, rows, body, moved = stored
    if (config := encode_canonical(result.config).decode()) != rows[0].config:
        yield f"match {result.match}: its config is not stored in the canonical form {config}"
    if [row.seat for row in rows] != list(range(len(rows))):
        yield f"match {result.match}: its seats are {', '.join(str(row.seat) for row in rows)}, not numbered from 0"
    ratings = result_queries.seat_ratings(rows)
    if not result.rated and any(value is not None for rating in ratings for value in msgspec.structs.astuple(rating)):
        yield f"match {result.match}: it is unrated, but its seats have ratings"
    if body is None and moved is not None:
        try:
            body = result_queries.record_of(connection, result.match)
        except result_queries.RecordRemoved:
            return  # `_check_archives` reports the missing file once
    if body is None:
        if rows[0].record_bytes is not None or moved is not None:
            yield f"match {result.match} has no record"
        return
    if result.rated and result.annulled is not None:
        yield f"match {result.match}: it is both rated and annulled"
    for complaint in check_record(*as_recorded(result, rows), match_luck.luck_from_row(rows[0]), body):
        yield f"match {result.match}: {complaint}"
    if moved is None and rows[0].archive is not None:
        yield f"match {result.match}: its record is in the database, but listed in file number {rows[0].archive!r}"
    if moved is None and rows[0].record_bytes != len(body):
        yield f"match {result.match}: its record has {len(body)} bytes, but the database says {rows[0].record_bytes}"


def _check_archives(connection: Connection) -> Iterator[str]:
    for one in archives.needed_archives(connection):
        if not one.path.is_file():
            yield f"the file {one.path} is missing, with the records of {one.held} matches"
        elif (size := one.path.stat().st_size) != one.bytes:
            yield f"the file {one.path} has {size} bytes, but the database says {one.bytes}"


def as_recorded(result: Result, rows: Sequence[Any]) -> tuple[Result, tuple[SeatRating, ...]]:
    """Return a stored result and its ratings in the form in which the match's record should have them. Bots that were
    renamed after the match have empty names, because the record has their old names. There are no ratings if the match
    was rated again, because the record keeps the first ratings. `rows` are the stored seats.
    """
    named = tuple(
        replace(seat, bot="") if row.renamed is not None and row.renamed >= result.finished else seat
        for seat, row in zip(result.seats, rows, strict=True)
    )
    rated = result.rated and not rows[0].rerated
    return replace(result, seats=named), result_queries.seat_ratings(rows) if rated else ()

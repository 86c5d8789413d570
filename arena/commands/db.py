"""`arena db`: the database brought up to date, its ratings computed again, and whether it all adds up."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from arena.commands.data_dir import exclusively
from arena.commands.output import counted
from arena.replay.verify import differences, verify
from arena.store import database, rating_rebuild
from arena.store.backup import back_up
from arena.store.integrity_check import check_database
from arena.store.match_luck import MatchLuck
from arena.store.store import Store
from arena.store.upgrade import upgrade as upgrade_file
from measuring.luck import luck_of
from measuring.value_registry import names_of
from protocol.display import printable
from protocol.errors import ArenaFault, BadRecord
from protocol.games import rules_of
from referee import record_reader
from referee.record import Record
from referee.result import Result, SeatRating

CLOSE = 1e-6
"""By so much may luck differ that was worked out elsewhere: tables are right to 1e-9, and hundreds of events add up."""


class Unsound(ArenaFault):
    """The database does not add up."""


def upgrade(where: str, data: Path) -> None:
    """Bring the database's schema up to date."""
    with exclusively(where, data) as file:
        before, after = upgrade_file(file)
    print(f"{file} has schema {after}" + ("" if before == after else f", upgraded from {before}"))


def rebuild_ratings(where: str, data: Path) -> None:
    """Compute all ratings again from the results."""
    with exclusively(where, data), closing(Store.open(where, create=False)) as store:
        count = store.write(rating_rebuild.rebuild_ratings)
    print(f"ratings computed again from the results: {count} rows were different")


def backup(where: str, to: Path) -> None:
    """Copy the database, whoever uses it meanwhile."""
    matches = back_up(database.database_path(where), to)
    print(f"{to}: the whole database, with {counted(matches, 'match', 'matches')}; it was read again, and is sound")


def check(where: str, *, quick: bool = False) -> None:
    """Report what does not add up. Raises `Unsound` if anything does not. A `quick` look referees no match again."""
    looking = partial(look, quick=quick)
    with closing(Store.open(where, create=False)) as store, _progress() as progress:
        complaints = list(store.iterate(check_database, looking, progress))
    for line in complaints:
        print(printable(line))
    if complaints:
        raise Unsound(f"{store.file} does not add up: {counted(len(complaints), 'complaint', 'complaints')}")
    records = "agrees with its record" if quick else "agrees with its record, which verifies"
    print(f"{store.file} is sound: the file, its rows, every result {records}, and the ratings follow")


def look(
    result: Result,
    ratings: Sequence[SeatRating],
    luck: MatchLuck | None,
    body: bytes,
    *,
    quick: bool,
    waits: bool = False,
) -> Iterator[str]:
    """What is wrong with a record and what is stored beside it, of a match that is rated if it is to be, or `waits`."""
    try:
        record = record_reader.read(body, "the record")
        if not quick:
            verify(record, waits=waits)
    except BadRecord as fault:
        yield str(fault).removeprefix(f"{result.match}: ")
        return
    yield from differences(record, result, ratings)
    if luck is not None and not quick:
        yield from _of_luck(record, luck)


def _of_luck(record: Record, luck: MatchLuck) -> Iterator[str]:
    """What the luck should be, where it is by a value that this version has."""
    game = rules_of(record.header.game, record.header.config)
    if luck.value in names_of(game):
        found = luck_of(record, luck.value).total[0]
        if abs(found - luck.points) > CLOSE:
            yield f"its luck is {luck.points!r} by {luck.value}, from the record it is {found!r}"


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Shows how far a check is, on a terminal."""
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("matches", total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)

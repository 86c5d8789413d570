"""`arena db`: upgrades, copies, backs up, thins and checks the database, and rebuilds its ratings."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from time import sleep

from msgspec.structs import asdict
from rich.progress import Progress

from arena.builtin_bots import house_names
from arena.commands.data_dir import exclusively
from arena.commands.output import check_is_file
from arena.commands.server_or_local import by_server_or_local
from arena.operations.thinning import REST, Thin
from arena.operator.requests import COMMAND_LINE
from arena.replay.verify import differences, verify
from arena.store import rating_rebuild
from arena.store.actions import note_action
from arena.store.archives import Archive, needed_archives
from arena.store.archiving import Old, count_old, default_folder, move_all
from arena.store.backup import back_up
from arena.store.data_folder import is_held
from arena.store.database import Database
from arena.store.database_copy import copy_database
from arena.store.database_url import database_at
from arena.store.integrity_check import check_database
from arena.store.luck_value import MatchLuck
from arena.store.match_log import append_lost, log_key, make_key
from arena.store.nodes import list_nodes
from arena.store.retention_clock import days_before_now
from arena.store.store import Reader, Store
from arena.store.thinning import (
    MIB,
    Removed,
    Retention,
    count_removable,
    count_removed,
    find_removable,
    remove_all,
    remove_records,
)
from arena.store.upgrade import upgrade as upgrade_database
from machine.console import Console
from machine.subprocesses import be_nice
from machine.terminal import say
from measuring.luck import luck_of
from measuring.value_registry import names_of
from protocol.display import counted, few
from protocol.errors import ArenaFault, BadRecord, UsageFault
from protocol.games import rules_of
from referee import record_reader
from referee.record import Record
from referee.result import Result, SeatRating

NICE = 10
"""The niceness of work beside a server, so that the server, its pages and its bots go first."""
MOVED = "move_records"
"""The audit log's name for moving old records to files."""
_AS_LARGE = "the database has that room for what comes, and is as large as before"
CLOSE = 1e-6
"""Tolerance for luck computed elsewhere: tables are exact to 1e-9, and hundreds of events add up."""


class Unsound(ArenaFault):
    """Raised when the database is inconsistent."""


def upgrade(where: str, data: Path, backup: Path | None) -> None:
    """Upgrade the database's schema. If there is anything to do, copy the database to `backup` first."""
    if backup is not None:
        check_is_file("--backup", backup)
    with exclusively(where, data) as database:
        before, after = upgrade_database(database, backup)
    if before == after:
        say(f"{database} has schema {after}" + ("" if backup is None else ": nothing to do, and no backup made"))
    else:
        say(f"{database} has schema {after}, upgraded from {before}" + (f"; as it was: {backup}" if backup else ""))


def rebuild_ratings(where: str, data: Path) -> None:
    """Recompute all ratings from the results, and restore entries that the log lacks."""
    with exclusively(where, data), closing(Store.open(where, create=False)) as store:
        count = store.write(rating_rebuild.rebuild_ratings)
        entries = store.write(append_lost)
    say(f"ratings computed again from the results: {count} rows were different")
    if entries:
        say(f"the log lacked {counted(entries, 'entry', 'entries')}: made again from the results")


def show_log_key(where: str, data: Path, *, new: bool) -> None:
    """Print the public key that signs the log of results, or start to use a new key. Raises `DamagedLog`."""
    if new:
        with exclusively(where, data), closing(Store.open(where, create=False)) as store:
            say(store.write(make_key))
        return
    with closing(Reader.open(where)) as reader:
        key = reader.read(log_key)
    if key is None:
        raise UsageFault(f"{database_at(where)} has no match yet: the key is made with the first")
    say(key)


def backup(where: str, to: Path) -> None:
    """Copy the database to a new file; other programs may use it meanwhile."""
    check_is_file("a backup", to)
    database = database_at(where)
    if database.file is None:
        with closing(Reader.open(database)) as reader:
            _name_folders(reader.read(needed_archives))
    copied = back_up(database, to)
    matches = counted(copied.matches, "match", "matches")
    say(f"{to}: the whole database, with {matches}; it was read again, and is sound")
    if copied.files:
        say(
            f"with it belong files of old records, {counted(len(copied.files), 'file', 'files')} that are beside it now"
        )
    if copied.elsewhere:
        say(f"not copied: {few(copied.elsewhere)}: what has old records of it, but is not below the database's folder")
    if copied.missing:
        say(f"missing, with old records of it: {few(copied.missing)}")


def _name_folders(files: Sequence[Archive]) -> None:
    """Print the folders that must be backed up along with a database that other programs back up."""
    if files:
        say(f"{_moved(files)} in {few(sorted({one.path.parent for one in files}))}: copy that as well")


def copy(source: str, to: str) -> None:
    """Copy an arena to an empty database and check the copy: ratings, records, everything. Raises `Unsound`."""
    arrived = database_at(to)
    with _progress() as progress:
        rows = copy_database(database_at(source), arrived)
        with closing(Store.open(arrived, create=False)) as store:
            complaints = list(store.iterate(check_database, look, progress))
            files = store.read(needed_archives)
    for line in complaints:
        say(line)
    if complaints:
        raise Unsound(
            f"{arrived} does not add up: {counted(len(complaints), 'complaint', 'complaints')}; {source} is as it was"
        )
    matches, bots = counted(rows["matches"], "match", "matches"), counted(rows["bots"], "bot", "bots")
    say(f"{arrived} has {matches} of {bots}, every row as it was, and is sound")
    if files:
        say(f"{_moved(files)} in {few(sorted({one.path.parent for one in files}))}, where they were: keep them there")


def thin(where: str, data: Path, keep: Retention, *, vacuum: bool, dry_run: bool = False) -> None:
    """Remove the records of old matches, through the server if one runs. `vacuum` shrinks the file afterwards."""
    if dry_run:
        with closing(Reader.open(where)) as reader:
            would_go = reader.read(count_removable, reader.read(find_removable, keep))
        say(f"{_records(would_go.records, would_go.bytes)} would be removed; nothing was")
        return
    if vacuum:
        with exclusively(where, data), closing(Store.open(where, create=False)) as store:
            removed = _removed(store, keep)
            freed = store.vacuum()
        say(f"{_told(removed)}; {store.database} is {_size(freed)} smaller")
        return
    removed = by_server_or_local(where, data, Thin(**asdict(keep)), Removed, lambda store: _removed(store, keep))
    say(f"{_told(removed)}; {_AS_LARGE}")


def move(where: str, data: Path, days: int, to: Path | None, *, rated: bool, vacuum: bool, dry_run: bool) -> None:
    """Move the records of matches that ended `days` ago or earlier to files, throttled while a server runs. These are
    unrated matches, matches in which a built-in bot played, and with `rated` all rated ones. `vacuum` shrinks the
    database file afterwards.

    Raises `UsageFault` if other nodes might not find the files.
    """
    database = database_at(where)
    with closing(Reader.open(database)) as reader:
        until = reader.read(days_before_now, days)
        old = Old(until=until, house=tuple(house_names(data)), rated=rated)
        if dry_run:
            would_go = reader.read(count_old, old)
    if dry_run:
        say(f"{_records(would_go.records, would_go.bytes)} would be moved to files; nothing was")
        return
    if to is None and database.file is None:
        _check_alone(database)
    folder = default_folder(database, data) if to is None else to.absolute()
    folders = {data} if database.file is None else {data, database.file.absolute().parent}
    beside = any(map(is_held, folders))
    alone = not beside and database.file is not None
    if beside:
        be_nice(NICE)
    with ExitStack() as stack:
        if vacuum:
            stack.enter_context(exclusively(where, data))
        store = stack.enter_context(closing(Store.open(database, create=False, checkpoint=alone)))
        store.write(note_action, COMMAND_LINE, MOVED, ())  # before the work: an interrupted move is partly done
        moved = move_all(store, old, folder, (lambda seconds: None) if alone else lambda seconds: sleep(REST * seconds))
        then = f"{database} is {_size(store.vacuum())} smaller" if vacuum else _AS_LARGE
    made = f" to {counted(moved.files, 'file', 'files')} in {folder}, {_size(moved.file_bytes)}" if moved.files else ""
    say(f"{_records(moved.records, moved.bytes)} moved{made}; {then}")


def _check_alone(database: Database) -> None:
    """Raise `UsageFault` if several nodes use the database: each has its own data folder. Stopped nodes don't count."""
    with closing(Reader.open(database)) as reader:
        names = [node.name for node in reader.read(list_nodes) if node.state != "stopped"]
    if len(names) > 1:
        raise UsageFault(
            f"{few(names)} share this database: name with --to a folder that all of them, and who else reads records, "
            "have at the same path"
        )


def _records(count: int, size: int) -> str:
    return f"{counted(count, 'record', 'records')}, {_size(size)},"


def _removed(store: Store, keep: Retention) -> Removed:
    return remove_all(store, remove_records, store.read(find_removable, keep))


def _told(removed: Removed) -> str:
    return f"{counted(removed.records, 'record', 'records')} removed, {_size(removed.bytes)}"


def _size(size: int) -> str:
    return f"{math.ceil(size / 1024)} KiB" if size < MIB else f"{size / MIB:.1f} MiB"


def check(where: str, *, quick: bool = False) -> None:
    """Print what is inconsistent, and raise `Unsound` if anything is. `quick` skips refereeing the matches again."""
    looking = partial(look, quick=quick)
    with closing(Store.open(where, create=False)) as store, _progress() as progress:
        complaints = list(store.iterate(check_database, looking, progress))
        removed = 0 if complaints else store.read(count_removed)
        files = store.read(needed_archives)
    for line in complaints:
        say(line)
    if complaints:
        raise Unsound(f"{store.database} does not add up: {counted(len(complaints), 'complaint', 'complaints')}")
    records = "agrees with its record" if quick else "agrees with its record, which verifies"
    told = [f"{counted(removed, 'record was', 'records were')} removed"] if removed else []
    told += [_moved(files)] if files else []
    more = "".join(f"; {one}" for one in told)
    looked_at = "its rows" if store.database.file is None else "the file, its rows"
    say(f"{store.database} is sound: {looked_at}, every result {records}, and the ratings follow{more}")


def _moved(files: Sequence[Archive]) -> str:
    records = counted(sum(one.held for one in files), "record is", "records are")
    return f"{records} in {counted(len(files), 'file', 'files')} of old ones"


def look(
    result: Result,
    ratings: Sequence[SeatRating],
    luck: MatchLuck | None,
    body: bytes,
    *,
    quick: bool = False,
    waits: bool = False,
) -> Iterator[str]:
    """Yield what is wrong with a match's record, and where its result, ratings and luck differ from it. `waits` says
    whether the match still waits to be rated.
    """
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
    """Yield a complaint if the stored luck differs from the record's, where this version has its value function."""
    game = rules_of(record.header.game, record.header.config)
    if luck.value in names_of(game):
        found = luck_of(record, luck.value).total[0]
        if abs(found - luck.points) > CLOSE:
            yield f"its luck is {luck.points!r} by {luck.value}, from the record it is {found!r}"


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Yield a callback (matches done, total) that shows a progress bar on a terminal."""
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("matches", total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)

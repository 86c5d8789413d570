"""`arena db`: upgrades, copies, backs up, thins and checks the database, and rebuilds its ratings."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from time import sleep

from msgspec.structs import asdict
from rich.progress import Progress

from arena.builtin_bots import builtin_bot_names
from arena.commands.brought_games import MISSING_RULES_ADVICE
from arena.commands.data_dir import exclusive_database
from arena.commands.output import check_is_file
from arena.commands.server_or_local import ask_server_or_run
from arena.operations.thinning import IDLE_RATIO, Thin
from arena.operator.requests import COMMAND_LINE_ORIGIN
from arena.ratings import rating_system
from arena.replay.verify import OtherRulesDiffer, iter_differences, verify_by_states, verify_record
from arena.store import rating_rebuild
from arena.store.actions import log_action
from arena.store.archives import Archive, needed_archives
from arena.store.archiving import OldRecordFilter, count_old_records, default_archive_folder, move_all
from arena.store.backup import back_up
from arena.store.data_folder import is_held
from arena.store.database import Database
from arena.store.database_copy import copy_database
from arena.store.database_url import open_database_url
from arena.store.integrity_check import check_database
from arena.store.luck_value import MatchLuck
from arena.store.match_log import log_key, make_key, restore_missing
from arena.store.nodes import list_nodes
from arena.store.result_queries import matches_without_rules, pools_of_other_versions
from arena.store.retention_clock import days_before_now
from arena.store.store import Reader, Store, open_to_read
from arena.store.thinning import (
    RemovalTotals,
    Retention,
    count_removable,
    count_removed,
    find_removable,
    remove_all,
    remove_records,
)
from arena.store.upgrade import upgrade_database as upgrade_database
from machine.console import Console
from machine.subprocesses import renice
from machine.terminal import say
from machine.units import MIB
from measuring.luck import luck_of
from measuring.value_registry import value_names
from protocol.display import format_count, list_first
from protocol.errors import ArenaFault, BadRecord, MissingRules, UsageFault
from protocol.games import is_known_game, missing_rules_message, shared_game
from protocol.pools import version_of
from referee import record_reader
from referee.record import Record, rules_digest
from referee.result import Result, SeatRating

NICENESS = 10
"""The niceness of the command that moves records while a server runs. The server, its pages and its bots go first."""
MOVE_ACTION = "move_records"
"""The name in the audit log of the action that moves old records to files."""
_FILE_SIZE_NOTE = "the database file keeps its size; new records use the free space"
"""The note that the database file has not shrunk because records were removed without `--vacuum`."""
LUCK_TOLERANCE = 1e-6
"""Maximum difference in points at which a match's stored luck counts as equal to its recomputed luck.

Values of positions in tables are exact to 1e-9, and a match adds up hundreds of them.
"""


class InconsistentDatabase(ArenaFault):
    """Raised when `arena db check` or `arena db copy` finds that a database is inconsistent."""


def upgrade(where: str, data: Path, backup: Path | None) -> None:
    """Upgrade the database's schema. If there is anything to do, copy the database to `backup` first."""
    if backup is not None:
        check_is_file("--backup", backup)
    with exclusive_database(where, data) as database:
        before, after = upgrade_database(database, backup)
    if before == after:
        say(f"{database} has schema {after}" + ("" if backup is None else ": nothing to do, and no backup made"))
    else:
        say(f"{database} has schema {after}, upgraded from {before}" + (f"; as it was: {backup}" if backup else ""))


def rebuild_ratings(where: str, data: Path) -> None:
    """Recompute all ratings from the results, and restore entries that the transparency log lacks."""
    with exclusive_database(where, data), closing(Store.open(where, create=False)) as store:
        count = store.write(rating_rebuild.rebuild_ratings)
        entries = store.write(restore_missing)
        without_rules = store.read(matches_without_rules)
        other_versions = store.read(pools_of_other_versions)
    say(f"ratings recomputed from the results: {count} rows were different")
    if entries:
        say(f"{format_count(entries, 'entry', 'entries')} that the log lacked restored from the results")
    for game in without_rules:
        say(f"{missing_rules_message(game)}: the ratings in its pools are as they were; {MISSING_RULES_ADVICE}")
    _print_other_versions(other_versions)


def show_log_key(where: str, data: Path, *, new: bool) -> None:
    """Print the public key that signs the log of results. With `new`, start to use a new key, and print that."""
    if new:
        with exclusive_database(where, data), closing(Store.open(where, create=False)) as store:
            say(store.write(make_key))
        return
    with closing(Reader.open(where)) as reader:
        key = reader.read(log_key)
    if key is None:
        raise UsageFault(f"{open_database_url(where)} has no match yet: the key is created with the first one")
    say(key)


def backup(where: str, to: Path) -> None:
    """Copy the database to a new file. Other programs may use the database meanwhile."""
    check_is_file("a backup", to)
    database = open_database_url(where)
    if database.file is None:
        with closing(Reader.open(database)) as reader:
            _print_archive_folders(reader.read(needed_archives))
    copied = back_up(database, to)
    matches = format_count(copied.matches, "match", "matches")
    say(f"{to}: copied the whole database, with {matches}, and checked the copy")
    if copied.files:
        say(f"copied the files of old records beside it too: {format_count(len(copied.files), 'file', 'files')}")
    if copied.elsewhere:
        say(
            f"not copied: {list_first(copied.elsewhere)}: what has old records of it, but is not below the "
            "database's folder"
        )
    if copied.missing:
        say(f"missing, with old records of it: {list_first(copied.missing)}")


def _print_archive_folders(files: Sequence[Archive]) -> None:
    """Print the archive folders that must be backed up too, if other programs back up the database."""
    if files:
        say(f"{_format_archived(files)} in {list_first(sorted({one.path.parent for one in files}))}: copy that as well")


def copy(source: str, to: str) -> None:
    """Copy an arena to an empty database, and check all of its rows. Raise `InconsistentDatabase` if one is wrong."""
    arrived = open_database_url(to)
    with _progress() as progress:
        rows = copy_database(open_database_url(source), arrived)
        with closing(Store.open(arrived, create=False)) as store:
            complaints = list(store.iterate(check_database, check_match, progress))
            files = store.read(needed_archives)
            without_rules = store.read(matches_without_rules)
    for line in complaints:
        say(line)
    if complaints:
        raise InconsistentDatabase(
            f"{arrived} has {format_count(len(complaints), 'error', 'errors')}; {source} is as it was"
        )
    matches, bots = format_count(rows["matches"], "match", "matches"), format_count(rows["bots"], "bot", "bots")
    say(f"{arrived} has {matches} of {bots}, complete and checked")
    _print_unchecked(without_rules)
    if files:
        say(
            f"{_format_archived(files)} in {list_first(sorted({one.path.parent for one in files}))}, where "
            "they were: keep them there"
        )


def thin(where: str, data: Path, retention: Retention, *, vacuum: bool, dry_run: bool = False) -> None:
    """Remove the records of old matches. A running server does that itself. `vacuum` then shrinks the database file."""
    if dry_run:
        with closing(Reader.open(where)) as reader:
            would_go = reader.read(count_removable, reader.read(find_removable, retention))
        say(f"{_records(would_go.records, would_go.bytes)} would be removed; this was a dry run")
        return
    if vacuum:
        with exclusive_database(where, data), closing(Store.open(where, create=False)) as store:
            removed = _removed(store, retention)
            freed = store.vacuum()
        say(f"{_format_removed(removed)}; {store.database} is {_size(freed)} smaller")
        return
    removed = ask_server_or_run(
        where, data, Thin(**asdict(retention)), RemovalTotals, lambda store: _removed(store, retention)
    )
    say(f"{_format_removed(removed)}; {_FILE_SIZE_NOTE}")


def move(where: str, data: Path, days: int, to: Path | None, *, rated: bool, vacuum: bool, dry_run: bool) -> None:
    """Move the records of matches that ended at least `days` days ago to files. While a server runs, move them slowly.

    Records of unrated matches and of matches of built-in bots are moved; with `rated`, also those of rated matches.
    `vacuum` shrinks the database file afterwards. Raise `UsageFault` if other nodes might not find the files.
    """
    database = open_database_url(where)
    with closing(Reader.open(database)) as reader:
        until = reader.read(days_before_now, days)
        old = OldRecordFilter(until=until, house=tuple(builtin_bot_names(data)), rated=rated)
        if dry_run:
            would_go = reader.read(count_old_records, old)
    if dry_run:
        say(f"{_records(would_go.records, would_go.bytes)} would be moved to files; this was a dry run")
        return
    if to is None and database.file is None:
        _check_alone(database)
    folder = default_archive_folder(database, data) if to is None else to.absolute()
    folders = {data} if database.file is None else {data, database.file.absolute().parent}
    beside = any(map(is_held, folders))
    alone = not beside and database.file is not None
    if beside:
        renice(NICENESS)
    with ExitStack() as stack:
        if vacuum:
            stack.enter_context(exclusive_database(where, data))
        store = stack.enter_context(closing(Store.open(database, create=False, checkpoint=alone)))
        store.write(
            log_action, COMMAND_LINE_ORIGIN, MOVE_ACTION, ()
        )  # before the work: an interrupted move is partly done
        moved = move_all(
            store, old, folder, (lambda seconds: None) if alone else lambda seconds: sleep(IDLE_RATIO * seconds)
        )
        then = f"{database} is {_size(store.vacuum())} smaller" if vacuum else _FILE_SIZE_NOTE
    made = (
        f" to {format_count(moved.files, 'file', 'files')} in {folder}, {_size(moved.file_bytes)}"
        if moved.files
        else ""
    )
    say(f"{_records(moved.records, moved.bytes)} moved{made}; {then}")


def _check_alone(database: Database) -> None:
    """Raise `UsageFault` if the database has several nodes that are not stopped. A node cannot find files in the data
    folder of another node.
    """
    with closing(Reader.open(database)) as reader:
        names = [node.name for node in reader.read(list_nodes) if node.state != "stopped"]
    if len(names) > 1:
        raise UsageFault(
            f"{list_first(names)} share this database: give a folder with --to that all nodes and all readers "
            "of records have "
            "at the same path"
        )


def _records(count: int, size: int) -> str:
    return f"{format_count(count, 'record', 'records')}, {_size(size)},"


def _removed(store: Store, retention: Retention) -> RemovalTotals:
    return remove_all(store, remove_records, store.read(find_removable, retention))


def _format_removed(totals: RemovalTotals) -> str:
    return f"{format_count(totals.records, 'record', 'records')} removed, {_size(totals.bytes)}"


def _size(size: int) -> str:
    return f"{math.ceil(size / 1024)} KiB" if size < MIB else f"{size / MIB:.1f} MiB"


def check(where: str, *, quick: bool = False) -> None:
    """Check the database, print what is inconsistent, and raise `InconsistentDatabase` if anything is.

    With `quick`, matches are not refereed again.
    """
    differing: list[str] = []
    looking = partial(check_match, quick=quick, on_other_rules=differing.append)
    with closing(open_to_read(where)) as reader, _progress() as progress:
        complaints = list(reader.iterate(check_database, looking, progress))
        removed = 0 if complaints else reader.read(count_removed)
        files = reader.read(needed_archives)
        without_rules = {} if complaints else reader.read(matches_without_rules)
        other_versions = reader.read(pools_of_other_versions)
    for line in complaints:
        say(line)
    _print_unchecked(without_rules)
    _print_other_versions(other_versions)
    if differing:
        matches = format_count(len(differing), "match", "matches")
        say(f"{matches} could not be refereed, and only their digests, draws and turns agree: {differing[0]}")
    if complaints:
        raise InconsistentDatabase(f"{reader.database} has {format_count(len(complaints), 'error', 'errors')}")
    other = "other " if without_rules else ""
    records = "agrees with its record" if quick else f"agrees with its record, every {other}record verifies"
    told = [f"{format_count(removed, 'record was', 'records were')} removed"] if removed else []
    told += [_format_archived(files)] if files else []
    more = "".join(f"; {one}" for one in told)
    looked_at = "its rows are" if reader.database.file is None else "the file and its rows are"
    say(
        f"{reader.database} is sound: {looked_at} intact, every result {records}, "
        f"and the {other}ratings follow from the results{more}"
    )


def _print_other_versions(pools: Iterable[str]) -> None:
    """Print for each of these pools that this arena has another version of the rules."""
    for pool in pools:
        missing = missing_rules_message(rating_system.game_of(pool))
        say(f"{missing} in version {version_of(pool)}: the ratings in {pool} were not computed again")


def _print_unchecked(without_rules: Mapping[str, int]) -> None:
    """Print, for each game whose rules are missing here, how many matches were not refereed."""
    for game, count in without_rules.items():
        not_checked = format_count(count, "match was not refereed", "matches were not refereed")
        say(
            f"{missing_rules_message(game)}: {not_checked}, and the ratings in its pools were not computed again; "
            f"{MISSING_RULES_ADVICE}"
        )


def _format_archived(files: Sequence[Archive]) -> str:
    records = format_count(sum(one.held for one in files), "record is", "records are")
    return f"{records} in {format_count(len(files), 'file', 'files')} of old records"


def check_match(
    result: Result,
    ratings: Sequence[SeatRating],
    luck: MatchLuck | None,
    body: bytes,
    *,
    quick: bool = False,
    is_pending: bool = False,
    on_other_rules: Callable[[str], object] | None = None,
) -> Iterator[str]:
    """Yield what is wrong with a match's record, and where the stored result, ratings and luck differ from the record.

    `is_pending` says whether the match still waits to be rated. If this arena does not have the rules of the game, the
    record is not refereed, but still compared with the stored result. If it has others, from which the match does not
    follow, `on_other_rules` gets a message, and the record is checked by its states.
    """
    try:
        record = record_reader.read_record(body, "the record")
        if not quick:
            verify_record(record, awaits_rating=is_pending)
    except MissingRules:
        pass  # its result can still be compared
    except OtherRulesDiffer as fault:
        try:
            verify_by_states(record, awaits_rating=is_pending)
        except BadRecord as wrong:
            yield str(wrong).removeprefix(f"{result.match}: ")
            return
        if on_other_rules is not None:
            on_other_rules(str(fault))
        luck = None  # other rules can't compute it
    except BadRecord as fault:
        yield str(fault).removeprefix(f"{result.match}: ")
        return
    yield from iter_differences(record, result, ratings)
    if luck is not None and not quick and is_known_game(record.header.game):
        yield from _check_luck(record, luck)


def _check_luck(record: Record, luck: MatchLuck) -> Iterator[str]:
    """Yield a complaint if the stored luck differs from the record's. Ignore luck by an unknown value function."""
    game = shared_game(record.header.game, record.header.config, rules_digest(record.header))
    if luck.value in value_names(game):
        found = luck_of(record, luck.value).total[0]
        if abs(found - luck.points) > LUCK_TOLERANCE:
            yield f"its luck by {luck.value} is {luck.points!r}, but {found!r} from the record"


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Yield a callback (matches done, total) that shows a progress bar on a terminal."""
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("matches", total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)

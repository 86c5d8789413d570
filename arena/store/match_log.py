"""The log of match results: an append-only list with an entry for each match, made when the match is stored. The
contents of an entry are computed from its match. Only their hash is stored, so a later change to the match is detected.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection

from arena.store.dialect import execute, insert_into
from arena.store.match_numbers import IN_NUMBERS_SQL, numbers_parameter
from arena.store.paging import Page, check_limit, decode_cursor, encode_cursor
from arena.store.rows import read_row
from arena.transparency_log import merkle_tree
from arena.transparency_log.merkle_tree import HASH_BYTES, IncrementalTree, peak_positions
from arena.transparency_log.signed_log import (
    KEY_BYTES,
    ConsistencyProof,
    InclusionProof,
    LogEntry,
    SignedTreeHead,
    public_key,
    sign_head,
)
from machine.timestamps import utc_now
from protocol.display import format_count
from protocol.errors import ArenaFault, UsageFault

LOG_BATCH_ROWS = 5000
"""The maximum number of matches that are read at a time, to add their entries to the log."""
_LOG_SIZE_SQL = "SELECT coalesce(max(number), 0) FROM match_log"
_SELECT_LATEST_KEY = "SELECT secret FROM log_keys ORDER BY id DESC LIMIT 1"
_PEAK_HASHES_SQL = f"SELECT number, hashes FROM match_log WHERE number {IN_NUMBERS_SQL}"
"""The query for the hashes that are stored with some log entries: those of an entry's leaf and of the subtrees that end
with it. `numbers_parameter` gives the numbers of the entries.
"""
_HASHES_SQL = "SELECT hashes FROM match_log WHERE number = :number"
_ENTRY_SQL = "SELECT number, id AS match, digest, finished, coalesce(pool, annulled) AS pool FROM matches"
"""The start of the queries for the contents of log entries. These contents are columns of the table `matches`."""
_SELECT_ENTRIES_AFTER = f"{_ENTRY_SQL} WHERE number > :after ORDER BY number LIMIT :most"
_SELECT_ENTRY_OF_MATCH = f"{_ENTRY_SQL} WHERE id = :match"
_STORED_HASHES_SQL = "SELECT number, hashes FROM match_log WHERE number > :after AND number <= :last ORDER BY number"
_FIRST_MISSING_NUMBER = """
SELECT min(number) FROM (SELECT 1 AS number UNION ALL SELECT number + 1 FROM match_log) AS following
WHERE number NOT IN (SELECT number FROM match_log)
"""
_COUNT_AFTER_SQL = "SELECT count(*) FROM match_log WHERE number > :last"
_INSERT_ENTRIES = insert_into("match_log", ("number", "hashes"))

log = logging.getLogger("arena.store.match_log")


class DamagedLog(ArenaFault):
    """The log of results proves nothing, because its key or some entries are missing."""


def append(connection: Connection, entries: Sequence[LogEntry]) -> None:
    """Append log entries for matches that were just stored, in order. First restore missing earlier entries."""
    size = entries[0].number - 1
    tree = _load_tree(connection, size)
    if size == 0 or tree is None:
        append_missing(connection)
        return
    rows = [{"number": entry.number, "hashes": tree.add(entry.leaf)} for entry in entries]
    execute(connection, _INSERT_ENTRIES, rows)


def append_missing(connection: Connection) -> None:
    """Append entries for the matches after the last entry, in the order of match numbers, up to the first missing
    number. If the log is new, make its key.
    """
    size = execute(connection, _LOG_SIZE_SQL).scalar_one()
    tree = _load_tree(connection, size)
    if tree is None:
        restore_missing(connection)
        return
    _extend(connection, tree)
    if size == 0 and tree.size and execute(connection, _SELECT_LATEST_KEY).first() is None:
        make_key(connection)


def restore_missing(connection: Connection) -> int:
    """Add the log entries that are missing between existing ones or at the end. Return the number of entries added."""
    hole = execute(connection, _FIRST_MISSING_NUMBER).scalar_one()
    tree = _load_tree(connection, hole - 1)
    assert tree is not None, "there are all before the first that is lost"
    added = _extend(connection, tree)
    if added:
        log.warning("the log of results lacked entries from number %d on; they were restored from the matches", hole)
    return added


def _extend(connection: Connection, tree: IncrementalTree) -> int:
    """Extend `tree` to the last match, and store the log entries that are missing on the way. Return the number of
    entries stored. Existing entries never change, even if they contradict their match, because the log is append-only.
    """
    count = 0
    while rows := _next_matches(connection, tree.size):
        kept = _stored_hashes(connection, tree.size, rows[-1].number)
        new = []
        for row in rows:
            there = kept.get(row.number)
            hashes = tree.add(_entry(row).leaf if there is None else there[:HASH_BYTES])
            if there is None:
                new.append({"number": row.number, "hashes": hashes})
        if new:
            execute(connection, _INSERT_ENTRIES, new)
        count += len(new)
    return count


def make_key(connection: Connection) -> str:
    """Make a new key, with which the log is signed from now on. Return its public key in hex."""
    secret = secrets.token_bytes(KEY_BYTES)
    row = {"secret": secret, "created": utc_now()}
    execute(connection, insert_into("log_keys", list(row)), row)
    return public_key(secret)


def log_key(connection: Connection) -> str | None:
    """Return the log's public key in hex; None before the first match. Raise `DamagedLog` if the key is lost."""
    secret = _secret(connection)
    return None if secret is None else public_key(secret)


def _secret(connection: Connection) -> bytes | None:
    secret: bytes | None = execute(connection, _SELECT_LATEST_KEY).scalar()
    if secret is None and not execute(connection, _LOG_SIZE_SQL).scalar_one():
        return None
    if secret is None or len(secret) != KEY_BYTES:
        raise DamagedLog("the key that signs the log is missing, or is none: `arena db log-key --new` makes another")
    return secret


def _load_tree(connection: Connection, size: int) -> IncrementalTree | None:
    """Return the hash tree of the first `size` log entries, ready for more entries; None if hashes are missing."""
    ends = {end: level for level, end in peak_positions(size)}
    found = {row.number: row.hashes for row in execute(connection, _PEAK_HASHES_SQL, numbers_parameter(ends))}
    if len(found) != len(ends):
        return None
    return IncrementalTree(size, [_hash(found[end], level) for end, level in ends.items()])


def _stored_hashes(connection: Connection, after: int, last: int) -> dict[int, bytes]:
    return {row.number: row.hashes for row in execute(connection, _STORED_HASHES_SQL, {"after": after, "last": last})}


def _next_matches(connection: Connection, size: int) -> list[Any]:
    """Return the next matches to add to a log of `size` entries: a batch of those with numbers above `size`, up to the
    first missing number.
    """
    rows = execute(connection, _SELECT_ENTRIES_AFTER, {"after": size, "most": LOG_BATCH_ROWS})
    return [row for number, row in enumerate(rows, size + 1) if row.number == number]


def _entry(row: Any) -> LogEntry:
    return read_row(LogEntry, row)


def _node(connection: Connection, level: int, end: int) -> bytes:
    hashes = execute(connection, _HASHES_SQL, {"number": end}).scalar()
    if hashes is None:
        raise DamagedLog(f"the log has no entry number {end}: `arena db check` says what is missing")
    return _hash(hashes, level)


def _hash(hashes: bytes, level: int) -> bytes:
    return hashes[level * HASH_BYTES : (level + 1) * HASH_BYTES]


def log_head(connection: Connection, size: int | None = None) -> SignedTreeHead | None:
    """Return the signed head of the log, now or when it had `size` entries; None while the log is empty. Raise
    `UsageFault` if the log never had that size, and `DamagedLog` if its key or entries are missing.
    """
    secret = _secret(connection)
    if secret is None:
        return None
    most = execute(connection, _LOG_SIZE_SQL).scalar_one()
    if size is not None and not 1 <= size <= most:
        raise UsageFault(f"of is {size}: the log has {format_count(most, 'entry', 'entries')}")
    return sign_head(secret, size or most, _root(connection, size or most))


def _root(connection: Connection, size: int) -> bytes:
    return merkle_tree.root_hash(size, lambda level, end: _node(connection, level, end))


def log_page(connection: Connection, *, after: str | None = None, limit: int = 50) -> Page[LogEntry]:
    """Return a page of the log's entries, oldest first."""
    check_limit(limit)
    start = 0 if after is None else decode_cursor(after, tuple[int])[0]
    rows = execute(connection, _SELECT_ENTRIES_AFTER, {"after": start, "most": limit + 1}).all()
    entries = [_entry(row) for row in rows[:limit]]
    further = encode_cursor((entries[-1].number,)) if len(rows) > limit else None
    return Page(rows=entries, next=further, total=execute(connection, _LOG_SIZE_SQL).scalar_one())


def prove_inclusion(connection: Connection, match: str) -> InclusionProof | None:
    """Return a proof that a match is in the log; None for an unknown match. Raise `DamagedLog` if the log lacks it."""
    row = execute(connection, _SELECT_ENTRY_OF_MATCH, {"match": match}).one_or_none()
    if row is None:
        return None
    head = log_head(connection)
    if head is None or row.number > head.size:
        raise DamagedLog(f"match {match} is not in the log: `arena db check` says which before it are missing")
    path = merkle_tree.inclusion_proof(row.number - 1, head.size, lambda level, end: _node(connection, level, end))
    return InclusionProof(entry=_entry(row), head=head, path=[each.hex() for each in path])


def prove_consistency(connection: Connection, size: int, head_size: int | None = None) -> ConsistencyProof:
    """Return a proof that the log, now or with `head_size` entries, extends the log of `size` entries. Raise
    `UsageFault` if the log never had one of these sizes, and `DamagedLog` if its key or entries are missing.
    """
    head = log_head(connection, head_size)
    if head is None or not 1 <= size <= head.size:
        entries = format_count(head.size if head else 0, "entry", "entries")
        raise UsageFault(f"size is {size}: the log has {entries}")
    path = merkle_tree.consistency_proof(size, head.size, lambda level, end: _node(connection, level, end))
    root = _root(connection, size).hex()
    return ConsistencyProof(size=size, root=root, head=head, path=[each.hex() for each in path])


def find_problems(connection: Connection) -> Iterator[str]:
    """Yield a line for each log entry that is missing or contradicts its match."""
    tree = IncrementalTree(0, ())
    while rows := execute(connection, _SELECT_ENTRIES_AFTER, {"after": tree.size, "most": LOG_BATCH_ROWS}).all():
        kept = _stored_hashes(connection, tree.size, rows[-1].number)
        for row in rows:
            if row.number != tree.size + 1:
                return  # the integrity check reports missing matches
            should = tree.add(_entry(row).leaf)
            if row.number not in kept:
                yield f"the log has no entry for match {row.match}"
            elif kept[row.number][:HASH_BYTES] != should[:HASH_BYTES]:
                yield f"the log's entry for match {row.match} does not follow from its result"
            elif kept[row.number] != should:
                yield f"the log's hashes at match {row.match} do not follow from the entries before"
    if execute(connection, _COUNT_AFTER_SQL, {"last": tree.size}).scalar_one():
        yield "the log has entries of matches that do not exist"
    try:
        _secret(connection)
    except DamagedLog as fault:
        yield str(fault)

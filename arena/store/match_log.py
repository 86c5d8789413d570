"""The log of results, in which every match has an entry as soon as it is stored; it is only added to. Entries follow
from the matches; what is kept are their hashes, so that what was changed behind its back is found.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, insert

from arena.store.dialect import execute
from arena.store.match_numbers import AMONG, among
from arena.store.paging import Page, check_limit, decode_cursor, encode_cursor
from arena.store.schema import log_keys, match_log
from arena.transparency import merkle_tree
from arena.transparency.merkle_tree import HASH_BYTES, Growing, peaks
from arena.transparency.signed_log import KEY_BYTES, LogConsistency, LogEntry, LogHead, LogProof, sign
from machine.timestamps import utc
from protocol.errors import UsageFault

AT_ONCE = 5000
_SIZE = "SELECT coalesce(max(number), 0) FROM match_log"
_KEY = "SELECT secret FROM log_keys ORDER BY id DESC LIMIT 1"
_PEAKS = f"SELECT number, hashes FROM match_log WHERE number {AMONG}"
_HASHES = "SELECT hashes FROM match_log WHERE number = :number"
_ENTRY = "SELECT number, id, digest, finished, coalesce(pool, annulled) AS pool FROM matches"
_AFTER = f"{_ENTRY} WHERE number > :after ORDER BY number LIMIT :most"
_NAMED = f"{_ENTRY} WHERE id = :match"
_KEPT = "SELECT number, hashes FROM match_log WHERE number > :after AND number <= :last ORDER BY number"
_BEYOND = "SELECT count(*) FROM match_log WHERE number > :last"
_ADD = insert(match_log)


def enter_matches(connection: Connection, entries: Sequence[LogEntry]) -> None:
    """Enter matches that were stored just now, in their order. Where the log lacks any before them, these as well."""
    size = entries[0].number - 1
    ends = {end: level for level, end in peaks(size)}
    found = {row.number: row.hashes for row in execute(connection, _PEAKS, among(ends))}
    if size == 0 or len(found) != len(ends):
        enter_missing(connection)
        return
    tree = Growing(size, [_hash(found[end], level) for end, level in ends.items()])
    connection.execute(_ADD, [{"number": entry.number, "hashes": tree.add(entry.leaf)} for entry in entries])


def enter_missing(connection: Connection) -> None:
    """Enter all matches that the log does not have yet, up to a gap in their numbers; make the key if there is none."""
    size = execute(connection, _SIZE).scalar_one()
    tree = Growing(size, [_node(connection, level, end) for level, end in peaks(size)])
    while rows := _following(connection, tree.size):
        connection.execute(_ADD, [{"number": row.number, "hashes": tree.add(_entry(row).leaf)} for row in rows])
    if tree.size and execute(connection, _KEY).first() is None:
        made = {"secret": secrets.token_bytes(KEY_BYTES), "created": utc()}
        connection.execute(insert(log_keys), made)


def _following(connection: Connection, size: int) -> list[Any]:
    """Matches that follow on so many, without a gap; some of them, if there are very many."""
    rows = execute(connection, _AFTER, {"after": size, "most": AT_ONCE})
    return [row for number, row in enumerate(rows, size + 1) if row.number == number]


def _entry(row: Any) -> LogEntry:
    return LogEntry(number=row.number, match=row.id, digest=row.digest, finished=row.finished, pool=row.pool)


def _node(connection: Connection, level: int, end: int) -> bytes:
    return _hash(execute(connection, _HASHES, {"number": end}).scalar_one(), level)


def _hash(hashes: bytes, level: int) -> bytes:
    return hashes[level * HASH_BYTES : (level + 1) * HASH_BYTES]


def log_head(connection: Connection) -> LogHead | None:
    """The log as it is now, signed; None as long as no match is in it."""
    secret = execute(connection, _KEY).scalar()
    if secret is None:
        return None
    size = execute(connection, _SIZE).scalar_one()
    return sign(secret, size, _root(connection, size))


def _root(connection: Connection, size: int) -> bytes:
    return merkle_tree.root(size, lambda level, end: _node(connection, level, end))


def log_page(connection: Connection, *, after: str | None = None, limit: int = 50) -> Page[LogEntry]:
    """A page of its entries, from the first on."""
    check_limit(limit)
    start = 0 if after is None else decode_cursor(after, tuple[int])[0]
    rows = execute(connection, _AFTER, {"after": start, "most": limit + 1}).all()
    entries = [_entry(row) for row in rows[:limit]]
    further = encode_cursor((entries[-1].number,)) if len(rows) > limit else None
    return Page(rows=entries, next=further, total=execute(connection, _SIZE).scalar_one())


def log_proof(connection: Connection, match: str) -> LogProof | None:
    """That a match is in the log; None if there is none of this id."""
    row = execute(connection, _NAMED, {"match": match}).one_or_none()
    head = log_head(connection)
    if row is None or head is None:
        return None
    path = merkle_tree.inclusion_path(row.number - 1, head.size, lambda level, end: _node(connection, level, end))
    return LogProof(entry=_entry(row), head=head, path=[each.hex() for each in path])


def log_consistency(connection: Connection, size: int) -> LogConsistency:
    """That the log goes on from what it was with so many entries. Raises `UsageFault` where it never had as many."""
    head = log_head(connection)
    if head is None or not 1 <= size <= head.size:
        raise UsageFault(f"size is {size}: the log has {head.size if head else 0} entries")
    path = merkle_tree.consistency_path(size, head.size, lambda level, end: _node(connection, level, end))
    root = _root(connection, size).hex()
    return LogConsistency(size=size, root=root, head=head, path=[each.hex() for each in path])


def find_problems(connection: Connection) -> Iterator[str]:
    """Which entries are missing, or are not what the matches say, a line each."""
    tree = Growing(0, ())
    while rows := execute(connection, _AFTER, {"after": tree.size, "most": AT_ONCE}).all():
        words = {"after": tree.size, "last": rows[-1].number}
        kept = {row.number: row.hashes for row in execute(connection, _KEPT, words)}
        for row in rows:
            if row.number != tree.size + 1:
                return  # matches are missing, which is said elsewhere
            should = tree.add(_entry(row).leaf)
            if row.number not in kept:
                yield f"the log has no entry for match {row.id}"
            elif kept[row.number][:HASH_BYTES] != should[:HASH_BYTES]:
                yield f"the log has another entry for match {row.id} than its result gives"
            elif kept[row.number] != should:
                yield f"the log's hashes at match {row.id} do not follow from the entries before"
    if execute(connection, _BEYOND, {"last": tree.size}).scalar_one():
        yield "the log has entries of matches that are not there"
    secret = execute(connection, _KEY).scalar()
    if tree.size and (secret is None or len(secret) != KEY_BYTES):
        yield "the key that signs the log is missing, or is none"

"""What the digest of a record can be compared with: one that somebody was told, the database, a published log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import msgspec
from msgspec import Struct

from arena.replay.verify import differences
from arena.store.database import DatabaseNotFound
from arena.store.integrity_check import as_recorded
from arena.store.result_queries import RecordRemoved, record_of, result_with_seats
from arena.store.store import Reader
from arena.transparency.signed_log import LogProof, check_proof
from protocol.display import counted, shown
from protocol.errors import ArenaFault, BadRecord, Fault, UsageFault
from protocol.reasons import VOID
from referee import record_reader
from referee.record import Record

WITHIN = 10
"""Seconds in which a log has to answer."""
MOST_BYTES = 64 * 1024
"""Of a proof."""
NOTHING = (
    "compared with nothing: it is consistent with itself, which does not show that it is the match that was played "
    "(--digest, --log)"
)
_HEX = re.compile(r"[0-9a-f]{64}")


class Anchors(Struct, frozen=True, kw_only=True):
    """What the options name: a digest, the URL or file of a log, the key that signs it. Raises `UsageFault`."""

    digest: str | None = None
    log: str | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        for name, said in (("--digest", self.digest), ("--key", self.key)):
            if said is not None and not _HEX.fullmatch(said.lower()):
                raise UsageFault(f"{name} is {shown(said)}: it is 64 hex digits")
        if self.key is not None and self.log is None:
            raise UsageFault("--key is that of a log: it goes with --log")


def compare(record: Record, name: str, database: str, anchors: Anchors) -> Iterator[str]:
    """Compare a record with all that there is, and say with what. Raises `BadRecord` where it differs, and `Fault`
    where a log gives no answer.
    """
    match, digest = record.header.match, record.footer.digest
    if anchors.digest is not None:
        if anchors.digest.lower() != digest:
            raise BadRecord(
                f"{name}: the last digest of match {match} is {anchors.digest.lower()}, here it is {digest}"
            )
        yield "its digest is the one that was told"
    said = _compare_with_database(record, name, database)
    if said is not None:
        yield said
    if anchors.log is not None:
        yield _compare_with_log(record, name, anchors.log, anchors.key)


def _compare_with_database(record: Record, name: str, database: str) -> str | None:
    match = record.header.match
    try:
        reader = Reader.open(database)
    except DatabaseNotFound:
        return None
    except Fault as fault:
        return f"not compared with the database: {fault}"
    with closing(reader):
        stored = reader.read(result_with_seats, match)
        if stored is None:
            return None
        wrong = next(differences(record, *as_recorded(*stored)), None) or _other_line(record, reader)
        if wrong is not None:
            raise BadRecord(f"{name}: this is not match {match} as {reader.database} has it: {wrong}")
        return f"it is match {match} as {reader.database} has it"


def _other_line(record: Record, reader: Reader) -> str | None:
    """Where a record differs from the one that is kept, if one is."""
    match = record.header.match
    try:
        body = reader.read(record_of, match)
    except RecordRemoved:
        return None
    if body is None:
        return None
    kept = record_reader.read(body, f"the record of match {match}")
    ours, theirs = ([one.header, *one.lines, one.footer] for one in (record, kept))
    if len(ours) != len(theirs):
        return f"there are {counted(len(theirs), 'line', 'lines')} in its record, {len(ours)} here"
    return next(
        (f"line {at} differs" for at, pair in enumerate(zip(ours, theirs, strict=True), 1) if pair[0] != pair[1]), None
    )


def _compare_with_log(record: Record, name: str, log: str, key: str | None) -> str:
    header, footer = record.header, record.footer
    try:
        proof = msgspec.json.decode(_told(log, header.match), type=LogProof)
    except (msgspec.DecodeError, UnicodeError) as exc:
        raise BadRecord(f"{log} gives no proof: {exc}") from exc
    try:
        check_proof(proof, key)
    except BadRecord as fault:
        raise BadRecord(f"{log}: {fault}") from fault
    entry, head = proof.entry, proof.head
    counts = header.rated and footer.reason != VOID
    for what, said, found in (
        ("match", entry.match, header.match),
        ("digest", entry.digest, footer.digest),
        ("end", entry.finished, footer.finished),
        ("pool", entry.pool, header.pool if counts else None),
    ):
        if said != found and not (what == "pool" and counts and header.pool is None):  # which old records do not name
            raise BadRecord(
                f"{name}: by the log of {log} the {what} of match {header.match} is {said}, here it is {found}"
            )
    return f"it is entry {entry.number} of {head.size} in the log that is signed by the key {head.key}"


def _told(log: str, match: str) -> bytes:
    """The proof from a file, or from the API of an arena, whose URL may be that of its pages."""
    try:
        if not log.startswith(("http://", "https://")):
            with Path(log).open("rb") as file:
                return file.read(MOST_BYTES)
        url = log if "/api/v1/" in log else f"{log.rstrip('/')}/api/v1/matches/{match}/proof"
        with urlopen(url, timeout=WITHIN) as answer:  # noqa: S310  of these schemes alone
            told: bytes = answer.read(MOST_BYTES)
            return told
    except HTTPError as exc:
        raise ArenaFault(f"{log} answers {exc.code}: {_message(exc)}") from exc
    except (OSError, HTTPException, ValueError) as exc:
        raise ArenaFault(f"{log} can't be read: {exc}") from exc


def _message(answer: HTTPError) -> str:
    """What the API says is wrong."""
    try:
        return str(json.loads(answer.read(MOST_BYTES))["error"]["message"])
    except (OSError, ValueError, LookupError, TypeError):
        return str(answer.reason)

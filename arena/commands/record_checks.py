"""Compares the digest of a record with a digest that the user has, the database, or a published log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import TypeVar
from urllib.error import URLError

import msgspec
from msgspec import Struct

from arena.commands.output import check_is_file
from arena.replay.verify import iter_differences
from arena.store.database import DatabaseNotFound
from arena.store.integrity_check import as_recorded
from arena.store.result_queries import RecordRemoved, record_of, result_with_seats
from arena.store.store import Reader
from arena.transparency_log.signed_log import (
    ConsistencyProof,
    InclusionProof,
    SignedTreeHead,
    check_consistency,
    check_head,
    check_inclusion,
)
from machine.atomic_write import replacing_file
from machine.bounded_fetch import HttpAnswer, fetch
from machine.input_file import read_bytes
from machine.text_encoding import decode
from protocol.display import format_count, short_repr
from protocol.errors import ArenaFault, BadRecord, Fault, UsageFault, os_errors_as
from referee import record_reader
from referee.footer import rating_pool
from referee.record import Record

LOG_TIMEOUT_S = 10
"""Seconds in which a published log must answer."""
MAX_PROOF_BYTES = 64 * 1024
"""Maximum size in bytes of a proof from a published log."""
NOT_COMPARED_MESSAGE = (
    "consistent, but compared with nothing: this does not prove that this match was played (use --digest or --log)"
)
"""The message about a record that verifies, but for which there was no digest to compare."""
_API_PATH = "/api/v1/"
"""The path of the web pages' API."""
T = TypeVar("T")
_PROOF_DESCRIPTION = (
    "a proof: --log takes the address of an arena, or what /api/v1/matches/{}/proof there answers, saved"
)
"""The form of a proof in words, for error messages; `{}` stands for the id of the match."""
_DIGEST_PATTERN = re.compile(r"[0-9a-f]{64}")
"""The pattern of a SHA-256 digest in lower-case hex."""


class ExpectedDigest(Struct, frozen=True, kw_only=True):
    """The sources that a record's digest is compared with, from the user's options.

    `log` is the URL of an arena with a published log, or a file with a proof. `key` is the key that must have signed
    the log. The file `head` contains the log's last known head, and then gets the new one.
    """

    digest: str | None = None
    log: str | None = None
    key: str | None = None
    head: Path | None = None

    def __post_init__(self) -> None:
        for name, said in (("--digest", self.digest), ("--key", self.key)):
            if said is not None and not _DIGEST_PATTERN.fullmatch(said.lower()):
                raise UsageFault(f"{name} is {short_repr(said)}: it must be 64 hex digits")
        if self.key is not None and self.log is None:
            raise UsageFault("--key is the key of a log: add --log")
        if self.head is not None and (self.log is None or not _is_url(self.log)):
            raise UsageFault("--head is the head of an arena's log: add --log URL")
        if self.head is not None:
            check_is_file("--head", self.head)


def compare_record(record: Record, name: str, database: str, expected: ExpectedDigest) -> Iterator[str]:
    """Compare a record with the database and with `expected`; yield a sentence for each source that agrees.

    Raise `BadRecord` if a source differs, and `Fault` if a published log gives no answer.
    """
    match, digest = record.header.match, record.footer.digest
    if expected.digest is not None:
        if expected.digest.lower() != digest:
            raise BadRecord(
                f"{name}: the last digest of match {match} is {digest}, but you gave {expected.digest.lower()}"
            )
        yield "its digest is the given one"
    said = _compare_with_database(record, name, database)
    if said is not None:
        yield said
    if expected.log is not None:
        yield from _compare_with_log(record, name, expected.log, expected.key, expected.head)


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
        wrong = next(iter_differences(record, *as_recorded(*stored)), None) or _find_different_line(record, reader)
        if wrong is not None:
            raise BadRecord(f"{name}: this is not match {match} as {reader.database} has it: {wrong}")
        return f"it is match {match} as {reader.database} has it"


def _find_different_line(record: Record, reader: Reader) -> str | None:
    """Return in words where a record differs from the stored record of its match; None if both are the same."""
    match = record.header.match
    try:
        body = reader.read(record_of, match)
    except RecordRemoved:
        return None
    if body is None:
        return None
    kept = record_reader.read_record(body, f"the record of match {match}")
    ours, theirs = ([one.header, *one.lines, one.footer] for one in (record, kept))
    if len(ours) != len(theirs):
        return f"there are {format_count(len(theirs), 'line', 'lines')} in its record, {len(ours)} here"
    return next(
        (f"line {at} differs" for at, pair in enumerate(zip(ours, theirs, strict=True), 1) if pair[0] != pair[1]), None
    )


def _compare_with_log(record: Record, name: str, log: str, key: str | None, file: Path | None) -> Iterator[str]:
    header, footer = record.header, record.footer
    url = log if not _is_url(log) or _API_PATH in log else f"{log.rstrip('/')}{_API_PATH}matches/{header.match}/proof"
    earlier = _read_known_head(file)
    proof = _fetch_and_decode(url, InclusionProof, _PROOF_DESCRIPTION.format(header.match))
    known = earlier.key if key is None and earlier is not None else key
    try:
        check_inclusion(proof, known)
    except BadRecord as fault:
        raise BadRecord(f"{log}: {fault}") from fault
    entry, head = proof.entry, proof.head
    for what, said, found in (
        ("match", entry.match, header.match),
        ("digest", entry.digest, footer.digest),
        ("end", entry.finished, footer.finished),
        ("pool", entry.pool, rating_pool(header, footer.reason)),
    ):
        if said != found:
            raise BadRecord(
                f"{name}: by the log of {log} the {what} of match {header.match} is {said}, here it is {found}"
            )
    yield f"it is entry {entry.number} of {head.size} in the log that is signed by the key {head.key}"
    if file is None:
        return
    if earlier is not None:
        _check_consistency(url.partition(_API_PATH)[0], earlier, head, f"{log}: this is not the log of {file}")
        yield f"that log continues the {format_count(earlier.size, 'entry', 'entries')} that {file} has seen"
    if earlier is None or head.size > earlier.size or head.key != earlier.key:
        with os_errors_as(ArenaFault, f"{file} can't be written"), replacing_file(file) as part:
            part.write_bytes(msgspec.json.encode(head) + b"\n")


def _read_known_head(file: Path | None) -> SignedTreeHead | None:
    """Return the log head in a file; None without a file. Raise `BadRecord` if the file has no signed head."""
    if file is None or not file.exists():
        return None
    head = _fetch_and_decode(str(file), SignedTreeHead, "the head of a log, as --head saves it")
    check_head(head)
    return head


def _check_consistency(arena: str, earlier: SignedTreeHead, head: SignedTreeHead, what: str) -> None:
    """Check that the published log at the URL `arena`, whose head is `head`, extends the log that had the head
    `earlier`. Raise `BadRecord` if it does not.
    """
    if head.size < earlier.size:
        raise BadRecord(f"{what}: it has {format_count(head.size, 'entry', 'entries')}, but had {earlier.size}")
    root = head.root
    if head.size > earlier.size:
        url = f"{arena}{_API_PATH}log/consistency?size={earlier.size}&of={head.size}"
        told = _fetch_and_decode(url, ConsistencyProof, "a proof that the log continues")
        check_consistency(told, head.key)
        if (told.size, told.head.size, told.head.root) != (earlier.size, head.size, head.root):
            raise BadRecord(f"{what}: it is a proof for another head")
        root = told.root
    if root != earlier.root:
        raise BadRecord(f"{what}: its first {format_count(earlier.size, 'entry', 'entries')} differ")


def _is_url(log: str) -> bool:
    return log.startswith(("http://", "https://"))


def _fetch_and_decode(where: str, form: type[T], wanted: str) -> T:
    """Read a file or URL, and decode its JSON as the type `form`. Raise `BadRecord` if it is of another type."""
    said = _read(where)
    try:
        return msgspec.json.decode(said, type=form)
    except (msgspec.DecodeError, UnicodeError) as exc:
        raise BadRecord(f"{where} is not {wanted} ({exc})") from exc


def _read(where: str, timeout_s: float = LOG_TIMEOUT_S) -> bytes:
    try:
        if not _is_url(where):
            return decode(read_bytes(Path(where), MAX_PROOF_BYTES, timeout_s)).encode()
        told = fetch(where, MAX_PROOF_BYTES, timeout_s)
    except UnicodeDecodeError as exc:
        raise BadRecord(f"{where} is not JSON: it is not text in UTF-8") from exc
    except (OSError, HTTPException, ValueError) as exc:
        raise ArenaFault(f"{where} can't be read: {_error_reason(exc)}") from exc
    if told.status >= HTTPStatus.BAD_REQUEST:
        raise ArenaFault(f"{where} answers {told.status}: {_message(told)}")
    return told.body


def _error_reason(exc: Exception) -> str:
    if isinstance(exc, URLError) and isinstance(exc.reason, Exception):
        return _error_reason(exc.reason)
    return exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)


def _message(answer: HttpAnswer) -> str:
    try:
        return str(json.loads(answer.body)["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return answer.reason

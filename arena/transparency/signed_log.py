"""What the log says: entries, the head that an arena signs, and proofs; and whether they are true."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from arena.transparency.merkle_tree import is_continued, leaf_hash, root_by_inclusion
from protocol.digest import canonical
from protocol.errors import BadRecord

KEY_BYTES = 32
"""Of an Ed25519 private key (RFC 8032)."""


class LogEntry(Struct, frozen=True, kw_only=True):
    """A match in the log: the `number` under which it was stored, its last digest, when it ended (UTC, ISO 8601), and
    the pool in which it was rated, whatever became of that; null: it was not.
    """

    number: int
    match: str
    digest: str
    finished: str
    pool: str | None

    @property
    def leaf(self) -> bytes:
        """The hash of its leaf."""
        return leaf_hash(canonical(self))


class LogHead(Struct, frozen=True, kw_only=True):
    """The log as far as it goes: how many entries, their Merkle root, and the Ed25519 signature of these two by `key`;
    all in hex.
    """

    size: int
    root: str
    key: str
    signature: str


class LogProof(Struct, frozen=True, kw_only=True):
    """That an entry is in the log of a head: the hashes beside it up to the root, in hex."""

    entry: LogEntry
    head: LogHead
    path: list[str]


class LogConsistency(Struct, frozen=True, kw_only=True):
    """That the log of a head begins with its first `size` entries, whose root was `root`: hashes, in hex."""

    size: int
    root: str
    head: LogHead
    path: list[str]


def _signed(size: int, root: str) -> bytes:
    return b"bot-arena/1/log" + canonical({"root": root, "size": size})


def sign(secret: bytes, size: int, root: bytes) -> LogHead:
    """The head, signed with a private key."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.from_private_bytes(secret)
    signature = private.sign(_signed(size, root.hex()))
    return LogHead(
        size=size, root=root.hex(), key=private.public_key().public_bytes_raw().hex(), signature=signature.hex()
    )


def check_head(head: LogHead, key: str | None = None) -> None:
    """Raises `BadRecord` unless the head is signed by its key, which is this one if one is known."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if key is not None and head.key != key.lower():
        raise BadRecord(f"the log is signed by the key {head.key}, not by {key}")
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(head.key))
        public.verify(bytes.fromhex(head.signature), _signed(head.size, head.root))
    except (InvalidSignature, ValueError) as exc:
        raise BadRecord(f"the log's head of {head.size} entries is not signed by the key {head.key}") from exc


def check_proof(proof: LogProof, key: str | None = None) -> None:
    """Raises `BadRecord` unless the entry is in the log of the head, and that is signed by its key."""
    check_head(proof.head, key)
    entry, head = proof.entry, proof.head
    if root_by_inclusion(entry.leaf, entry.number - 1, head.size, _hashes(proof.path)) != bytes.fromhex(head.root):
        raise BadRecord(f"the proof does not lead from match {entry.match} to the root of the log")


def check_consistency(told: LogConsistency, key: str | None = None) -> None:
    """Raises `BadRecord` unless the log of the head goes on from the earlier one."""
    check_head(told.head, key)
    roots = bytes.fromhex(told.root), bytes.fromhex(told.head.root)
    if not is_continued(told.size, told.head.size, *roots, _hashes(told.path)):
        raise BadRecord(f"the log of {told.head.size} entries does not go on from that of {told.size}")


def _hashes(path: Sequence[str]) -> list[bytes]:
    try:
        return [bytes.fromhex(each) for each in path]
    except ValueError as exc:
        raise BadRecord("the proof is no list of hashes in hex") from exc

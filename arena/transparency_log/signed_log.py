"""Entries of the log, signed heads and proofs, and their verification. Decoding already checks the form of fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from arena.transparency_log.merkle_tree import leaf_hash, root_from_inclusion_proof, verify_consistency
from protocol.digest import encode_canonical
from protocol.errors import BadRecord

KEY_BYTES = 32
"""The length of an Ed25519 private key (RFC 8032)."""


Hash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
"""A hash: 32 bytes in hex."""
Signature = Annotated[str, Meta(pattern="^[0-9a-f]{128}$")]
"""An Ed25519 signature: 64 bytes in hex."""
Size = Annotated[int, Meta(ge=1, le=2**53 - 1)]


class LogEntry(Struct, frozen=True, kw_only=True):
    """A match in the log: its `number` in the order of storage, its last digest, its end (UTC, ISO 8601), and the pool
    that rated it, even if it was annulled later. `pool` is null if it was unrated.
    """

    number: Size
    match: str
    digest: str
    finished: str
    pool: str | None

    @property
    def leaf(self) -> bytes:
        """The hash of the leaf that holds this entry."""
        return leaf_hash(encode_canonical(self))


class SignedTreeHead(Struct, frozen=True, kw_only=True):
    """The size of the log, its Merkle root, and the Ed25519 signature of both by `key`. All but `size` are hex."""

    size: Size
    root: Hash
    key: Hash
    signature: Signature


class InclusionProof(Struct, frozen=True, kw_only=True):
    """A proof that the log with a `head` has an `entry`. `path` has the sibling hashes from leaf to root, in hex."""

    entry: LogEntry
    head: SignedTreeHead
    path: list[Hash]


class ConsistencyProof(Struct, frozen=True, kw_only=True):
    """A proof that the log with a `head` extends a log of `size` entries with the root `root`. Hashes are in hex."""

    size: Size
    root: Hash
    head: SignedTreeHead
    path: list[Hash]


def _signed_bytes(size: int, root: str) -> bytes:
    return b"bot-arena/1/log" + encode_canonical({"root": root, "size": size})


def public_key(secret: bytes) -> str:
    """Return the public key, in hex, of a private key."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw().hex()


def sign_head(secret: bytes, size: int, root: bytes) -> SignedTreeHead:
    """Return the head of the log, signed with a private key."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    signature = Ed25519PrivateKey.from_private_bytes(secret).sign(_signed_bytes(size, root.hex()))
    return SignedTreeHead(size=size, root=root.hex(), key=public_key(secret), signature=signature.hex())


def check_head(head: SignedTreeHead, key: str | None = None) -> None:
    """Raise `BadRecord` if the head's signature is not valid for its key, or if this key is not the given `key`."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if key is not None and head.key != key.lower():
        raise BadRecord(f"the log is signed by the key {head.key}, not by {key}")
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(head.key))
        public.verify(bytes.fromhex(head.signature), _signed_bytes(head.size, head.root))
    except InvalidSignature as exc:
        raise BadRecord(f"the log's head of {head.size} entries is not signed by the key {head.key}") from exc


def check_inclusion(proof: InclusionProof, key: str | None = None) -> None:
    """Raise `BadRecord` if `check_head` does, or if the proof does not show that the log contains the entry."""
    check_head(proof.head, key)
    entry, head = proof.entry, proof.head
    if root_from_inclusion_proof(entry.leaf, entry.number - 1, head.size, _hashes(proof.path)) != bytes.fromhex(
        head.root
    ):
        raise BadRecord(f"the proof does not lead from match {entry.match} to the root of the log")


def check_consistency(proof: ConsistencyProof, key: str | None = None) -> None:
    """Raise `BadRecord` if `check_head` does, or if the proof does not show that the log extends the earlier log."""
    check_head(proof.head, key)
    roots = bytes.fromhex(proof.root), bytes.fromhex(proof.head.root)
    if not verify_consistency(proof.size, proof.head.size, *roots, _hashes(proof.path)):
        raise BadRecord(f"the log of {proof.head.size} entries does not continue that of {proof.size}")


def _hashes(path: Sequence[str]) -> list[bytes]:
    return [bytes.fromhex(each) for each in path]

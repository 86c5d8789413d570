"""Committed dice: the arena commits to a seed before the match, reveals it after, and anyone recomputes every roll.

The construction is written out in docs/protocol.md under "Dice that anyone can check".
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

SEED_BYTES = 32
NONCE_BYTES = 16


def commitment(match: str, seed: bytes) -> bytes:
    """The 32 bytes published in `start`; they bind the arena to `seed` and tell nothing about it."""
    return hashlib.sha256(b"bot-arena/1/commit" + match.encode() + seed).digest()


def match_key(match: str, seed: bytes, nonces: Iterable[bytes]) -> bytes:
    """The key K of all rolls of a match: the arena's seed mixed with every seat's nonce (empty where it sent none)."""
    mixed = b"".join(bytes([len(nonce)]) + nonce for nonce in nonces)
    return hmac.digest(seed, b"bot-arena/1/key" + match.encode() + mixed, "sha256")


class Dice:
    """The rolls of one event: a byte stream for each purpose, derived from the match key and the event's ply."""

    __slots__ = ("_key", "_ply", "_streams")

    def __init__(self, key: bytes, ply: int) -> None:
        self._key = key
        self._ply = ply
        self._streams: dict[str, _Stream] = {}

    def choice(self, purpose: str, among: int) -> int:
        """A uniform number from 0 to `among` − 1.

        Up to 256 it takes one byte, rejecting those at or above the largest multiple of `among` not above 256; beyond,
        the same with as many big-endian bytes as `among` needs (at most 65,536).
        """
        if not 1 <= among <= 65536:
            raise ValueError(f"a choice among {among}: 1 to 65536 is possible")
        stream = self._streams.get(purpose)
        if stream is None:
            stream = self._streams[purpose] = _Stream(self._key, purpose, self._ply)
        width = 1 if among <= 256 else 2
        span: int = 256**width
        limit = span - span % among
        while True:
            value = int.from_bytes(stream.take(width), "big")
            if value < limit:
                return value % among

    def die(self, purpose: str) -> int:
        """One six-sided die: 1 to 6."""
        return self.choice(purpose, 6) + 1

    def shuffle(self, purpose: str, items: Iterable[int]) -> list[int]:
        """A Fisher-Yates shuffle: i from the last index down to 1 swaps i with the choice among i + 1."""
        shuffled = list(items)
        for i in range(len(shuffled) - 1, 0, -1):
            j = self.choice(purpose, i + 1)
            shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
        return shuffled


class _Stream:
    """Block n is HMAC-SHA256(K, purpose ":" ply ":" n); the next block follows when one is used up."""

    __slots__ = ("_at", "_block", "_key", "_n", "_prefix")

    def __init__(self, key: bytes, purpose: str, ply: int) -> None:
        self._key = key
        self._prefix = f"{purpose}:{ply}:".encode()
        self._n = 0
        self._block = b""
        self._at = 0

    def take(self, count: int) -> bytes:
        taken = b""
        while len(taken) < count:
            if self._at == len(self._block):
                self._block = hmac.digest(self._key, self._prefix + str(self._n).encode(), "sha256")
                self._n += 1
                self._at = 0
            step = self._block[self._at : self._at + count - len(taken)]
            self._at += len(step)
            taken += step
        return taken

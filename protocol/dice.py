"""Committed dice: the arena commits to a seed before the match and reveals it afterwards, so that anyone can recompute
every roll. docs/protocol.md describes the construction under "Dice that anyone can check".
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, count, islice

SEED_BYTES = 32
"""The number of bytes of a match's seed."""
NONCE_BYTES = 16
"""The number of bytes of the nonce that a seat adds to the dice."""


def commitment(match: str, seed: bytes) -> bytes:
    """Return the 32 bytes published in `start`. They commit the arena to `seed` without revealing it."""
    return hashlib.sha256(b"bot-arena/1/commit" + match.encode() + seed).digest()


def match_key(match: str, seed: bytes, nonces: Iterable[bytes]) -> bytes:
    """Return the key K of all rolls of a match: the seed mixed with every seat's nonce (empty if it sent none)."""
    mixed = b"".join(bytes([len(nonce)]) + nonce for nonce in nonces)
    return hmac.digest(seed, b"bot-arena/1/key" + match.encode() + mixed, "sha256")


_FACE_TABLE = bytes(1 + byte % 6 for byte in range(256))
"""The face of a die for each byte of the stream."""
_REJECTED_BYTES = bytes(range(252, 256))
"""The values of a byte that a die roll skips: 252 to 255, because 252 is the largest multiple of 6 up to 256."""


class Dice:
    """The dice of one event. Rolls for each purpose come from a byte stream of their own, which derives from the match
    key, the purpose and the event's ply.
    """

    __slots__ = ("_key", "_ply", "_streams")

    def __init__(self, key: bytes, ply: int) -> None:
        self._key = key
        self._ply = ply
        self._streams: dict[str, Iterator[int]] = {}

    @property
    def identity(self) -> tuple[bytes, int]:
        """The arguments with which equal dice can be made: the match key and the ply."""
        return self._key, self._ply

    def choice(self, purpose: str, count: int) -> int:
        """Return a uniform number from 0 to `count` − 1. For a `count` up to 256, it draws one byte, and draws again if
        the byte is at or above the largest multiple of `count` up to 256. For a larger `count`, it does so with two
        bytes, big-endian. Raise `ValueError` if `count` is above 65,536.
        """
        if not 1 <= count <= 65536:
            raise ValueError(f"a choice among {count}: 1 to 65536 is possible")
        stream = self._stream(purpose)
        return _finish_choice(next(stream), stream, count)

    def choices(self, purpose: str, among: Sequence[int]) -> Iterator[list[int]]:
        """Yield lists endlessly. Each list has the result of a `choice` for each count in `among`. This takes half the
        time of the calls of `choice`.
        """
        stream = self._stream(purpose)
        tables = [_first_byte_table(min(each, 257)) for each in among]
        while True:
            chosen = []
            for each, table, byte in zip(among, tables, stream):  # noqa: B905  the stream does not end
                number = table[byte]
                chosen.append(_finish_choice(byte, stream, each) if number is None else number)
            yield chosen

    def roll(self, purpose: str) -> int:
        """Roll one six-sided die: 1 to 6."""
        return self.choice(purpose, 6) + 1

    def roll_many(self, purpose: str, count: int) -> bytes:
        """Roll several dice. The results are those of repeated calls of `roll`, which would take ten times as long."""
        stream = self._stream(purpose)
        thrown = b""
        while len(thrown) < count:
            thrown += bytes(islice(stream, count - len(thrown))).translate(_FACE_TABLE, _REJECTED_BYTES)
        return thrown

    def shuffle(self, purpose: str, items: Iterable[int]) -> list[int]:
        """Return the items in random order (Fisher-Yates): for i from the last index down to 1, item i is swapped with
        the item whose index is `choice(i + 1)`.
        """
        shuffled = list(items)
        for i in range(len(shuffled) - 1, 0, -1):
            j = self.choice(purpose, i + 1)
            shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
        return shuffled

    def _stream(self, purpose: str) -> Iterator[int]:
        """Return the stream of random bytes of a purpose, such as `deal`. It continues after the bytes of the purpose's
        last roll.
        """
        stream = self._streams.get(purpose)
        if stream is None:
            blocks = _blocks(self._key, f"{purpose}:{self._ply}:".encode())
            stream = self._streams[purpose] = chain.from_iterable(blocks)
        return stream


def mean_bytes(count: int) -> float:
    """Return the mean number of bytes that `Dice.choice` draws for a number below `count`."""
    width = 1 if count <= 256 else 2
    span: int = 256**width
    return width * span / (span - span % count)


def _blocks(key: bytes, prefix: bytes) -> Iterator[bytes]:
    """Yield the blocks of a stream: block n is HMAC-SHA256(K, purpose ":" ply ":" n)."""
    return (hmac.digest(key, b"%b%d" % (prefix, n), "sha256") for n in count())


def _finish_choice(byte: int, stream: Iterator[int], among: int) -> int:
    """Return the result of a choice whose first byte is `byte`; further bytes come from `stream`."""
    if among > 256:
        limit = 65536 - 65536 % among
        while (number := byte << 8 | next(stream)) >= limit:
            byte = next(stream)
        return number % among
    limit = 256 - 256 % among
    while byte >= limit:
        byte = next(stream)
    return byte % among


@cache
def _first_byte_table(among: int) -> tuple[int | None, ...]:
    """Return a table with an entry for each value of the first byte of a choice: the result, or None if further bytes
    decide it.
    """
    limit = 0 if among > 256 else 256 - 256 % among
    return tuple(byte % among if byte < limit else None for byte in range(256))

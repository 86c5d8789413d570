"""The digest chain: every event and the state after it, hashed onto what went before. Times never enter it."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from protocol.messages import Event

_canonical = msgspec.json.Encoder(order="sorted").encode


def canonical(value: Any) -> bytes:
    """JSON in UTF-8 with sorted keys and no spaces. The caller keeps floats out: they have no single spelling."""
    return _canonical(value)


def first_digest(
    match: str, game: str, config: Mapping[str, Any], seats: Sequence[str], commitment: bytes, nonces: Sequence[bytes]
) -> bytes:
    """D(0): what is fixed before the first event. `seats` are the bots' names in seat order."""
    opening = {
        "match": match,
        "game": game,
        "config": config,
        "seats": seats,
        "commitment": commitment.hex(),
        "nonces": [nonce.hex() for nonce in nonces],
    }
    return hashlib.sha256(b"bot-arena/1/digest" + _canonical(opening)).digest()


def next_digest(previous: bytes, event: Event, state: Mapping[str, Any]) -> bytes:
    """D(k) from D(k − 1), the event and the encoded state after it; where these are not for everybody `previous` has a
    `salt` behind D(k − 1).
    """
    return hashlib.sha256(previous + _canonical({"event": event, "state": state})).digest()


def strikes_digest(previous: bytes, strikes: Sequence[int]) -> bytes:
    """The last digest of a match that was called off after strikes that no event had told of; of their seats."""
    return hashlib.sha256(previous + _canonical({"strikes": strikes})).digest()


def salt(key: bytes, previous: bytes) -> bytes:
    """32 bytes that keep who knows D(k − 1) and D(k), but not the match's key, from trying out what is hidden."""
    return hmac.digest(key, b"bot-arena/1/salt" + previous, "sha256")

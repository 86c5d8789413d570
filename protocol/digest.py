"""The digest chain of a match: each event and the state after it, hashed onto the previous digest, without times."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from protocol.messages import Event, RulesStamp

_canonical = msgspec.json.Encoder(order="sorted").encode


def encode_canonical(value: Any) -> bytes:
    """Encode a value without floats, which have no unique spelling, as UTF-8 JSON with sorted keys and no spaces."""
    return _canonical(value)


def first_digest(
    match: str,
    game: str,
    config: Mapping[str, Any],
    seats: Sequence[str],
    commitment: bytes,
    nonces: Sequence[bytes],
    rules: RulesStamp | None = None,
) -> bytes:
    """Return D(0), the first digest of a match: a hash of the facts that are fixed before the first event. `seats` are
    the bots' names in seat order. `rules` is None for a game that comes with bot-arena.
    """
    opening = {
        "match": match,
        "game": game,
        "config": config,
        "seats": seats,
        "commitment": commitment.hex(),
        "nonces": [nonce.hex() for nonce in nonces],
        **({} if rules is None else {"rules": rules}),
    }
    return hashlib.sha256(b"bot-arena/1/digest" + _canonical(opening)).digest()


def next_digest(previous: bytes, event: Event, state: Mapping[str, Any]) -> bytes:
    """Return D(k), the digest after an event, from D(k − 1), the event and the encoded state after it. In a game with
    hidden information, `previous` is D(k − 1) followed by its salt (`make_salt`).
    """
    return hashlib.sha256(previous + _canonical({"event": event, "state": state})).digest()


def strikes_digest(previous: bytes, strikes: Sequence[int]) -> bytes:
    """Return the last digest of a void match in which seats got strikes after the last event. It also covers these
    strikes, which no event reports.
    """
    return hashlib.sha256(previous + _canonical({"strikes": strikes})).digest()


def result_digest(
    previous: bytes,
    ranks: Sequence[int],
    reason: str,
    reasons: Sequence[str],
    payoffs: Sequence[tuple[int, int]] | None,
) -> bytes:
    """Return the last digest of a match whose rules do not come with bot-arena. It also covers the result, which can't
    be computed without the rules. `payoffs` has each seat's total payoff and number of rounds; None without payoffs.
    """
    result = {"ranks": ranks, "reason": reason, "reasons": reasons, "payoffs": payoffs}
    return hashlib.sha256(previous + _canonical({"result": result})).digest()


def make_salt(key: bytes, previous: bytes) -> bytes:
    """Return the 32 bytes of salt in the digest D(k), made from the match key and D(k − 1). Without salt, anyone could
    try all possible hidden values until one fits D(k).
    """
    return hmac.digest(key, b"bot-arena/1/salt" + previous, "sha256")

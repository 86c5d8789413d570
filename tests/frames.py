"""Frames made by hand, of what no client should send, and what the codec says to them."""

from __future__ import annotations

import json
from typing import Any

import msgpack
import pytest

from protocol.codec import CODECS, JSON, Codec
from protocol.errors import MalformedMessage

BOTH = pytest.mark.parametrize("encoding", CODECS.values(), ids=list(CODECS))


def frame(encoding: Codec, value: Any) -> bytes | str:
    return json.dumps(value) if encoding is JSON else msgpack.packb(value)


def complaint(encoding: Codec, value: Any) -> str:
    with pytest.raises(MalformedMessage) as caught:
        encoding.decode_client(frame(encoding, value))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def move(content: Any) -> dict[str, Any]:
    return {"type": "move", "match": "m", "ply": 0, "move": content}


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else 1

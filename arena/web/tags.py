"""Entity tags: what saves a browser what it has already. Pure."""

from __future__ import annotations

import hashlib


def tag_of(body: bytes) -> str:
    """The weak tag of an answer: the same for the same bytes, however they are packed on their way."""
    return f'W/"{hashlib.sha256(body).hexdigest()[:24]}"'


def knows(known: str | None, tag: str) -> bool:
    """Whether `If-None-Match` names the tag."""
    if known is None:
        return False
    return known.strip() == "*" or tag.removeprefix("W/") in (
        each.strip().removeprefix("W/") for each in known.split(",")
    )

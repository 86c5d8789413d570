"""Cursors: where a page of rows ends, as an opaque word that the next one is asked for with."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from arena.store.view_models import Page
from protocol.errors import UsageFault

T = TypeVar("T", bound=tuple[str | float, ...])
R = TypeVar("R")
MOST_CHARACTERS = 500
MOST_ROWS = 500
"""Of a page."""
MOST_NUMBER = 2**63 - 1
"""Larger ones SQLite does not take."""


def encode_cursor(place: tuple[str | float | None, ...]) -> str:
    """The word for a place in an order."""
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def make_page(shown: list[R], found: Sequence[Any], place: Callable[[Any], tuple[str | float | None, ...]]) -> Page[R]:
    """A page of the rows that are shown, of those found, each with the `total`: one more where there are more."""
    further = encode_cursor(place(found[len(shown) - 1])) if len(found) > len(shown) else None
    return Page(rows=shown, next=further, total=found[0].total if found else 0)


def decode_cursor(word: str, kind: type[T]) -> T:
    """The place that a word stands for, a tuple of these types. Raises `UsageFault` for a word that is no cursor."""
    try:
        if len(word) > MOST_CHARACTERS:
            raise ValueError
        text = base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True)
        place = msgspec.json.decode(text, type=kind)
        if any(isinstance(part, int) and abs(part) > MOST_NUMBER for part in place):
            raise ValueError
        return place
    except (ValueError, msgspec.MsgspecError):
        shown = word if len(word) <= 40 else word[:40] + "…"
        raise UsageFault(
            f"{shown!r} is no cursor of this list: take `next` from a page of it, or leave it out"
        ) from None


def check_limit(limit: int) -> None:
    """Raise `UsageFault` unless a page may have so many rows."""
    if not 1 <= limit <= MOST_ROWS:
        raise UsageFault(f"limit is {limit}: it is 1 to {MOST_ROWS}")

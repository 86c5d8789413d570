"""Pages of lists. A cursor is an opaque text that marks where a page ends. It is sent to request the next page."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from types import GenericAlias
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct
from sqlalchemy import Connection

from arena.store.dialect import execute
from protocol.errors import UsageFault

T = TypeVar("T", bound=tuple[str | float, ...])
R = TypeVar("R")
MAX_CURSOR_CHARACTERS = 500
"""The maximum length of a cursor."""
MAX_PAGE_ROWS = 500
"""The maximum number of rows of a page."""
MAX_INTEGER = 2**63 - 1
"""The largest integer that SQLite stores."""


class Page(Struct, Generic[R], frozen=True, kw_only=True):
    """A page of a list. `next` is the cursor of the next page; None on the last page. `total` is the number of rows of
    the whole list; None if the rows would have to be counted.
    """

    rows: list[R]
    next: str | None = None
    total: int | None


def encode_cursor(place: tuple[str | float | None, ...]) -> str:
    """Return the cursor for a position in a list, given as the values of the columns that define the list's order."""
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def read_page(
    connection: Connection,
    query: str,
    parameters: Mapping[str, object],
    order_columns: Mapping[str, object],
    to_row: Callable[[Any], R],
    *,
    after: str | None,
    limit: int,
) -> Page[R]:
    """Run a query from the cursor `after` on, and return a page of its rows, converted by `to_row`. Raise `UsageFault`
    for an invalid cursor or limit.

    `order_columns` has the type of each column that defines the order. The query gets three kinds of parameters: the
    values of these columns in the last row of the previous page, `start` (true on the first page), and `limit`, which
    is the page's limit plus one. Each row of its result has the `total`.
    """
    check_limit(limit)
    last = (
        (None,) * len(order_columns)
        if after is None
        else decode_cursor(after, GenericAlias(tuple, tuple(order_columns.values())))
    )
    asked = {**parameters, **dict(zip(order_columns, last, strict=True)), "start": after is None, "limit": limit + 1}
    rows = execute(connection, query, asked).all()
    further = (
        encode_cursor(tuple(getattr(rows[limit - 1], name) for name in order_columns)) if len(rows) > limit else None
    )
    return Page(rows=list(map(to_row, rows[:limit])), next=further, total=rows[0].total if rows else 0)


def decode_cursor(cursor: str, types: type[T] | GenericAlias) -> T:
    """Return the position that a cursor marks, as a tuple of these types. Raise `UsageFault` for an invalid cursor."""
    try:
        if len(cursor) > MAX_CURSOR_CHARACTERS:
            raise ValueError
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        place = msgspec.json.decode(text, type=types)
        if any(isinstance(part, int) and abs(part) > MAX_INTEGER for part in place):
            raise ValueError
        return place
    except (ValueError, msgspec.MsgspecError):
        shown = cursor if len(cursor) <= 40 else cursor[:40] + "…"
        raise UsageFault(
            f"{shown!r} is no cursor of this list: take `next` from a page of it, or leave it out"
        ) from None


def check_limit(limit: int) -> None:
    """Raise `UsageFault` unless `limit` is an allowed number of rows for a page."""
    if not 1 <= limit <= MAX_PAGE_ROWS:
        raise UsageFault(f"limit is {limit}: it is 1 to {MAX_PAGE_ROWS}")

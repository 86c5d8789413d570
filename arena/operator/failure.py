"""A failure of a running server, as a value: hosts keep the latest without the library of the database."""

from __future__ import annotations

from msgspec import Struct


class Failure(Struct, frozen=True, kw_only=True):
    """A failure: its time (UTC, ISO 8601), whose it is ("" if unknown), and a description."""

    at: str
    who: str
    text: str

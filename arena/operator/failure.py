"""The description of a failure on a running server, as `Failure`. Hosts use this module, so it does not import the
database's library.
"""

from __future__ import annotations

from msgspec import Struct


class Failure(Struct, frozen=True, kw_only=True):
    """A failure: its time (UTC, ISO 8601), the name of the bot or component that failed ("" if unknown), and a text."""

    at: str
    who: str
    text: str

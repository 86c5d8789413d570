"""Problems that a bot caused. Server and worker processes create them, so the database library is not imported."""

from __future__ import annotations

from msgspec import Struct


class Incident(Struct, frozen=True, kw_only=True):
    """A problem that a bot's connection had at a time. `code` is an error code, a close code or the reason of a match's
    end. `text` is a sentence.
    """

    at: str
    code: str
    text: str

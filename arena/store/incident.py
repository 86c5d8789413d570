"""Incidents as values, which hosts and workers can report without the library of the database."""

from __future__ import annotations

from msgspec import Struct


class Incident(Struct, frozen=True, kw_only=True):
    """What went wrong, and when: `code` is that of an error or of a close, or a match's reason, `text` a sentence."""

    at: str
    code: str
    text: str

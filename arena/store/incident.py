"""Failures of bots. Hosts and workers create them, so this module does not import the database library."""

from __future__ import annotations

from msgspec import Struct


class Incident(Struct, frozen=True, kw_only=True):
    """What went wrong, and when: `code` is that of an error or of a close, or a match's reason, `text` a sentence."""

    at: str
    code: str
    text: str

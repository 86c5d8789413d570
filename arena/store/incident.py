"""Failures of bots. Hosts and workers create them, so this module does not import the database library."""

from __future__ import annotations

from msgspec import Struct


class Incident(Struct, frozen=True, kw_only=True):
    """A problem of a bot's connection, and its time. `code` is an error code, a close code or the reason of a match's
    end. `text` is a sentence.
    """

    at: str
    code: str
    text: str

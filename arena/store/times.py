"""How the arena writes a time, in records and in the database alike."""

from __future__ import annotations

from datetime import UTC, datetime


def utc() -> str:
    """Now, in ISO 8601 with milliseconds: 2026-01-31T12:00:00.000Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

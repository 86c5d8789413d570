"""How the arena writes a time, in records and in the database alike."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def utc(*, days_ago: float = 0.0) -> str:
    """Now, or so many days ago, in ISO 8601 with milliseconds: 2026-01-31T12:00:00.000Z. They sort as times do."""
    return written(datetime.now(UTC) - timedelta(days=days_ago))


def written(moment: datetime) -> str:
    """A moment in UTC, likewise."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_of(text: str) -> float:
    """Such a time in seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()

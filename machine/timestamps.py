"""The times of this machine's clock, as records, the database and the feed have them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def utc(*, days_ago: float = 0.0) -> str:
    """Now, or so many days ago, as `written` has it."""
    return written(datetime.now(UTC) - timedelta(days=days_ago))


def written(moment: datetime) -> str:
    """A moment in UTC, in ISO 8601 with milliseconds: 2026-01-31T12:00:00.000Z. They sort as times do."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_of(text: str) -> float:
    """Such a time in seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()

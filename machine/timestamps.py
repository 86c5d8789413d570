"""Timestamps in the format of records, the database and the feed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def utc_now(*, days_ago: float = 0.0) -> str:
    """Return the current time, or the time `days_ago` days ago, formatted by `format_timestamp`."""
    return format_timestamp(datetime.now(UTC) - timedelta(days=days_ago))


def format_timestamp(moment: datetime) -> str:
    """Format a UTC time such as 2026-01-31T12:00:00.000Z. Sorting the texts sorts the times."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_timestamp(text: str) -> float:
    """Convert a timestamp made by `format_timestamp` to seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()

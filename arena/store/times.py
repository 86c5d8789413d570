"""The arena's times, written in the database as in records."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from referee.result import written


def utc(*, days_ago: float = 0.0) -> str:
    """Now, or so many days ago, as `written` has it."""
    return written(datetime.now(UTC) - timedelta(days=days_ago))


def seconds_of(text: str) -> float:
    """Such a time in seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()

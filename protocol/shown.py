"""Values in messages: short and printable, whatever they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def shown(value: Any) -> str:
    """A value from outside, for a message: printable, and cut short."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, lists in lists in lists
        return "something too long to show"
    return text if len(text) <= 40 else text[:37] + "..."


def few(items: Iterable[Any], most: int = 8, between: str = ", ") -> str:
    """The first of some items, and how many more there are."""
    listed = list(map(str, items))
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return (between.join(listed[:most]) + more) or "none"


def among(values: Iterable[Any]) -> str:
    """What is possible: `one of a, b, c`."""
    names = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    return "one of " + ", ".join(names) if names else "nothing"

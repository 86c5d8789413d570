"""Formatting of values for people: untrusted text in messages, terminals, JSON and CSV; lists, counts, ratings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

FORMULA_PREFIXES = frozenset("=+-@\t\r\n＝＋－＠'")
"""The characters with which a formula in a spreadsheet may start, and the apostrophe, which marks a cell as text."""
_NUMBER_PATTERN = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?\Z", re.ASCII)
"""The pattern of decimal numbers, which `csv_cell` leaves unchanged."""
_NON_ASCII_PATTERN = re.compile(r"[^\x00-\x7e]")
"""The pattern of a character that is not in ASCII, or is the control character DEL."""


def escape_unprintable(text: str, *, lines: bool = False) -> str:
    """Escape every character that could move a cursor or is invisible; `lines` keeps line feeds."""
    if text.isprintable():
        return text
    if lines:
        return "\n".join(map(escape_unprintable, text.split("\n")))
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def truncate(text: str, max_chars: int) -> str:
    """Cut a text to `max_chars` characters, and append the number of characters that were cut off."""
    return text if len(text) <= max_chars else f"{text[:max_chars]}... ({len(text) - max_chars} characters more)"


def printable_json(text: str) -> str:
    """Escape in JSON text all characters that `escape_unprintable` escapes. JSON parsers still read equal values."""

    def escape(found: re.Match[str]) -> str:
        char = found[0]
        if char.isprintable():
            return char
        units = char.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))

    return _NON_ASCII_PATTERN.sub(escape, text)


def csv_cell(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would compute, unless it is a number. Text that starts with an
    apostrophe gets a second one, so that removing one apostrophe always restores the text.
    """
    return f"'{text}" if text[:1] in FORMULA_PREFIXES and not _NUMBER_PATTERN.match(text) else text


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()


def short_repr(value: Any, max_chars: int = 40) -> str:
    """Return the `repr` of an untrusted value, for a message: printable and cut to `max_chars` characters."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, lists in lists in lists
        return "something too long to show"
    return text if len(text) <= max_chars else f"{text[: max_chars - 3]}..."


def format_rating(mu: float, sigma: float) -> str:
    """Format a rating as its mean ± 3 standard deviations, as web pages do: `25.0 ± 25.0`."""
    return f"{mu:.1f} ± {3 * sigma:.1f}"


def list_first(items: Iterable[Any], max_items: int = 8, separator: str = ", ") -> str:
    """List the first items of a sequence, then the number of items left out."""
    listed = list(map(str, items))
    more = f" and {len(listed) - max_items} more" if len(listed) > max_items else ""
    return (separator.join(listed[:max_items]) + more) or "none"


def list_choices(values: Iterable[Any]) -> str:
    """List the possible values: `one of a, b, c`."""
    names = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    return "one of " + ", ".join(names) if names else "nothing"


def format_count(number: int, one: str, more: str) -> str:
    """Format a number with its noun, such as `1 match` or `3 matches`."""
    return f"{number} {one if number == 1 else more}"

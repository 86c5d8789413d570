"""Formatting of values for people: untrusted text in messages, terminals, JSON and CSV; lists, counts, ratings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

COMPUTED = frozenset("=+-@\t\r\n＝＋－＠'")
"""First characters of a text that a spreadsheet takes for a formula, and the apostrophe that prevents it."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?\Z", re.ASCII)
_ASIDE_FROM_ASCII = re.compile(r"[^\x00-\x7e]")


def printable(text: str, *, lines: bool = False) -> str:
    """Escape every character that could move a cursor or is invisible; `lines` keeps line feeds."""
    if text.isprintable():
        return text
    if lines:
        return "\n".join(map(printable, text.split("\n")))
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def cut(text: str, most: int) -> str:
    """Cut a text to `most` characters, followed by the number of those cut off."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text) - most} characters more)"


def printable_json(text: str) -> str:
    """Escape in JSON text what `printable` escapes; a JSON parser reads the same values."""

    def escape(found: re.Match[str]) -> str:
        char = found[0]
        if char.isprintable():
            return char
        units = char.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))

    return _ASIDE_FROM_ASCII.sub(escape, text)


def csv_cell(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would compute, unless it is a number. Text that starts with an
    apostrophe gets one, too: removing one apostrophe always restores the text.
    """
    return f"'{text}" if text[:1] in COMPUTED and not _NUMBER.match(text) else text


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()


def shown(value: Any, most: int = 40) -> str:
    """Return the `repr` of an untrusted value, for a message: printable and cut to `most` characters."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, lists in lists in lists
        return "something too long to show"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def rating(mu: float, sigma: float) -> str:
    """Format a rating as mean and 3 standard deviations, like the pages: `25.0 ± 25.0`."""
    return f"{mu:.1f} ± {3 * sigma:.1f}"


def few(items: Iterable[Any], most: int = 8, between: str = ", ") -> str:
    """List the first items and the number of others."""
    listed = list(map(str, items))
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return (between.join(listed[:most]) + more) or "none"


def among(values: Iterable[Any]) -> str:
    """List the possible values: `one of a, b, c`."""
    names = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    return "one of " + ", ".join(names) if names else "nothing"


def counted(number: int, one: str, more: str) -> str:
    """Format a number with its noun, such as `1 match` or `3 matches`."""
    return f"{number} {one if number == 1 else more}"

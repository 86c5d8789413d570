"""How values are shown: strangers' words fit for messages, terminals or JSON, lists, numbers of things, ratings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

COMPUTED = frozenset("=+-@\t\r\n＝＋－＠'")
"""What a text begins with that a spreadsheet takes for a formula, and the apostrophe that it is kept from it by."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?\Z", re.ASCII)
_ASIDE_FROM_ASCII = re.compile(r"[^\x00-\x7e]")


def printable(text: str, *, lines: bool = False) -> str:
    """Text with an escape for each character that could move a cursor or is not seen; `lines` keeps line feeds."""
    if text.isprintable():
        return text
    if lines:
        return "\n".join(map(printable, text.split("\n")))
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def cut(text: str, most: int) -> str:
    """Text cut short, to `most` characters, and then how many more there were."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text) - most} characters more)"


def printable_json(text: str) -> str:
    """JSON text that is the same to a program, and has nothing in it but what `printable` keeps."""

    def escape(found: re.Match[str]) -> str:
        char = found[0]
        if char.isprintable():
            return char
        units = char.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))

    return _ASIDE_FROM_ASCII.sub(escape, text)


def csv_cell(text: str) -> str:
    """Text for a cell of CSV: with an apostrophe before it where a spreadsheet would compute it, and where it begins
    with one, so that whoever takes one apostrophe away has the text again. A number is no formula.
    """
    return f"'{text}" if text[:1] in COMPUTED and not _NUMBER.match(text) else text


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()


def shown(value: Any, most: int = 40) -> str:
    """A value from outside, for a message: printable, and cut short, to `most` characters."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, lists in lists in lists
        return "something too long to show"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def rating(mu: float, sigma: float) -> str:
    """`25.0 ± 25.0`: the mean, and 3 standard deviations, as on the pages."""
    return f"{mu:.1f} ± {3 * sigma:.1f}"


def few(items: Iterable[Any], most: int = 8, between: str = ", ") -> str:
    """The first of some items, and how many more there are."""
    listed = list(map(str, items))
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return (between.join(listed[:most]) + more) or "none"


def among(values: Iterable[Any]) -> str:
    """What is possible: `one of a, b, c`."""
    names = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    return "one of " + ", ".join(names) if names else "nothing"


def counted(number: int, one: str, more: str) -> str:
    """A number with its word."""
    return f"{number} {one if number == 1 else more}"

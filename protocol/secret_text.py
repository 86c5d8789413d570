"""Cleaning of pasted secrets, which may be surrounded by line ends, blanks and invisible characters."""

from __future__ import annotations

_BLANK_CHARS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and signs that print as nothing or as a blank."""
_SELECTORS = (range(0xFE00, 0xFE10), range(0x180B, 0x1810), range(0xE0100, 0xE01F0))
"""Variation selectors, which only change how the character before them looks."""


def is_visible(char: str) -> bool:
    """Return whether a character is visible when printed."""
    selects = any(ord(char) in selectors for selectors in _SELECTORS)
    return char.isprintable() and not char.isspace() and char not in _BLANK_CHARS and not selects


def strip_invisible(text: str) -> str:
    """Return a text without invisible characters at both ends."""
    seen = [at for at, char in enumerate(text) if is_visible(char)]
    return text[seen[0] : seen[-1] + 1] if seen else ""


def find_invisible(text: str) -> str | None:
    """Name the first invisible character of a text (blanks apart) and its position. Return None if there is none."""
    for at, char in enumerate(text, 1):
        if char != " " and not is_visible(char):
            return f"U+{ord(char):04X} as its {at}. character"
    return None

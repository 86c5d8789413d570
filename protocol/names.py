"""The form of bot names, match ids and free texts, and how bot names are compared."""

from __future__ import annotations

import re

# In Python, `$` also matches before a newline at the end of a text; `(?!\n)` excludes that match.
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$(?!\n)"
"""The form of a bot's name."""
MAX_NAME_LENGTH = 32
"""Maximum characters of a bot's name."""
NAME_DESCRIPTION = "1 to 32 letters, digits, dots, dashes or underscores, starting with a letter or digit"
"""The form of a bot's name, as error messages describe it."""
MATCH_ID_PATTERN = r"^[a-z0-9-]{1,40}$(?!\n)"
"""The form of a match id."""
_INVISIBLE_CHARS = r"\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
"""Control characters and characters without width, as part of a character class of a regular expression."""
_BLANK_CHARS = r"\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufff9-\ufffb"
"""Filler characters, which print nothing, as part of a character class of a regular expression.

Notes may contain them, because some notes in old records do.
"""
TEXT_PATTERN = rf"^[^\x00-\x1f{_INVISIBLE_CHARS}{_BLANK_CHARS}]*$(?!\n)"
"""The form of a text without control characters and other invisible ones, such as changes of writing direction."""
NOTE_PATTERN = rf"^[^\x00-\x08\x0b-\x1f{_INVISIBLE_CHARS}]*$"
"""The form of the note in an `info`: like `TEXT_PATTERN`, but tabs, line feeds and `_BLANK_CHARS` are allowed."""


def is_bot_name(text: str) -> bool:
    """Return whether an arena can register a bot under this name."""
    return re.match(NAME_PATTERN, text) is not None


def is_match_id(text: str) -> bool:
    """Return whether a match can have this id."""
    return re.match(MATCH_ID_PATTERN, text) is not None


def fold_name(name: str) -> str:
    """Return a name in the form used for comparison: names that differ only in case belong to the same bot."""
    return name.lower()

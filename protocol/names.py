"""The form of bot names, match ids and free texts, and how bot names are compared."""

from __future__ import annotations

import re

# Python's `$` also matches before a newline that ends the text; `(?!\n)` takes that back.
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$(?!\n)"
MAX_NAME_LENGTH = 32
NAME_DESCRIPTION = "1 to 32 letters, digits, dots, dashes or underscores, starting with a letter or digit"
MATCH_PATTERN = r"^[a-z0-9-]{1,40}$(?!\n)"
_INVISIBLE_CHARS = r"\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
_BLANK_CHARS = r"\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufff9-\ufffb"
"""Characters without a glyph. Notes may contain them, because some in old records do."""
TEXT_PATTERN = rf"^[^\x00-\x1f{_INVISIBLE_CHARS}{_BLANK_CHARS}]*$(?!\n)"
"""Text without control characters and invisible characters, such as those that change the writing direction."""
NOTE_PATTERN = rf"^[^\x00-\x08\x0b-\x1f{_INVISIBLE_CHARS}]*$"
"""Text as in `TEXT_PATTERN`, but with tabs, line feeds and filler characters."""


def is_bot_name(text: str) -> bool:
    """Return whether an arena can register a bot under this name."""
    return re.match(NAME_PATTERN, text) is not None


def fold_name(name: str) -> str:
    """Return a name in the form used for comparison: names that differ only in case belong to the same bot."""
    return name.lower()

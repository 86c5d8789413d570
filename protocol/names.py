"""The names of bots and of matches, how names of bots are compared, and what free texts may hold."""

from __future__ import annotations

import re

# Python's `$` also matches before a newline that ends the text; `(?!\n)` takes that back.
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$(?!\n)"
MAX_NAME_LENGTH = 32
NAME_FORM = "1 to 32 letters, digits, dots, dashes or underscores, a letter or digit first"
MATCH_PATTERN = r"^[a-z0-9-]{1,40}$(?!\n)"
_UNSEEN = r"\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
_FILLERS = r"\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufff9-\ufffb"
"""What draws nothing by itself. Notes may have it: earlier records do."""
TEXT_PATTERN = rf"^[^\x00-\x1f{_UNSEEN}{_FILLERS}]*$(?!\n)"
"""Text without control characters and without what is not seen, like marks that turn the direction of writing."""
NOTE_PATTERN = rf"^[^\x00-\x08\x0b-\x1f{_UNSEEN}]*$"
"""The same with tabs and line feeds."""


def is_bot_name(text: str) -> bool:
    """Whether an arena can register a bot of this name."""
    return re.match(NAME_PATTERN, text) is not None


def folded(name: str) -> str:
    """A name as it is compared and looked up: two that differ in case only are the same bot's."""
    return name.lower()

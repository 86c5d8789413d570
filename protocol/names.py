"""The names of bots and of matches, and how names of bots are compared."""

from __future__ import annotations

import re

# Python's `$` also matches before a newline that ends the text; `(?!\n)` takes that back.
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$(?!\n)"
MATCH_PATTERN = r"^[a-z0-9-]{1,40}$(?!\n)"


def is_bot_name(text: str) -> bool:
    """Whether an arena can register a bot of this name."""
    return re.match(NAME_PATTERN, text) is not None


def folded(name: str) -> str:
    """A name as it is compared and looked up: two that differ in case only are the same bot's."""
    return name.lower()

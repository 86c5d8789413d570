"""Display names, which people read beside the names of their bots: any letters, within bounds. Also finds the nearest
name that a bot may have.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from itertools import count

from protocol.errors import UsageFault
from protocol.names import MAX_NAME_LENGTH, NAME_DESCRIPTION, TEXT_PATTERN, is_bot_name

MAX_DISPLAY_LENGTH = 48
"""Maximum characters of a display name; a full name of three words has 30."""
MAX_MARKS = 4
"""Maximum combining marks in a row: scripts that need many have three or four, and more would draw over other lines.
"""
DISPLAY_FORM = (
    f"1 to {MAX_DISPLAY_LENGTH} characters, at least one of them a letter or digit, without control or invisible "
    f"characters, and with at most {MAX_MARKS} combining marks in a row"
)
PLAIN_LETTERS = {
    "ß": "ss",
    "ẞ": "SS",
    "æ": "ae",
    "Æ": "AE",
    "œ": "oe",
    "Œ": "OE",
    "ø": "o",
    "Ø": "O",
    "ł": "l",
    "Ł": "L",
    "đ": "d",
    "Đ": "D",
    "ð": "d",
    "Ð": "D",
    "þ": "th",
    "Þ": "Th",
    "ı": "i",
    "ħ": "h",
    "Ħ": "H",
    "ŧ": "t",
    "Ŧ": "T",
}
"""Latin letters that do not decompose into a plain letter and marks, each with its plain letter. A test compares them
with `identity.js`.
"""
_PLAIN_LETTER_TABLE = {ord(letter): plain for letter, plain in PLAIN_LETTERS.items()}


def normalize_display(text: str) -> str:
    """Return a display name as it is kept: composed, with single blanks. Raises `UsageFault` for what is none."""
    name = _composed(text)
    if not is_display_name(name):
        raise UsageFault(f"{text[: 2 * MAX_DISPLAY_LENGTH]!r} is not a display name: {DISPLAY_FORM}")
    return name


def is_display_name(name: str) -> bool:
    """Return whether a text is a display name without any change."""
    if not 1 <= len(name) <= MAX_DISPLAY_LENGTH or re.match(TEXT_PATTERN, name) is None:
        return False
    if name != " ".join(name.split()):
        return False
    kinds = "".join(unicodedata.category(character)[0] for character in name)
    has_words = "L" in kinds or "N" in kinds
    return has_words and "C" not in kinds and not kinds.startswith("M") and "M" * (MAX_MARKS + 1) not in kinds


def _composed(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def folded_display(text: str) -> str:
    """Return a display name in the form in which two are compared, without case; a text that is none likewise."""
    return _composed(text).casefold()


def display_taken(display: str, bot: str, taken: Collection[str]) -> str:
    """Return why a display name is refused that `bot` has. `taken` are all folded display names that are."""
    display = _composed(display)
    numbered = (f"{display[: MAX_DISPLAY_LENGTH - len(end)]}{end}" for end in map(" ({})".format, count(2)))
    free = next(each for each in numbered if folded_display(each) not in taken)
    return (
        f"{bot} is shown as {display} already: for the same person, `arena bot rotate {bot}` makes a new token; "
        f"for another person, choose another display name, like {free}"
    )


def nearest_bot_name(text: str) -> str:
    """Return the name for a bot that comes nearest to what somebody is called; empty where no letter of it can stay."""
    plain = unicodedata.normalize("NFKD", text.translate(_PLAIN_LETTER_TABLE))
    unmarked = "".join(character for character in plain if not unicodedata.category(character).startswith("M"))
    dashed = re.sub(r"\s+", "-", unmarked.strip())
    return re.sub(r"[^A-Za-z0-9._-]", "", dashed).lstrip("._-")[:MAX_NAME_LENGTH]


def free_names(base: str) -> Iterator[str]:
    """Yield a name for a bot, then the same with numbers, each no longer than a name may be."""
    yield base
    number = 2
    while True:
        end = f"-{number}"
        yield base[: MAX_NAME_LENGTH - len(end)] + end
        number += 1


def no_bot_name(text: str, near: str | None = None) -> str:
    """Return why a text is not a name for a bot, with the nearest one, or the one that is given."""
    said = f"{text[:100]!r} is not a name for a bot: {NAME_DESCRIPTION}"
    proposed = near or nearest_bot_name(text)
    return f"{said}; try {proposed}" if is_bot_name(proposed) else said

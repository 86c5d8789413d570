"""Display names, which people choose beside the names of their bots and which may have letters of any script. Also
names for bots that are derived from display names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from itertools import count

from protocol.errors import UsageFault
from protocol.names import MAX_NAME_LENGTH, NAME_DESCRIPTION, TEXT_PATTERN, is_bot_name

MAX_DISPLAY_LENGTH = 48
"""Maximum characters of a display name. A full name of three words has about 30 characters."""
MAX_COMBINING_MARKS = 4
"""Maximum combining marks in a row. Scripts that need many use three or four; more would be drawn over other lines."""
DISPLAY_NAME_DESCRIPTION = (
    f"1 to {MAX_DISPLAY_LENGTH} characters, at least one of them a letter or digit, without control or invisible "
    f"characters, and with at most {MAX_COMBINING_MARKS} combining marks in a row"
)
"""The form of a display name, as error messages describe it."""
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
"""Latin letters that Unicode does not decompose, with their replacements in ASCII. `identity.js` has an equal table,
which a test compares with this one.
"""
_PLAIN_LETTER_TABLE = {ord(letter): plain for letter, plain in PLAIN_LETTERS.items()}
"""`PLAIN_LETTERS` as a table for `str.translate`."""


def normalize_display(text: str) -> str:
    """Return a display name in its stored form: NFC, with single blanks. Raise `UsageFault` if it is not valid."""
    name = _composed(text)
    if not is_display_name(name):
        raise UsageFault(f"{text[: 2 * MAX_DISPLAY_LENGTH]!r} is not a display name: {DISPLAY_NAME_DESCRIPTION}")
    return name


def is_display_name(name: str) -> bool:
    """Return whether a text is a valid display name in its stored form."""
    if not 1 <= len(name) <= MAX_DISPLAY_LENGTH or re.match(TEXT_PATTERN, name) is None:
        return False
    if name != " ".join(name.split()):
        return False
    kinds = "".join(unicodedata.category(character)[0] for character in name)
    has_words = "L" in kinds or "N" in kinds
    return has_words and "C" not in kinds and not kinds.startswith("M") and "M" * (MAX_COMBINING_MARKS + 1) not in kinds


def _composed(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def fold_display_name(text: str) -> str:
    """Return a text in the form in which display names are compared, without case. It need not be valid."""
    return _composed(text).casefold()


def describe_taken_display_name(display: str, bot: str, taken: Collection[str]) -> str:
    """Return the message that refuses a display name because `bot` has it. The message proposes a free name. `taken`
    are all folded display names in use.
    """
    display = _composed(display)
    numbered = (f"{display[: MAX_DISPLAY_LENGTH - len(end)]}{end}" for end in map(" ({})".format, count(2)))
    free = next(each for each in numbered if fold_display_name(each) not in taken)
    return (
        f"{bot} is shown as {display} already: for the same person, `arena bot rotate {bot}` makes a new token; "
        f"for another person, choose another display name, like {free}"
    )


def nearest_bot_name(text: str) -> str:
    """Return the bot name that resembles a person's name most; empty if no character of the name is allowed."""
    plain = unicodedata.normalize("NFKD", text.translate(_PLAIN_LETTER_TABLE))
    unmarked = "".join(character for character in plain if not unicodedata.category(character).startswith("M"))
    dashed = re.sub(r"\s+", "-", unmarked.strip())
    return re.sub(r"[^A-Za-z0-9._-]", "", dashed).lstrip("._-")[:MAX_NAME_LENGTH]


def iter_candidate_names(base: str) -> Iterator[str]:
    """Yield the name `base` for a bot, then `base-2`, `base-3` and so on, shortened to the maximum length of a name."""
    yield base
    number = 2
    while True:
        end = f"-{number}"
        yield base[: MAX_NAME_LENGTH - len(end)] + end
        number += 1


def describe_invalid_bot_name(text: str, near: str | None = None) -> str:
    """Return the message that a text is not a name for a bot. It proposes the name `near`, or else the nearest one."""
    said = f"{text[:100]!r} is not a name for a bot: {NAME_DESCRIPTION}"
    proposed = near or nearest_bot_name(text)
    return f"{said}; try {proposed}" if is_bot_name(proposed) else said

"""The map that a word on a command line means."""

from __future__ import annotations

from machine.arguments import read_file
from protocol.errors import UsageFault
from protocol.games.risk.board import Board
from protocol.games.risk.maps import NAMES, named, read
from protocol.shown import shown


def from_argument(text: str) -> Board:
    """The map that a word on a command line means: one of `NAMES`, or a file, `my.toml` or `@my.toml`.

    Raises `UsageFault` for a word that is neither or a file that cannot be read, `BadConfig` for what is no map.
    """
    if text in NAMES:
        return named(text)
    if not text.startswith("@") and not text.endswith((".toml", ".json")):
        raise UsageFault(f"there is no map {shown(text)}: one of {', '.join(NAMES)}, or a file like my.toml")
    return read(read_file(text.removeprefix("@")))

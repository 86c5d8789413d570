"""Config values as a person writes them on a command line: JSON, a list with commas, a word, or `@FILE`."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from typing import Any

from protocol.errors import UsageFault

MOST_BYTES = 1024 * 1024


def read_value(text: str) -> Any:
    """JSON (`true`, `null`, `5`, `[3,5]`), a list with commas (`3,5,7`), what a file holds (`@my.toml`), or a word.

    Raises `UsageFault` for a file that cannot be read.
    """
    return read_file(text[1:]) if text.startswith("@") else _plain(text)


def _plain(text: str) -> Any:
    for candidate in (text, f"[{text}]") if "," in text else (text,):
        try:
            return json.loads(candidate)
        except (ValueError, RecursionError):
            continue
    return [_plain(part) for part in text.split(",")] if "," in text else text


class FileTable(dict[str, Any]):
    """A table that a file holds; `file` names that file in what is said of the table."""

    def __init__(self, table: Mapping[str, Any], file: str) -> None:
        super().__init__(table)
        self.file = file


def read_file(name: str) -> Any:
    """What a file holds, a table as a `FileTable`: JSON if its name ends in `.json`, else TOML. Raises `UsageFault`."""
    form = "JSON" if name.endswith(".json") else "TOML"
    try:
        text = _bytes(name).decode()
        held = json.loads(text) if form == "JSON" else tomllib.loads(text)
    except (ValueError, RecursionError) as exc:
        raise UsageFault(f"the file {_shown(name)} is not {form}: {_reason(exc)}") from exc
    return FileTable(held, _shown(name)) if isinstance(held, dict) else held


def _bytes(name: str) -> bytes:
    try:
        with open(os.path.expanduser(name), "rb") as file:
            read = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else str(exc)
        raise UsageFault(f"the file {_shown(name)} can't be read: {reason}") from exc
    if len(read) > MOST_BYTES:
        raise UsageFault(f"the file {_shown(name)} is too long for a config: at most {MOST_BYTES} bytes")
    return read


def _shown(name: str) -> str:
    text = repr(name)
    return text if len(text) <= 60 else f"'...{text[-55:]}"


def _reason(exc: Exception) -> str:
    """What the parser says. The end of a long complaint is kept: that is where it names the line."""
    text = str(exc) if str(exc).isprintable() else repr(str(exc))
    return text if len(text) <= 100 else f"{text[:50]}...{text[-45:]}"

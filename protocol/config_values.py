"""Parsing of config values as people write them: JSON, a list with commas, or a word."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from protocol.display import short_repr
from protocol.errors import UsageFault

MAX_SHOWN_CHARS = 80
"""Maximum characters of a config value that an error message shows."""


def parse_value(text: str) -> Any:
    """Parse JSON (`true`, `null`, `5`, `[3,5]`), a list with commas (`3,5,7`), or a word. Raise `UsageFault` if the
    text begins as a JSON array or object but is invalid.
    """
    reasons = []
    for candidate in (text, f"[{text}]") if "," in text else (text,):
        try:
            return json.loads(candidate)
        except RecursionError:
            reasons.append("it is nested too deeply")
        except ValueError as exc:
            reasons.append(str(exc))
    if text.startswith(("[", "{")):
        raise UsageFault(f"{short_repr(text, MAX_SHOWN_CHARS)} looks like JSON but is invalid: {reasons[0]}")
    return [parse_value(part) for part in text.split(",")] if "," in text else text


class FileTable(dict[str, Any]):
    """A table from a file; `file` is the file's name, for messages about the table."""

    def __init__(self, table: Mapping[str, Any], file: str) -> None:
        super().__init__(table)
        self.file = file

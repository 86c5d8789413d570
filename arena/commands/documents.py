"""JSON as commands write it: indented, for people and programs alike."""

from __future__ import annotations

from typing import Any

import msgspec


def document(value: Any) -> bytes:
    """A value as lines of JSON."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def print_document(value: Any) -> None:
    """Print a value as lines of JSON."""
    print(document(value).decode(), end="")

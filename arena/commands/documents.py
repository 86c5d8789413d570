"""JSON as commands write it, for people and programs alike: nothing in it that a terminal would obey."""

from __future__ import annotations

from typing import Any

import msgspec

from protocol.shown import printable_json


def document(value: Any) -> bytes:
    """A value as lines of JSON."""
    return (printable_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()) + "\n").encode()


def print_document(value: Any) -> None:
    """Print a value as lines of JSON."""
    print(document(value).decode(), end="")


def print_line(value: Any) -> None:
    """Print a value as one line of JSON."""
    print(printable_json(msgspec.json.encode(value).decode()))

"""JSON as commands write it, for people and programs alike: nothing in it that a terminal would obey."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from protocol.shown import printable_json


def document(value: Any) -> bytes:
    """A value as lines of JSON."""
    return (printable_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()) + "\n").encode()


def print_document(value: Any) -> None:
    """Print a value as lines of JSON."""
    print(document(value).decode(), end="")


def print_list(values: Iterable[Any]) -> None:
    """Print values as a list in lines of JSON, each as it comes."""
    before = "["
    for value in values:
        indented = document(value).decode().rstrip().replace("\n", "\n  ")
        print(f"{before}\n  {indented}", end="")
        before = ","
    print("[]" if before == "[" else "\n]")


def print_line(value: Any) -> None:
    """Print a value as one line of JSON."""
    print(printable_json(msgspec.json.encode(value).decode()))

"""JSON as commands write it, for people and programs alike: nothing in it that a terminal would obey."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from machine.atomic_write import in_place_of
from protocol.errors import ArenaFault
from protocol.shown import printable_json


def document(value: Any) -> bytes:
    """A value as lines of JSON."""
    return (printable_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()) + "\n").encode()


def write_document(file: Path, value: Any) -> None:
    """Write a value as lines of JSON, whole or not at all. Raises `ArenaFault`."""
    try:
        with in_place_of(file) as temporary:
            temporary.write_bytes(document(value))
    except OSError as exc:
        raise ArenaFault(f"{file} can't be written: {exc.strerror}") from exc


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

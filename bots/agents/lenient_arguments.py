"""Converts arguments of tools that models write loosely: `"5"` for 5, `"true"` for true, null for a missing value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, structs

_WHOLE_NUMBER_PATTERN = re.compile(r"\s*(-?[0-9]{1,18})(?:\.0*)?\s*", re.ASCII)
"""The pattern of a text that is a whole number."""


def as_declared(arguments: Mapping[str, Any], kind: type[Struct]) -> dict[str, Any]:
    """Return a tool's arguments, each converted to the type of its field in the struct `kind` if that is possible."""
    fields = {field.name: field for field in structs.fields(kind)}
    taken = {}
    for name, value in arguments.items():
        field = fields.get(name)
        if field is None or _fits(value, field.type):
            taken[name] = value
        elif value is not None or field.required:
            taken[name] = _converted(value, field.type)
    return taken


def with_numbers(value: Any) -> Any:
    """Return a value in which each text that is a whole number has become a number, also inside lists and dicts."""
    if isinstance(value, str):
        found = _WHOLE_NUMBER_PATTERN.fullmatch(value)
        return int(found[1]) if found else value
    if isinstance(value, list):
        return [with_numbers(each) for each in value]
    if isinstance(value, dict):
        return {name: with_numbers(each) for name, each in value.items()}
    return value


def _converted(value: Any, kind: Any) -> Any:
    for other in (value, with_numbers(value)):
        try:
            return msgspec.convert(other, kind, strict=False)
        except (msgspec.ValidationError, UnicodeError, RecursionError):
            continue
    return value


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeError, RecursionError):
        return False
    return True

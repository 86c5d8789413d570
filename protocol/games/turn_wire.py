"""The wire forms of a `TurnGame`: a value with fields travels as a map, another one below a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


def field_names(kind: Any) -> tuple[str, ...] | None:
    """Return the names of the fields of a NamedTuple, dataclass or struct; None for another type."""
    for attribute in ("_fields", "__struct_fields__", "__dataclass_fields__"):
        found = getattr(kind, attribute, None)
        if found is not None:
            return tuple(found)
    return None


def convert(kind: Any, wire: Mapping[str, Any], key: str, *, strict: bool = True) -> Any:
    """Convert values from a message to a type. A type with fields has a key for each; another type has `key`. Raise
    `KeyError` or `ValueError` if the values do not fit.
    """
    fields = field_names(kind)
    value: Any = wire[key] if fields is None else {field: wire[field] for field in fields}
    if hasattr(kind, "_fields"):
        value = list(value.values())
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as exc:
        raise ValueError(str(exc)) from exc

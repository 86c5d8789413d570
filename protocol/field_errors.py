"""Descriptions of struct fields: the values that a field may have, and what is wrong with one."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.inspect import (
    AnyType,
    BoolType,
    DictType,
    FloatType,
    IntType,
    ListType,
    LiteralType,
    Metadata,
    StrType,
    StructType,
    Type,
    UnionType,
)

from protocol.display import list_choices, short_repr

SECRET = {"secret": True}
"""The `extra` (of `msgspec.Meta`) for a type whose values are secret, so error messages must not show them."""
_fields = cache(msgspec.structs.fields)
_CONVERSION_ERRORS = (msgspec.ValidationError, UnicodeError, RecursionError)
"""The errors that the conversion of an invalid value may raise."""


def field_error(value: Any, cls: type[Struct]) -> str | None:
    """Describe the first field of a decoded object that is unknown, missing or invalid, so that the object cannot be
    converted to a struct. Return None if it can be converted.
    """
    fields = _fields(cls)
    config = cls.__struct_config__
    names = [field.name for field in fields]
    for name in value:
        if config.forbid_unknown_fields and name not in names and name != config.tag_field:
            return f"there is no field {short_repr(name)}: {list_choices(names)}"
    for field in fields:
        if field.name in value:
            found = _describe_error(field.name, value[field.name], field.type)
            if found is not None:
                return found
        elif field.required:
            return f"{field.name} is missing: {describe_type(field.type)}"
    return None


def _describe_error(where: str, value: Any, kind: Any) -> str | None:
    if _is_valid(value, kind):
        return None
    return _describe_inner_error(where, value, kind) or f"{where} {_describe_value(value, kind)}: {describe_type(kind)}"


def _is_valid(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except _CONVERSION_ERRORS:
        return False
    return True


def _describe_inner_error(where: str, value: Any, kind: Any) -> str | None:
    if type(value) is list and get_origin(kind) is list:
        (each,) = get_args(kind)
        first, end = 0, len(value)
        while end - first > 1:  # bisect: converting items one by one is slow
            middle = (first + end) // 2
            first, end = (middle, end) if _is_valid(value[first:middle], kind) else (first, middle)
        return _describe_error(f"{where}[{first}]", value[first], each)
    if type(value) is dict and isinstance(kind, type) and issubclass(kind, Struct):
        return f"{where}: {field_error(value, kind)}"
    return None


def _describe_value(value: Any, kind: Any) -> str:
    about = _non_optional(msgspec.inspect.type_info(kind))
    if isinstance(about, Metadata) and about.extra == SECRET:
        return f"has {len(value)} characters" if type(value) is str else "is not text"
    return f"is {short_repr(value)}"


def describe_type(kind: Any) -> str:
    """Describe in words the values that a type allows. For texts, and for values that other code checks, this is the
    description in the type's metadata.
    """
    about = _non_optional(msgspec.inspect.type_info(kind))
    described = about.extra_json_schema if isinstance(about, Metadata) else None
    match about.type if isinstance(about, Metadata) else about:
        case StrType() | AnyType():
            return str((described or {}).get("description", "text"))
        case IntType(ge=None, le=None):
            return "an integer"
        case IntType(ge=least, le=None):
            return f"an integer from {least}"
        case IntType(ge=least, le=most):
            return f"an integer from {least} to {most}"
        case FloatType():
            return "a number"
        case LiteralType(values=values):
            return list_choices(values)
        case BoolType():
            return "true or false"
        case ListType():
            return "a list"
        case DictType() | StructType():
            return "a map"
    return "something else"


def _non_optional(about: Type) -> Type:
    """Return the first type of a union, without alternatives such as None. Return any other type unchanged."""
    return _non_optional(about.types[0]) if isinstance(about, UnionType) else about

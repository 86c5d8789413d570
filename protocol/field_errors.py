"""The fields of a struct in words: what each may be, and what is wrong with one."""

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

from protocol.display import among, shown

SECRET = {"secret": True}
"""The `extra` of a type whose values are shown to nobody."""
_fields = cache(msgspec.structs.fields)
_FAULTS = (msgspec.ValidationError, UnicodeError, RecursionError)


def field_error(value: Any, cls: type[Struct]) -> str | None:
    """What keeps a map from being this struct: the first field that is unknown, missing or not what it may be."""
    fields = _fields(cls)
    config = cls.__struct_config__
    names = [field.name for field in fields]
    for name in value:
        if config.forbid_unknown_fields and name not in names and name != config.tag_field:
            return f"there is no field {shown(name)}: {among(names)}"
    for field in fields:
        if field.name in value:
            found = _wrong(field.name, value[field.name], field.type)
            if found is not None:
                return found
        elif field.required:
            return f"{field.name} is missing: {describe_type(field.type)}"
    return None


def _wrong(where: str, value: Any, kind: Any) -> str | None:
    if _fits(value, kind):
        return None
    return _inside(where, value, kind) or f"{where} {_is(value, kind)}: {describe_type(kind)}"


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except _FAULTS:
        return False
    return True


def _inside(where: str, value: Any, kind: Any) -> str | None:
    """What is wrong in a list or a map, if that is what it should be."""
    if type(value) is list and get_origin(kind) is list:
        (each,) = get_args(kind)
        first, end = 0, len(value)
        while end - first > 1:  # in halves, as to convert one by one takes long
            middle = (first + end) // 2
            first, end = (middle, end) if _fits(value[first:middle], kind) else (first, middle)
        return _wrong(f"{where}[{first}]", value[first], each)
    if type(value) is dict and isinstance(kind, type) and issubclass(kind, Struct):
        return f"{where}: {field_error(value, kind)}"
    return None


def _is(value: Any, kind: Any) -> str:
    about = _described(msgspec.inspect.type_info(kind))
    if isinstance(about, Metadata) and about.extra == SECRET:
        return f"has {len(value)} characters" if type(value) is str else "is no text"
    return f"is {shown(value)}"


def describe_type(kind: Any) -> str:
    """What a value of a type may be; of text, and of what others check, it is its description."""
    about = _described(msgspec.inspect.type_info(kind))
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
            return among(values)
        case BoolType():
            return "true or false"
        case ListType():
            return "a list"
        case DictType() | StructType():
            return "a map"
    return "something else"


def _described(about: Type) -> Type:
    """A type as it is described, where it may also be absent."""
    return _described(about.types[0]) if isinstance(about, UnionType) else about

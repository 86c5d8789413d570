"""Every message of the protocol, drawn by Hypothesis from the types of its fields."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec import inspect

from protocol.messages import FromClient, FromServer
from protocol.names import MATCH_ID_PATTERN, NAME_PATTERN, NOTE_PATTERN, TEXT_PATTERN

MAX_ITEMS = 3
MAX_CHARS = 20
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=MAX_CHARS)
labels = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]), max_size=MAX_CHARS)
numbers = st.integers(-(2**63), 2**64 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | floats | words
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3))
PATTERNS = {
    NAME_PATTERN: st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,31}\Z"),
    MATCH_ID_PATTERN: st.from_regex(r"\A[a-z0-9-]{1,40}\Z"),
    TEXT_PATTERN: labels,
    NOTE_PATTERN: labels,
    r"^[0-9a-f]{32}$(?!\n)": st.from_regex(r"\A[0-9a-f]{32}\Z"),
}
"""Texts of the forms that fields have, each drawn more simply than by its pattern."""


def drawn(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Return values of a type, short ones, as far as msgspec checks them."""
    match kind:
        case inspect.Metadata(type=inner):
            return drawn(inner)
        case inspect.AnyType():
            return values
        case inspect.NoneType():
            return st.none()
        case inspect.BoolType():
            return st.booleans()
        case inspect.IntType(ge=least, le=most):
            return st.integers(least if least is not None else -(2**63), most if most is not None else 2**64 - 1)
        case inspect.FloatType():
            return floats
        case inspect.StrType(min_length=least, pattern=pattern):
            text = PATTERNS[pattern] if pattern else words
            return text if not least else text.filter(bool) if least == 1 else st.text("abc123", min_size=least)
        case inspect.ListType(item_type=item):
            return st.lists(drawn(item), max_size=MAX_ITEMS)
        case inspect.VarTupleType(item_type=item):
            return st.lists(drawn(item), max_size=MAX_ITEMS).map(tuple)
        case inspect.DictType(key_type=key, value_type=value):
            return st.dictionaries(drawn(key), drawn(value), max_size=MAX_ITEMS)
        case inspect.UnionType(types=kinds):
            return st.one_of(*map(drawn, kinds))
        case inspect.StructType(cls=struct, fields=fields):
            return st.builds(struct, **{field.name: drawn(field.type) for field in fields})
    raise TypeError(f"no values of {kind} can be drawn")


FROM_CLIENT: dict[type[FromClient], st.SearchStrategy[Any]] = {
    message: drawn(inspect.type_info(message)) for message in FromClient.__subclasses__()
}
FROM_SERVER: dict[type[FromServer], st.SearchStrategy[Any]] = {
    message: drawn(inspect.type_info(message)) for message in FromServer.__subclasses__()
}

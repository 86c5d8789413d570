"""Decoding of text in any Unicode encoding that editors use."""

from __future__ import annotations

import codecs

_ENCODING_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is a prefix of this one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""The byte order marks that a text may begin with, each with its encoding."""
_BYTE_ORDER_MARK = "\ufeff"
"""The byte order mark in a decoded text."""


def decode(data: bytes, errors: str = "strict") -> str:
    """Decode UTF-8, or UTF-16 or UTF-32 if a byte order mark says so. Raise `UnicodeDecodeError` for invalid data."""
    mark, encoding = next(((mark, name) for mark, name in _ENCODING_MARKS if data.startswith(mark)), (b"", "utf-8"))
    return data[len(mark) :].decode(encoding, errors).lstrip(_BYTE_ORDER_MARK)

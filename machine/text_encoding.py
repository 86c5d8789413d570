"""Text in whatever encoding of Unicode an editor chose."""

from __future__ import annotations

import codecs

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARK = "\ufeff"


def decode(data: bytes, errors: str = "strict") -> str:
    """Return text by the mark that it begins with, of UTF-8, UTF-16 or UTF-32; UTF-8 without one.

    Notepad and PowerShell write such marks. Raises `UnicodeDecodeError`.
    """
    mark, encoding = next(((mark, name) for mark, name in _BOMS if data.startswith(mark)), (b"", "utf-8"))
    return data[len(mark) :].decode(encoding, errors).lstrip(_MARK)

"""Parses the forms of the admin pages, within limits on their size."""

from __future__ import annotations

from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request

MAX_FORM_BYTES = 256 * 1024
"""Maximum size of a form in bytes: enough for a list of some thousand names."""
MAX_FIELDS = 10_000
"""Maximum number of fields in a form."""
FORM_MEDIA_TYPE = "application/x-www-form-urlencoded"
"""The media type of the forms that admin pages send."""


class Form(NamedTuple):
    """The fields of a form, each with all its values."""

    fields: dict[str, list[str]]

    def one(self, name: str) -> str:
        """Return the first value of a field without outer spaces, or "" if the field is missing."""
        return self.text(name).strip()

    def text(self, name: str) -> str:
        """Return the first value of a field unchanged, or "" if the field is missing."""
        return (self.fields.get(name) or [""])[0]

    def many(self, name: str) -> list[str]:
        return self.fields.get(name, [])


def fits(size: str, most: int = MAX_FORM_BYTES) -> bool:
    """Return whether the declared size of a form is a whole number of at most `most` bytes."""
    return size.isdecimal() and len(size) <= len(str(most)) and int(size) <= most


async def read_form(request: Request, max_bytes: int = MAX_FORM_BYTES) -> Form:
    """Return the form in a request's body. Raise `HTTPException` if it is no form or has more than `max_bytes`."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM_MEDIA_TYPE:
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the form must be sent as {FORM_MEDIA_TYPE}")
    said = request.headers.get("content-length", "")
    if not fits(said, max_bytes):
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"this form has {max_bytes:,} bytes at most")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > max_bytes:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"this form has {max_bytes:,} bytes at most")
    fields: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError as exc:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "the form is malformed: send it URL-encoded, in UTF-8") from exc
    for name, value in pairs:
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return Form(fields)

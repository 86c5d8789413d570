"""The sizes that the form of an admin page may declare."""

from __future__ import annotations

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from arena.web.admin.access_control import can_have_form, describe_form_limit
from arena.web.admin.forms import FORM_MEDIA_TYPE, MAX_FORM_BYTES, read_form


async def empty_body() -> dict[str, object]:
    return {"type": "http.request", "body": b"", "more_body": False}


@pytest.mark.parametrize("size", ["", "-1", "1e3", str(MAX_FORM_BYTES + 1), "9" * 5000])
async def test_a_form_with_a_wrong_size_is_refused(size: str) -> None:
    headers = [(b"content-type", FORM_MEDIA_TYPE.encode()), (b"content-length", size.encode())]
    scope = {"type": "http", "method": "POST", "path": "/admin/x", "headers": headers}
    assert not can_have_form(scope)
    assert describe_form_limit(scope) == "a form has 262,144 bytes at most, and its size is said first"
    with pytest.raises(HTTPException, match="bytes at most"):
        await read_form(Request(scope, empty_body))


async def test_a_form_may_be_as_large_as_the_limit() -> None:
    headers = [(b"content-type", FORM_MEDIA_TYPE.encode()), (b"content-length", str(MAX_FORM_BYTES).encode())]
    scope = {"type": "http", "method": "POST", "path": "/admin/x", "headers": headers}
    assert can_have_form(scope)
    assert (await read_form(Request(scope, empty_body))).fields == {}

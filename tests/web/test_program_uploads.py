"""Programs that are handed in slowly, or several at a time: each has a time by its size, and a place."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from http import HTTPStatus

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message

from arena.hosting.limits import SubmissionLimits
from arena.network import http_server
from arena.network.http_server import REQUEST_TIMEOUT_S
from arena.web.program_uploads import (
    MAX_UPLOADS,
    MAX_UPLOADS_PER_ADDRESS,
    UploadPlaces,
    can_have_submission,
    describe_submission_limit,
    read_body,
)
from protocol.submissions import MIN_UPLOAD_BYTES_PER_S
from virtual_time import advance

BEGIN_TIMEOUT_S = 20.0
PIECE = b"#" * MIN_UPLOAD_BYTES_PER_S


class Upload:
    """A request whose body comes as the test sends it."""

    def __init__(self) -> None:
        self._pieces = asyncio.Queue[Message]()
        self.request = Request({"type": "http", "method": "POST", "headers": []}, self._pieces.get)
        self.reading = asyncio.create_task(read_body(self.request, SubmissionLimits(), BEGIN_TIMEOUT_S))

    def send(self, piece: bytes, *, more: bool = True) -> None:
        self._pieces.put_nowait({"type": "http.request", "body": piece, "more_body": more})


@pytest.mark.parametrize("size", ["", "1e3", "4001", "9" * 5000])
def test_a_program_that_is_too_large_or_hides_its_size_is_refused_with_the_limit(size: str) -> None:
    limits = SubmissionLimits(packed_bytes=4000)
    headers = [(b"content-length", size.encode())]
    scope = {"type": "http", "method": "POST", "path": "/api/v1/bots/mine/submissions", "headers": headers}
    assert not can_have_submission(limits, scope)
    assert describe_submission_limit(limits, scope) == "a program has 4,000 bytes at most, and its size is said first"
    assert describe_submission_limit(limits, {**scope, "path": "/api/v1/bots/mine/hosting"}) == ""


@pytest.mark.virtual_time
async def test_a_program_has_as_long_as_its_bytes_take_at_the_lowest_rate() -> None:
    slow, stopping = Upload(), Upload()
    for upload in (slow, stopping):
        upload.send(PIECE)
    await advance(BEGIN_TIMEOUT_S)
    for _ in range(2):
        slow.send(PIECE)
        await advance(1.0)
    with pytest.raises(HTTPException) as refused:
        await stopping.reading
    assert refused.value.status_code == HTTPStatus.REQUEST_TIMEOUT
    assert refused.value.detail == (
        "32768 bytes came, less than 32 KiB a second: hand in less, or on a faster connection"
    )
    slow.send(b"", more=False)
    assert await slow.reading == 3 * PIECE


@pytest.mark.virtual_time
async def test_the_pages_end_a_request_that_sends_nothing_and_let_one_go_on_that_sends_enough() -> None:
    class Transport(asyncio.Transport):
        is_ended = False

        def abort(self) -> None:
            self.is_ended = True

    class Connection(http_server.BoundedHttpProtocol):
        """Of the connection, the timer alone."""

        def __init__(self) -> None:
            self.loop, self.transport = asyncio.get_running_loop(), Transport()
            self._request_timer = None
            self._restart_timer()

    silent, sending = Connection(), Connection()
    sending._request_bytes += 3 * len(PIECE)
    await advance(REQUEST_TIMEOUT_S + 1)
    assert (silent.transport.is_ended, sending.transport.is_ended) == (True, False)
    await advance(2)
    assert sending.transport.is_ended


def test_a_bot_has_one_place_an_address_some_and_who_finds_none_is_told_why_and_when_to_try_again() -> None:
    uploads = UploadPlaces()

    def refusal(address: str, bot: str) -> str:
        with pytest.raises(HTTPException) as refused, uploads.take(address, bot):
            raise AssertionError
        assert refused.value.status_code == HTTPStatus.SERVICE_UNAVAILABLE
        assert refused.value.headers == {"Retry-After": "5"}
        return refused.value.detail

    with ExitStack() as places:
        for number in range(MAX_UPLOADS):
            address = f"10.0.0.{number // MAX_UPLOADS_PER_ADDRESS}"
            places.enter_context(uploads.take(address, f"bot-{number}"))
            if number == 0:
                assert refusal("10.0.0.9", "bot-0") == (
                    "another program of bot-0 is being handed in: try again when it is there"
                )
        assert refusal("10.0.0.0", "new") == "4 programs are being handed in from 10.0.0.0: try again in a moment"
        assert refusal("10.0.0.9", "new") == "too many programs are handed in at a time: try again in a moment"
    with uploads.take("10.0.0.0", "bot-0"):
        pass

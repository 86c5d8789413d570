"""Answers in HTTP within a time: of a peer that is slow, and of one that is not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from machine.bounded_fetch import fetch
from timeouts import WITHIN

PIECE_S = 0.01
"""Between two bytes of a slow peer, which so is never silent for as long as it is waited for."""


@contextmanager
def peer(answer: Callable[[socket.socket, threading.Event], None]) -> Iterator[str]:
    gone = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                answer(connection, gone)

        beside = threading.Thread(target=serve)
        beside.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        finally:
            gone.set()
            beside.join()


def trickling(begin: bytes) -> Callable[[socket.socket, threading.Event], None]:
    def answer(connection: socket.socket, gone: threading.Event) -> None:
        try:
            connection.sendall(begin)
            while not gone.wait(PIECE_S):
                connection.sendall(b"1")
        except OSError:
            return

    return answer


@pytest.mark.parametrize(
    "begin",
    [b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTTP/1.1 ", b""],
)
def test_an_answer_that_comes_a_byte_at_a_time_is_not_waited_for_to_its_end(begin: bytes) -> None:
    with peer(trickling(begin)) as url, pytest.raises(TimeoutError, match=r"the answer was not complete within 0\.2 s"):
        fetch(url, 1000, 20 * PIECE_S)


@pytest.mark.parametrize(("status", "reason"), [(200, "OK"), (404, "Not Found")])
def test_an_answer_of_any_status_is_read(status: int, reason: str) -> None:
    said = f"HTTP/1.1 {status} {reason}\r\nContent-Length: 2\r\nLink: <x>\r\n\r\n{{}}".encode()
    with peer(lambda connection, gone: connection.sendall(said)) as url:
        told = fetch(url, 1000, WITHIN)
    assert (told.status, told.body, told.headers["Link"], told.reason) == (status, b"{}", "<x>", reason)


@pytest.mark.parametrize("body", [b"program", None])
def test_a_redirect_of_a_request_with_a_body_or_a_token_is_its_answer(body: bytes | None) -> None:
    def redirect(connection: socket.socket, _: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")

    with peer(redirect) as url:
        answer = fetch(url, 100, WITHIN, headers={"authorization": "Bearer secret"}, body=body)
    assert (answer.status, answer.headers["Location"]) == (301, "http://127.0.0.1:1/")

"""Which requests become a connection, and what is answered to the others, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Any

import pytest
from websockets.exceptions import InvalidMessage, InvalidStatus

from arena.network import admission
from arena.network.addresses import OwnPage, can_page_connect, is_own_name, parse_networks, parse_origins
from arena.network.admission import Access
from arena.network.connection_limits import ConnectionBounds
from machine.keyed_limiter import TokenBucket
from timeouts import WITHIN, rest_of


async def refused(served: Any, **headers: str) -> tuple[int, str]:
    """The status and the text with which a handshake with these headers is answered."""
    with pytest.raises(InvalidStatus) as answer:
        await served.connect(additional_headers={name.replace("_", "-"): value for name, value in headers.items()})
    return answer.value.response.status_code, (answer.value.response.body or b"").decode()


async def asked(served: Any, request: str) -> str:
    """The whole answer to a request of HTTP."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(request.replace("\n", "\r\n").encode())
    answer = await rest_of(reader)
    writer.close()
    return answer.decode(errors="replace")  # a close frame may follow it


async def is_welcome(client: Any) -> bool:
    """Whether a connection is answered as bots are."""
    await client.send(type="hello")
    return bool((await client.receive())["type"] == "welcome")


async def test_a_page_on_the_web_may_not_connect(serve: Any) -> None:
    served = await serve()
    status, text = await refused(served, Origin="https://evil.example")
    assert (status, text.count("\n")) == (403, 1)
    assert "pages of 'https://evil.example' may not connect; the operator can allow them with --allow-origin" in text


async def test_pages_that_are_allowed_and_the_arenas_own_may_connect(serve: Any) -> None:
    served = await serve(access=Access(origins=parse_origins("https://Good.example/")))
    for origin in ("https://good.example", f"http://127.0.0.1:{served.port}"):
        assert await is_welcome(await served.connect(origin=origin))
    assert (await refused(served, Origin="null"))[0] == 403


async def test_the_arenas_page_may_connect_from_its_own_port_and_scheme_alone(serve: Any) -> None:
    served = await serve(access=Access(page=OwnPage("http", 8080)))
    assert await is_welcome(await served.connect(origin="http://127.0.0.1:8080"))
    for origin in ("https://127.0.0.1:8080", "http://127.0.0.1:8081", "http://localhost:8080", "http://127.0.0.1", "["):
        assert (await refused(served, Origin=origin))[0] == 403


@pytest.mark.parametrize(
    ("page", "host", "origin"),
    [
        (OwnPage("http", 8080), "Arena.example:8765", "http://arena.example:8080"),
        (OwnPage("https", 443), "arena.example:8765", "https://arena.example"),
        (OwnPage("http", 80), "[2001:db8::1]:8765", "http://[2001:db8::1]"),
    ],
)
def test_the_origin_of_a_page_is_written_as_browsers_write_it(page: OwnPage, host: str, origin: str) -> None:
    assert page.origin_on(host) == origin
    assert can_page_connect(origin, host, page=page)


async def test_any_page_may_be_allowed(serve: Any) -> None:
    served = await serve(access=Access(origins=parse_origins("*")))
    for origin in ("https://any.example", "null"):
        assert await is_welcome(await served.connect(origin=origin))


async def test_on_loopback_the_arena_answers_only_to_names_of_its_own(serve: Any) -> None:
    """A page whose name was made to lead here would be of the same origin."""
    served = await serve()
    request = "GET / HTTP/1.1\nHost: evil.example:8765\nOrigin: http://evil.example:8765\nUpgrade: websocket\n\n"
    answer = await asked(served, request)
    assert answer.startswith("HTTP/1.1 421 ")
    assert "'evil.example:8765' is no name of this machine" in answer


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "a.localhost:1", "127.0.0.2:8765", "[::1]:8765"])
def test_names_of_this_machine(host: str) -> None:
    assert is_own_name(host)
    assert is_own_name(f"{socket.gethostname()}:8765")


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "192.0.2.1",
        "[2001:db8::1]:80",
        "localhost.evil.example",
        "[::1].evil",
        "evil@127.0.0.1",
        "127.0.0.1/.evil",
        "localhost?evil.example",
        "[",
        "",
    ],
)
def test_names_of_others(host: str) -> None:
    assert not is_own_name(host)


@pytest.mark.parametrize(
    "origin", ["http://[::1].evil", "http://evil@[::1]", "http://[::1]/.evil", "[::1]", "://[::1]"]
)
def test_a_page_of_what_is_no_whole_host_may_not_connect(origin: str) -> None:
    assert can_page_connect("http://[::1]", "[::1]")
    assert not can_page_connect(origin, "[::1]")
    assert not can_page_connect(origin, origin.partition("://")[2] or "[::1]")


async def test_behind_a_trusted_proxy_the_arena_has_the_name_that_the_proxy_has(serve: Any) -> None:
    served = await serve(access=Access(proxies=parse_networks("127.0.0.1")))
    request = "GET / HTTP/1.1\nHost: arena.example\nOrigin: https://arena.example\nUpgrade: websocket\n\n"
    assert "421" not in (await asked(served, request)).partition("\n")[0]


async def test_a_browser_is_told_what_this_is(serve: Any) -> None:
    answer = await asked(await serve(), "GET / HTTP/1.1\nHost: localhost\n\n")
    assert answer.startswith("HTTP/1.1 426 ")
    assert "Upgrade: websocket\r\n" in answer
    assert "this is the WebSocket port of a Bot Arena" in answer
    assert "the pages are at" not in answer


async def test_a_browser_is_told_where_the_page_is(serve: Any) -> None:
    served = await serve(access=Access(page=OwnPage("http", 8080)))
    answer = await asked(served, "GET / HTTP/1.1\nHost: localhost:8765\n\n")
    assert answer.endswith("; the pages are at http://localhost:8080/\n")
    assert '\r\nLink: <http://localhost:8080/>; rel="alternate"\r\n' in answer
    assert "look at" not in await asked(served, "GET / HTTP/1.1\nHost: <b>\n\n")


async def test_any_other_method_is_refused(serve: Any) -> None:
    answer = await asked(await serve(), "DELETE / HTTP/1.1\nHost: localhost\n\n")
    assert answer.startswith("HTTP/1.1 405 ")
    assert "Allow: GET\r\n" in answer


async def test_an_address_with_too_many_connections_is_told_so_and_one_that_leaves_makes_room(serve: Any) -> None:
    served = await serve(access=Access(bounds=ConnectionBounds(per_address=1)))
    first = await served.enter("ann")
    status, text = await refused(served)
    assert (status, text) == (503, "127.0.0.1 has 1 connections, which is the maximum\n")
    await first.wire.close()
    async with asyncio.timeout(WITHIN):
        while True:  # the server may hear of the end a little later
            with contextlib.suppress(InvalidStatus, InvalidMessage):
                await served.enter("bob")
                break


async def test_behind_a_trusted_proxy_each_address_has_its_own_count(serve: Any) -> None:
    served = await serve(access=Access(bounds=ConnectionBounds(per_address=1), proxies=parse_networks("127.0.0.1")))
    for address in ("203.0.113.1", "203.0.113.2"):
        await served.connect(additional_headers={"X-Forwarded-For": address})
    assert (await refused(served, X_Forwarded_For="203.0.113.1"))[0] == 503


async def test_who_opens_connections_and_says_nothing_keeps_nobody_out(
    serve: Any,
) -> None:
    served = await serve(access=Access(bounds=ConnectionBounds(waiting=4, waiting_per_address=4)))
    silent = [await asyncio.open_connection("127.0.0.1", served.port) for _ in range(6)]
    assert await is_welcome(await served.connect())
    for reader, _ in silent[:2]:
        assert await rest_of(reader) == b""
    for _, writer in silent:
        writer.close()


async def test_an_address_that_connects_without_end_is_refused_without_a_word(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "ARRIVALS_RATE", TokenBucket(burst=2, per_second=0.01))
    served = await serve(access=Access(bounds=ConnectionBounds(per_address=2)))
    for _ in range(2 + 4):
        await (await served.connect()).wire.close()
    with pytest.raises((ConnectionError, InvalidMessage)):
        await served.connect()


async def test_a_stop_does_not_wait_for_those_that_say_nothing(serve: Any) -> None:
    served = await serve()
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    await served.enter("ann")
    async with asyncio.timeout(WITHIN):
        await served.restart()
    assert await rest_of(reader) == b""
    writer.close()


async def test_who_shakes_hands_when_it_stops_is_let_in_before(serve: Any) -> None:
    served = await serve()
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(
        b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    )
    await served.connect()  # so that the server has taken the one before
    stopping = asyncio.create_task(served.stop())
    await asyncio.sleep(0)
    writer.write(b"\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 101 ")
    await stopping
    await served.start()
    writer.close()


async def test_a_proxy_that_is_not_trusted_is_noticed_once(serve: Any, caplog: pytest.LogCaptureFixture) -> None:
    served = await serve()
    for _ in range(2):
        await served.connect(additional_headers={"X-Forwarded-For": "203.0.113.1"})
    assert [record.getMessage() for record in caplog.records if "proxy" in record.getMessage()] == [
        "a proxy at 127.0.0.1 forwards connections, which all count as its own: see --trusted-proxy"
    ]


@pytest.mark.parametrize("key", ["", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n"])
async def test_a_request_with_nonsense_after_it_is_the_clients_affair(
    serve: Any, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    served = await serve()
    request = f"GET / HTTP/1.1\nHost: 127.0.0.1\nUpgrade: websocket\nConnection: Upgrade\n{key}"
    await asked(served, f"{request}Sec-WebSocket-Version: 13\n\nnonsense of some length, which is no frame")
    assert await is_welcome(await served.connect())
    assert [record for record in caplog.records if record.name.startswith("arena")] == []

"""Which requests become a connection, and what is answered to the others."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from typing import Any

import pytest
from websockets.exceptions import InvalidMessage, InvalidStatus

from arena.network.addresses import OwnPage, can_page_connect, parse_networks, parse_origins
from arena.network.admission import ARRIVALS_RATE, OPERATOR_SUBPROTOCOL, Access, Admission, ConnectionRequest
from arena.network.connection_limits import ConnectionBounds, ConnectionSlot
from machine.keyed_limiter import TokenBucket
from patience import patient_host
from timeouts import WITHIN, rest_of


class Door:
    """The admission to a socket on loopback, on a clock that stands."""

    def __init__(self, **access: Any) -> None:
        self.admission = Admission(Access(**access), clock=lambda: 0.0)
        self.slots: list[ConnectionSlot] = []
        """The slots of all that knocked."""

    def knock(self, own: str | None = None, **headers: str) -> tuple[int, str]:
        """The status and the text with which a request is refused, or 101; on a socket of the operator's `own`."""
        sent = defaultdict(list, Host=["127.0.0.1:8765"], Upgrade=["websocket"])
        sent.update((name.replace("_", "-"), [value]) for name, value in headers.items())
        slot = self.admission.take_slot("127.0.0.1", own, operators_only=own is not None)
        assert slot is not None
        self.slots.append(slot)
        request = ConnectionRequest(
            method="GET",
            get_headers=sent.__getitem__,
            peer="127.0.0.1",
            local="127.0.0.1",
            address=own,
            is_operators_only=own is not None,
        )
        refusal = self.admission.check_request(request, slot)
        return (101, "") if refusal is None else (refusal.status, refusal.text)


async def asked(served: Any, request: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(request.replace("\n", "\r\n").encode())
    answer = await rest_of(reader)
    writer.close()
    return answer.decode(errors="replace")  # a close frame may follow it


async def is_welcome(client: Any) -> bool:
    await client.send(type="hello")
    return bool((await client.receive())["type"] == "welcome")


ONE, ANY = {"origins": parse_origins("https://Good.example/")}, {"origins": parse_origins("*")}
OPERATED, OPERATOR = {"operator_token": "secret", **ANY}, {"Sec_WebSocket_Protocol": OPERATOR_SUBPROTOCOL}
PAGE, PROXIED = {"page": OwnPage("http", 8080)}, {"proxies": parse_networks("127.0.0.1")}
OTHER_PAGES = ("https://127.0.0.1:8080", "http://127.0.0.1:8081", "http://localhost:8080", "http://127.0.0.1", "[")


@pytest.mark.parametrize(
    ("access", "headers", "status", "says"),
    [
        *((ONE, {"Origin": origin}, 101, "") for origin in ("https://good.example", "http://127.0.0.1:8765")),
        *((ANY, {"Origin": origin}, 101, "") for origin in ("https://any.example", "null")),
        (ONE, {"Origin": "null"}, 403, "pages of 'null' may not connect"),
        (PAGE, {"Origin": "http://127.0.0.1:8080"}, 101, ""),
        *((PAGE, {"Origin": origin}, 403, "may not connect") for origin in OTHER_PAGES),
        (ANY, {"Host": "evil.example:8765"}, 421, "'evil.example:8765' is no name of this machine"),
        (PROXIED, {"Host": "arena.example", "Origin": "https://arena.example"}, 101, ""),
        (OPERATED, {**OPERATOR, "Origin": "http://127.0.0.1:8765"}, 403, "web pages may not operate an arena"),
        (ANY, OPERATOR, 400, "none of the subprotocols is supported: offer one of arena.v1.msgpack, arena.v1.json"),
    ],
)
def test_pages_and_programs_may_connect_as_the_operator_said(
    access: dict[str, Any], headers: dict[str, str], status: int, says: str
) -> None:
    told = Door(**access).knock(**headers)
    assert (told[0], says in told[1]) == (status, True), told


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


@pytest.mark.parametrize(
    "origin", ["http://[::1].evil", "http://evil@[::1]", "http://[::1]/.evil", "[::1]", "://[::1]"]
)
def test_a_page_of_what_is_no_whole_host_may_not_connect(origin: str) -> None:
    assert can_page_connect("http://[::1]", "[::1]")
    assert not can_page_connect(origin, "[::1]")
    assert not can_page_connect(origin, origin.partition("://")[2] or "[::1]")


async def test_a_browser_is_told_what_this_is_and_where_the_page_is(serve: Any) -> None:
    served = await serve(access=Access(page=OwnPage("http", 8080)))
    answer = await asked(served, "GET / HTTP/1.1\nHost: localhost:8765\n\n")
    assert answer.startswith("HTTP/1.1 426 ")
    assert "Upgrade: websocket\r\n" in answer
    assert '\r\nLink: <http://localhost:8080/>; rel="alternate"\r\n' in answer
    assert "this is the WebSocket port of a Bot Arena" in answer
    assert answer.endswith("; the pages are at http://localhost:8080/\n")
    assert "the pages are at" not in await asked(served, "GET / HTTP/1.1\nHost: <b>\n\n")
    answer = await asked(served, "DELETE / HTTP/1.1\nHost: localhost\n\n")
    assert answer.startswith("HTTP/1.1 405 ")
    assert "Allow: GET\r\n" in answer


def test_without_a_page_none_is_named() -> None:
    status, text = Door().knock(Upgrade="")
    assert (status, "the pages are at" in text) == (426, False)


async def test_an_address_with_too_many_connections_is_told_so_and_one_that_leaves_makes_room(serve: Any) -> None:
    served = await serve(access=Access(bounds=ConnectionBounds(per_address=1)))
    first = await served.enter("ann")
    with pytest.raises(InvalidStatus) as answer:
        await served.connect()
    assert answer.value.response.status_code == 503
    assert answer.value.response.headers["Retry-After"] == "5"
    assert answer.value.response.body == b"127.0.0.1 has 1 connections, which is the maximum\n"
    await first.wire.close()
    async with asyncio.timeout(WITHIN):
        while True:  # the server may hear of the end a little later
            with contextlib.suppress(InvalidStatus, InvalidMessage):
                await served.enter("bob")
                break


def test_behind_a_trusted_proxy_each_address_has_its_own_count_and_rate() -> None:
    door = Door(bounds=ConnectionBounds(per_address=1), proxies=parse_networks("127.0.0.1"))
    assert [door.knock(X_Forwarded_For=f"203.0.113.{number}")[0] for number in (1, 2, 1)] == [101, 101, 503]
    told = [door.knock(X_Forwarded_For="203.0.113.3") for _ in range(ARRIVALS_RATE.burst + 3)]
    assert [status for status, _ in told] == [101] + [503] * (ARRIVALS_RATE.burst + 2)
    assert told[-1][1] == "203.0.113.3 connects too often"


def test_a_wrong_token_of_the_operator_is_refused_and_after_many_only_the_right_one_is_looked_at() -> None:
    door = Door(operator_token="secret")
    tokens = ["wrong"] * 20 + ["sécret"] * 2 + ["secret"]
    told = [door.knock(**OPERATOR, Authorization=f"Bearer {token}") for token in tokens]
    assert [status for status, _ in told] == [401] * 21 + [429, 101]
    assert told[21][1] == "too many wrong tokens came from 127.0.0.1: try again in 1 s"


def test_the_token_of_runners_opens_the_operators_channel_and_marks_its_slot() -> None:
    door = Door(operator_token="secret", runner_token="runners")
    told = [door.knock(**OPERATOR, Authorization=f"Bearer {token}")[0] for token in ("runners", "secret", "wrong", "")]
    assert told == [101, 101, 401, 401]
    assert [slot.is_runner for slot in door.slots] == [True, False, False, False]


def test_an_operator_counts_among_the_connections_of_its_address() -> None:
    door, token = Door(operator_token="secret", bounds=ConnectionBounds(per_address=1)), "Bearer secret"
    assert [door.knock(**OPERATOR, Authorization=token)[0] for _ in range(2)] == [101, 503]


def test_neither_a_full_arena_nor_wrong_tokens_keep_an_operator_from_a_socket_of_its_own() -> None:
    door = Door(operator_token="secret", bounds=ConnectionBounds(connections=1, per_address=1))
    assert [door.knock()[0], door.knock()[0], door.knock("own")[0]] == [101, 503, 403]
    assert door.knock(**OPERATOR, Authorization="Bearer secret")[0] == 503, "it counts among those of its address"
    tokens = ["wrong"] * 60 + ["secret"] * 2
    told = [door.knock("own", **OPERATOR, Authorization=f"Bearer {token}")[0] for token in tokens]
    assert told == [401] * 60 + [101] * 2


async def test_an_address_that_connects_without_end_is_refused_without_a_word(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.network.admission.ARRIVALS_RATE", TokenBucket(burst=2, per_second=0.01))
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
    served = await serve(timeouts=patient_host(opening_timeout_s=WITHIN))
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


def test_a_proxy_that_is_not_trusted_is_noticed_once(caplog: pytest.LogCaptureFixture) -> None:
    door = Door()
    for _ in range(2):
        door.knock(X_Forwarded_For="203.0.113.1")
    assert caplog.messages == [
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

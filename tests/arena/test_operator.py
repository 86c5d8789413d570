"""The operator's channel: who gets in, what is said there, and what of it strangers could use."""

from __future__ import annotations

import asyncio
import json
import socket
import stat
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.typing import Subprotocol

from arena.network.admission import OPERATOR_SUBPROTOCOL, Access
from arena.network.binding import bind_sockets, port_of
from arena.network.connection_limits import ConnectionBounds
from arena.operations.administration import all_handlers
from arena.operator import credentials
from arena.operator.channel import MAX_PENDING_REQUESTS
from arena.operator.client import (
    NoServer,
    NoServerAnswer,
    OperatorTimeouts,
    TokenRefused,
    connect_to_folder,
    connect_to_url,
)
from arena.operator.requests import MAX_REQUEST_BYTES, OperationHandler, Request
from arena.operator.status import ServerStatus, StatusRequest
from arena.runs.play_request import PlayReply, PlayRequest
from arena.store.annulment import AnnulmentOutcome
from arena.store.database import Database
from arena.store.database_url import open_database_url
from certificates import make
from commands import REPOSITORY
from in_process import call_beside, hosting
from machine.keyed_limiter import WRONG_TOKEN_BACKOFF
from protocol.dice import SEED_BYTES
from protocol.errors import ArenaFault, UsageFault
from protocol.messages import Clock
from timeouts import WITHIN

TOKEN = "secret"


class Count(Request, frozen=True, tag="count"):
    """Tell the numbers up to one of them, and then that it is done."""

    to: int
    fault: str = ""


class Rest(Request, frozen=True, tag="rest"):
    """Say that it rests, and go on for ever."""


class Reports:
    """Handlers made for these tests, and whether the last of them was left."""

    def __init__(self) -> None:
        self.left = asyncio.Event()

    def __call__(self, arena: Any) -> dict[str, OperationHandler]:
        async def count(request: Count, tell: Any) -> dict[str, int]:
            for number in range(request.to):
                tell({"at": number})
                await asyncio.sleep(0)
            if request.fault == "usage":
                raise UsageFault("that is too far")
            if request.fault == "arena":
                raise ArenaFault("the disk is full")
            if request.fault:
                raise ZeroDivisionError
            return {"counted": request.to}

        async def rest(request: Rest, tell: Any) -> None:
            tell({"resting": True})
            try:
                await asyncio.Event().wait()
            finally:
                self.left.set()

        ours = (OperationHandler(Count, count), OperationHandler(Rest, rest, cancel_on_disconnect=True))
        return {**all_handlers(arena), **{handler.request.operation_name(): handler for handler in ours}}


async def operated(serve: Any, **options: Any) -> Any:
    return await serve(
        access=Access(operator_token=TOKEN), make_operations=options.pop("make_operations", all_handlers), **options
    )


def at(served: Any) -> str:
    return f"ws://127.0.0.1:{served.port}"


async def test_an_operator_is_told_who_is_connected(serve: Any) -> None:
    served = await operated(serve)
    await served.enter("bob", version="7", client="mine")
    await served.pair()
    async with connect_to_url(at(served), TOKEN) as operator:
        found = (await operator.ask(StatusRequest(), ServerStatus)).bots
    assert [(bot.bot, bot.address, bot.playing) for bot in found] == [("ann", "127.0.0.1", 1), ("bob", "127.0.0.1", 1)]
    assert all(bot.since.endswith("Z") for bot in found)


async def test_events_come_before_the_answer_and_requests_go_on_beside_each_other(serve: Any) -> None:
    served = await operated(serve, make_operations=Reports())
    heard: list[tuple[int, int]] = []
    async with connect_to_url(at(served), TOKEN) as operator:
        answers = await asyncio.gather(
            *(
                operator.ask(
                    Count(to=3), dict[str, int], dict[str, int], lambda event, n=n: heard.append((n, event["at"]))
                )
                for n in range(2)
            )
        )
    assert answers == [{"counted": 3}] * 2
    assert [event for event in heard if event[0] == 1] == [(1, 0), (1, 1), (1, 2)]
    assert heard.index((1, 0)) < heard.index((0, 2))


async def test_a_fault_is_one_line_and_the_connection_goes_on(serve: Any) -> None:
    served = await operated(serve, make_operations=Reports())
    faults: dict[str, tuple[type[Exception], str]] = {
        "usage": (UsageFault, "that is too far"),
        "arena": (ArenaFault, "the disk is full"),
        "error": (ArenaFault, "count failed: the server's log says how"),
    }
    async with connect_to_url(at(served), TOKEN) as operator:
        for kind, (fault, says) in faults.items():
            with pytest.raises(fault, match=f"^{says}$"):
                await operator.ask(Count(to=1, fault=kind), dict)
            assert await operator.ask(Count(to=1), dict) == {"counted": 1}


NO_REQUESTS: list[tuple[str | bytes, int | None, str]] = [
    (b"{}", None, "a request is text, not binary"),
    ("[", None, 'a request is a JSON object like {"id": 1, "do": "status"}'),
    ("[1]", None, 'a request is a JSON object like {"id": 1, "do": "status"}'),
    ('{"do": "status"}', None, "id is None: it is a whole number"),
    ('{"id": 4, "do": "fly"}', 4, "do is 'fly': "),
    ('{"id": 4, "do": "count"}', 4, "count: to is missing: "),
    ('{"id": 4, "do": "count", "to": "x"}', 4, "count: to is 'x': "),
    ('{"id": 4, "do": "count", "to": 1, "at": 2}', 4, "count: there is no field 'at'"),
    ('{"id": 4, "do": "count", "to": 1, "by": 2}', 4, "by is 2: it is text of 1 to 100 characters"),
]


async def test_what_is_no_request_is_answered_with_what_is_wrong(serve: Any) -> None:
    served = await operated(serve, make_operations=Reports())
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with connect(
        at(served), subprotocols=[Subprotocol(OPERATOR_SUBPROTOCOL)], additional_headers=headers
    ) as wire:
        for frame, number, says in NO_REQUESTS:
            await wire.send(frame)
            answer = json.loads(await asyncio.wait_for(wire.recv(), WITHIN))
            assert (answer["id"], answer["usage"]) == (number, True)
            assert answer["fault"].startswith(says)


async def test_a_request_that_is_too_large_is_not_sent_and_of_many_at_once_each_is_answered(serve: Any) -> None:
    served = await operated(serve, make_operations=Reports())
    async with connect_to_url(at(served), TOKEN) as operator:
        with pytest.raises(UsageFault, match="bytes are too much for one request: ask for less at once"):
            await operator.ask(Count(to=1, fault="x" * MAX_REQUEST_BYTES), dict)
        many = [operator.ask(Count(to=1), dict) for _ in range(MAX_PENDING_REQUESTS)]
        assert await asyncio.gather(*many) == [{"counted": 1}] * MAX_PENDING_REQUESTS
        resting = [asyncio.create_task(operator.ask(Rest(), dict)) for _ in range(MAX_PENDING_REQUESTS)]
        await asyncio.sleep(0)
        with pytest.raises(UsageFault, match="64 requests are under way on this connection: wait for an answer"):
            await operator.ask(Count(to=1), dict)
    for task in resting:
        with pytest.raises(NoServerAnswer):
            await task


async def test_every_request_is_in_the_documents(serve: Any) -> None:
    served = await operated(serve)
    text = (REPOSITORY / "docs" / "operating.md").read_text()
    for name, handler in all_handlers(served.arena).items():
        row = next((line for line in text.splitlines() if line.startswith(f"| `{name}` |")), "")
        assert row, f"docs/operating.md does not tell of {name}"
        assert all(f"`{field}" in row for field in handler.request.__struct_fields__), row


async def test_what_goes_on_while_it_is_heard_ends_when_its_operator_leaves(serve: Any) -> None:
    reports = Reports()
    served = await operated(serve, make_operations=reports)
    async with connect_to_url(at(served), TOKEN) as operator:
        begun = asyncio.Event()
        asking = asyncio.create_task(operator.ask(Rest(), dict, on_event=lambda event: begun.set()))
        await asyncio.wait_for(begun.wait(), WITHIN)
    await asyncio.wait_for(reports.left.wait(), WITHIN)
    with pytest.raises(NoServerAnswer, match="ended the connection before it answered"):
        await asking


async def test_after_too_many_wrong_tokens_a_client_says_so(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    few = WRONG_TOKEN_BACKOFF._replace(free_failures=0, first_wait_s=300.0)
    monkeypatch.setattr("arena.network.admission.WRONG_TOKEN_BACKOFF", few)
    served = await operated(serve)
    for says in ("the operator's token is missing or wrong", "too many wrong tokens"):
        with pytest.raises(TokenRefused, match=f"refuses the operator's token: {says}"):
            async with connect_to_url(at(served), "wrong"):
                pass
    async with connect_to_url(at(served), TOKEN) as operator:
        assert await operator.ask(StatusRequest(), ServerStatus)


async def test_at_the_operators_socket_the_token_gets_in_however_many_come_without(serve: Any) -> None:
    bounds = ConnectionBounds(waiting_per_address=4)
    served = await serve(access=Access(operator_token=TOKEN, bounds=bounds), make_operations=all_handlers)
    (own,) = bind_sockets("127.0.0.1", 0)
    port = port_of([own])
    await served.arena.host.listener.add_socket(own, "the operator", operators_only=True)

    async def request(token: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        lines = [f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade"]
        lines += ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
        lines += [f"Sec-WebSocket-Protocol: {OPERATOR_SUBPROTOCOL}", f"Authorization: Bearer {token}"]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        return reader, writer

    for _ in range(60):  # more than they may cost the arena for now
        _, writer = await request("wrong")
        writer.close()
    crowd = [await request("wrong") for _ in range(4)]
    operator, writer = await request(TOKEN)
    crowd += [await request("wrong") for _ in range(8)]
    async with asyncio.timeout(WITHIN):
        assert b" 101 " in await operator.readline()
    for _, one in (*crowd, (operator, writer)):
        one.close()


async def test_a_server_keeps_its_token_and_says_in_its_folder_where_to_ask(tmp_path: Path) -> None:
    tokens = []
    for _ in range(2):
        async with hosting(tmp_path):
            found = credentials.read_credentials(tmp_path)
            assert found is not None
            tokens.append(found.token)
            async with connect_to_folder(tmp_path, open_database_url(tmp_path / "arena.db")) as operator:
                assert (await operator.ask(StatusRequest(), ServerStatus)).bots == []
            with pytest.raises(InvalidStatus):  # nobody else comes in there
                await connect(found.url)
    assert tokens[0] == tokens[1]
    assert stat.S_IMODE((tmp_path / "operator.json").stat().st_mode) == 0o600


async def test_the_channel_of_a_server_with_tls_needs_no_certificate(tmp_path: Path) -> None:
    pair = make(tmp_path, "server")
    named = ("--socket-url", "wss://arena.example.org")
    async with (
        hosting(tmp_path / "data", "--tls-cert", str(pair.certificate), "--tls-key", str(pair.key), *named),
        connect_to_folder(tmp_path / "data") as operator,
    ):
        assert (await operator.ask(StatusRequest(), ServerStatus)).bots == []
        found = credentials.read_credentials(tmp_path / "data")
        assert found is not None
        assert found.public == "wss://arena.example.org", "the name of the certificate"


async def look_into(folder: Path, database: Database | None = None) -> None:
    """Connect to the server of a folder, and leave."""
    async with connect_to_folder(folder, database):
        pass


async def stranger_at(folder: Path, of: credentials.Credentials, came: list[object]) -> asyncio.Server:
    """Have somebody else listen where the server of a folder was."""
    stranger = await asyncio.start_server(lambda reader, writer: came.append(writer), "127.0.0.1", 0)
    url = f"ws://127.0.0.1:{stranger.sockets[0].getsockname()[1]}"
    credentials.write_credentials(folder, of.token, url, open_database_url(folder / "arena.db"))
    return stranger


async def test_a_client_says_what_is_in_its_way(tmp_path: Path) -> None:
    nowhere = f"^no server runs on {tmp_path}: start `arena serve --data {tmp_path}` first$"
    with pytest.raises(NoServer, match=nowhere):
        await look_into(tmp_path)
    async with hosting(tmp_path):
        right = credentials.read_credentials(tmp_path)
        assert right is not None
        with pytest.raises(NoServer, match=f"^no server runs on {tmp_path}, but"):  # it has another database open
            await look_into(tmp_path, open_database_url(tmp_path / "other.db"))
        credentials.write_credentials(tmp_path, "wrong", right.url, open_database_url(tmp_path / "arena.db"))
        with pytest.raises(
            TokenRefused, match=f"^the server on {tmp_path} refuses the operator's token: the operator's"
        ):
            await look_into(tmp_path)
        credentials.write_credentials(tmp_path, right.token, right.url, open_database_url(tmp_path / "arena.db"))
    came: list[object] = []
    stranger = await stranger_at(tmp_path, right, came)
    with pytest.raises(NoServer, match=nowhere):
        await look_into(tmp_path)
    stranger.close()
    assert came == [], "who listens where a server was does not see its token"
    (tmp_path / "operator.json").write_text("{")
    with pytest.raises(ArenaFault, match="has no valid operator's token: remove it, and restart the server"):
        await look_into(tmp_path)


async def test_who_listens_where_a_server_was_does_not_see_its_token(tmp_path: Path) -> None:
    async with hosting(tmp_path):
        pass
    found = credentials.read_credentials(tmp_path)
    assert found is not None
    came: list[object] = []
    stranger = await stranger_at(tmp_path, found, came)
    with pytest.raises(NoServer):
        async with connect_to_folder(tmp_path):
            pass
    stranger.close()
    assert came == []


UNPLAYABLE: list[tuple[dict[str, Any], str]] = [
    ({"match": "../m"}, "match is '../m': it is 1 to 40 lower-case letters, digits and dashes"),
    ({"bots": ["ann", "b/b"]}, "'b/b' is not a name for a bot: 1 to 32 letters"),
    ({"bots": ["ann", "Ann"]}, "bots are ['ann', 'Ann']: nim has 2 seats, each for another bot"),
    ({"clock": Clock(bank_ms=-1, increment_ms=0)}, "play: clock: bank_ms is -1: an integer from 0 to "),
    ({"wait_s": -1.0}, "wait_s is -1.0: it is 0 to 3600 seconds"),
    ({"seed": "00"}, "seed is '00': it is 32 bytes in hex"),
]


async def test_a_match_that_can_not_be_played_is_refused(serve: Any) -> None:
    served = await operated(serve)
    request = PlayRequest(
        match="t1-00000",
        game="nim",
        config={},
        bots=["ann", "bob"],
        seed="00" * SEED_BYTES,
        clock=Clock(bank_ms=1000, increment_ms=0),
        tournament="t1",
        place=0,
    )
    async with connect_to_url(at(served), TOKEN) as operator:
        for changes, says in UNPLAYABLE:
            with pytest.raises(UsageFault) as caught:
                await operator.ask(replace(request, **changes), PlayReply)
            assert str(caught.value).startswith(says)


async def test_an_answer_of_another_version_is_a_line(serve: Any) -> None:
    served = await operated(serve)
    says = r"answers like another version: restart it with this version: Expected `int`, got `array` - at `\$.matches`"
    async with connect_to_url(at(served), TOKEN) as operator:
        with pytest.raises(NoServerAnswer, match=says):
            await operator.ask(StatusRequest(), AnnulmentOutcome)
        with pytest.raises(UsageFault, match=r"^status: most is 1180591620717411303424: "):
            await operator.ask(StatusRequest(most=2**70), ServerStatus)


def test_credentials_are_for_their_owner_alone_and_hold_a_token(tmp_path: Path) -> None:
    (tmp_path / "operator.json.part").touch(mode=0o644)
    credentials.write_credentials(tmp_path, "t", "ws://127.0.0.1:1", open_database_url(tmp_path / "arena.db"))
    assert stat.S_IMODE((tmp_path / "operator.json").stat().st_mode) == 0o600
    credentials.write_credentials(tmp_path, "", "ws://127.0.0.1:1", open_database_url(tmp_path / "arena.db"))
    with pytest.raises(ArenaFault, match="has no valid operator's token: remove it, and restart the server"):
        credentials.read_credentials(tmp_path)


async def test_a_server_that_hangs_does_not_answer(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"ws://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(NoServerAnswer, match=f"^the server at {url} does not answer within 0.2 s: see its log$"):
            async with connect_to_url(url, TOKEN, timeouts=OperatorTimeouts(connect_timeout_s=0.2)):
                pass


async def test_the_bots_that_are_on_line_are_listed_as_such(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    async with hosting(tmp_path) as served, connect(served.url, subprotocols=[Subprotocol("arena.v1.json")]) as wire:
        await wire.send(json.dumps({"type": "hello", "bot": "ann", "version": "3"}))
        await wire.recv()
        code, out, err = await call_beside("arena", "bot", "list", *data)
        assert (code, err) == (0, "")
        assert out.splitlines()[1].split()[-1] == "online"
        code, out, _ = await call_beside("arena", "bot", "list", "--json", *data)
        (bot,) = json.loads(out)
        assert (bot["bot"], bot["online"]["version"], bot["online"]["address"]) == ("ann", "3", "127.0.0.1")
    _, out, _ = await call_beside("arena", "bot", "list", "--json", *data)
    assert json.loads(out)[0]["online"] is None


async def test_a_line_that_is_cut_during_the_handshake_is_no_answer_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def cut(*_: object, **__: object) -> None:
        raise ConnectionClosedError(None, None)

    monkeypatch.setattr("arena.operator.client.connect", cut)
    with pytest.raises(NoServerAnswer, match="does not answer like an arena: no close frame received or sent"):
        async with connect_to_url("ws://127.0.0.1:1", TOKEN):
            pass

"""The ways in which a connection fails: each is one line, and most a reason to try again."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection

from bots.client.run import Client
from bots.client.settings import Settings
from bots.reference.random_bot import RandomBot
from machine.client import connecting
from machine.client.connecting import ArenaRefused, ArenaUnreachable
from machine.client.timeouts import ClientTimeouts
from patience import HASTY_CLIENT, PATIENT_CLIENT
from programs import program
from protocol.errors import UsageFault
from protocol.messages import Error, Hello, List, Listing, Ready, Seek
from timeouts import WITHIN
from virtual_time import advance

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
REQUEST = b"\r\n\r\n"


def reset(writer: asyncio.StreamWriter) -> None:
    """End it with RST, as a server does that was killed."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


async def closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def resets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    reset(writer)


async def resets_in_the_handshake(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(REQUEST)
    reset(writer)


async def closes_in_the_handshake(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(REQUEST)
    writer.write(b"HTTP/1.1 101 Switching Pro")
    writer.close()


async def speaks_something_else(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.example ESMTP\r\n" + bytes(range(256)))
    writer.close()


async def says_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        await reader.read()
    writer.close()


def answers(head: str, body: str = "") -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(REQUEST)
        writer.write(f"HTTP/1.1 {head}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        writer.close()

    return serve


@contextlib.asynccontextmanager
async def serving(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"{'ws' if tls is None else 'wss'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def connect(url: str, timeouts: ClientTimeouts = PATIENT_CLIENT) -> ClientConnection:
    return await connecting.connect(url, timeouts)


@pytest.mark.parametrize(
    ("serve", "why"),
    [
        (closes, "did not receive a valid HTTP response"),
        (resets, "did not receive a valid HTTP response"),
        (resets_in_the_handshake, "did not receive a valid HTTP response"),
        (closes_in_the_handshake, "did not receive a valid HTTP response"),
        (speaks_something_else, "did not receive a valid HTTP response"),
        (says_nothing, "timed out during opening handshake"),
        (answers("500 Internal Server Error"), "HTTP 500"),
        (answers("502 Bad Gateway"), "HTTP 502"),
        (answers("200 OK"), "HTTP 200"),
        (answers("408 Request Timeout"), "HTTP 408"),
        (answers("429 Too Many Requests"), "HTTP 429"),
        (answers("101 Switching Protocols"), "Connection"),
    ],
)
async def test_a_peer_that_is_no_arena_now_may_be_one_later(serve: Serve, why: str) -> None:
    async with serving(serve) as url:
        timeouts = dataclasses.replace(PATIENT_CLIENT, open_timeout_s=0.1) if serve is says_nothing else PATIENT_CLIENT
        with pytest.raises(ArenaUnreachable, match=why):
            await connect(url, timeouts)


@pytest.mark.parametrize(
    "url", ["ws://127.0.0.1:99999999", "ws://[::1", "ws://\u2100.example", f"ws://{'a' * 70}.example"]
)
async def test_a_url_that_is_none_is_said_to_be(url: str) -> None:
    with pytest.raises(UsageFault, match="the arena's URL"):
        await connect(url)


async def test_a_bot_is_not_sent_on_to_another_host() -> None:
    for status in ("301 Moved Permanently", "302 Found", "307 Temporary Redirect"):
        async with serving(answers(f"{status}\r\nLocation: ws://localhost:1/taken")) as url:
            with pytest.raises(
                ArenaRefused, match="redirects to ws://localhost:1/taken: if that is right, use that URL"
            ):
                await connect(url)


async def test_a_bot_is_sent_on_to_another_path_of_its_host() -> None:
    async with (
        serving(answers("503 Service Unavailable")) as there,
        serving(answers(f"302 Found\r\nLocation: {there}/socket")) as url,
    ):
        with pytest.raises(ArenaUnreachable, match="HTTP 503"):
            await connect(url)


async def test_tls_that_breaks_off_is_no_reason_to_stop() -> None:
    for serve in (closes, speaks_something_else):
        async with serving(serve) as url:
            with pytest.raises(
                ArenaUnreachable, match=f"no arena answers at wss.*; if it speaks no TLS, its URL is {url}$"
            ):
                await connect(url.replace("ws", "wss", 1))


async def test_a_peer_that_speaks_no_http_may_speak_tls(untrusted: ssl.SSLContext) -> None:
    async with serving(says_nothing, untrusted) as url:
        plain = url.replace("wss", "ws")
        with pytest.raises(
            ArenaUnreachable, match=f"no arena answers at {plain}: .*; if it speaks TLS, its URL is {url}$"
        ):
            await connect(plain)


@pytest.fixture
def untrusted(tmp_path: Path) -> ssl.SSLContext:
    """A server's side of TLS, with a certificate that nobody vouches for."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1"
    made = [program("openssl"), *command.split(), "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True, timeout=WITHIN)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


async def test_a_certificate_that_is_not_trusted_stops_the_bot(untrusted: ssl.SSLContext) -> None:
    async with serving(says_nothing, untrusted) as url:
        with pytest.raises(ArenaRefused, match=f"{url}: its certificate is not trusted: self"):
            await connect(url)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("7", 7.0), ("100000", 300.0), ("-5", 0.0), ("soon", 0.0), ("9" * 5000, 300.0)],
)
async def test_a_server_may_say_when_to_come_back(said: str, seconds: float) -> None:
    async with serving(answers(f"503 Service Unavailable\r\nRetry-After: {said}")) as url:
        with pytest.raises(ArenaUnreachable) as away:
            await connect(url)
    assert away.value.retry_after_s == seconds


async def test_a_refused_handshake_is_quoted() -> None:
    for status in ("400 Bad Request", "404 Not Found"):
        async with serving(answers(status)) as url:
            with pytest.raises(ArenaRefused, match=f"{url} answered HTTP {status[:3]}"):
                await connect(url)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("bots connect elsewhere\n", ": bots connect elsewhere"),
        ("<!doctype html>\n<title>Shop</title>", " with a web page"),
    ],
)
async def test_of_an_answer_a_sentence_is_quoted_and_a_web_page_is_not(body: str, says: str) -> None:
    async with serving(answers("404 Not Found", body)) as url:
        with pytest.raises(ArenaRefused) as refused:
            await connect(url)
    assert str(refused.value) == f"{url} answered HTTP 404{says}"


async def test_a_host_that_can_be_none_is_refused() -> None:
    with pytest.raises(UsageFault, match="the arena's URL: "):
        await connect("ws://arena..example:1")


@pytest.fixture
def hanging_up() -> Iterator[str]:
    """The URL of a peer in a thread of its own that takes connections and closes them at once."""
    listening = socket.create_server(("127.0.0.1", 0))

    def take() -> None:
        with contextlib.suppress(OSError):
            while True:
                listening.accept()[0].close()

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    yield f"ws://127.0.0.1:{listening.getsockname()[1]}"
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join(WITHIN)


async def test_a_peer_that_accepts_and_closes_is_away_whenever_it_closes(hanging_up: str) -> None:
    for _ in range(60):
        with pytest.raises(ArenaUnreachable):
            await connect(hanging_up)


async def until_said(capsys: Any, text: str) -> None:
    """Return once a bot has said this on standard error."""
    said, patient_until = "", time.monotonic() + WITHIN
    while text not in said:
        assert time.monotonic() < patient_until, said
        await asyncio.sleep(0)
        said += capsys.readouterr().err


@pytest.fixture
async def playing() -> AsyncIterator[Callable[..., asyncio.Task[int]]]:
    """Starts a bot that waits hardly at all between its attempts, unless it gets other timeouts."""
    tasks = []

    def play(url: str, timeouts: ClientTimeouts = HASTY_CLIENT, **settings: Any) -> asyncio.Task[int]:
        loop = asyncio.get_running_loop()
        bot, asked = RandomBot("mine"), Settings(url=url, game="nim", **settings)
        client = Client(bot, asked, "t" * 20, timeouts=timeouts, clock=loop.time)
        tasks.append(asyncio.create_task(client.play()))
        return tasks[-1]

    yield play
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_bot_tries_again_in_one_line(playing: Any, capsys: Any) -> None:
    times = asyncio.Semaphore(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        times.release()
        writer.close()

    async with serving(serve) as url:
        playing(url)
        for _ in range(20):
            await asyncio.wait_for(times.acquire(), WITHIN)
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.virtual_time
async def test_patience_ends_however_long_a_server_asks_to_wait(playing: Any, capsys: Any) -> None:
    refused = asyncio.Semaphore(0)
    refuses = answers("503 Service Unavailable\r\nRetry-After: 200")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await refuses(reader, writer)
        refused.release()

    async with serving(serve) as url:
        bot = playing(url, ClientTimeouts(), patience=60.0)
        await refused.acquire()
        await until_said(capsys, "answered HTTP 503")
        await advance(59.99)
        assert not bot.done()
        await advance(0.01)
        assert await bot == 1
    assert "answered HTTP 503; gave up after 60 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (4004, "takes no more for now"),
        (4002, "got no hello in time"),
        (4005, "(4005)"),
        (1012, "(1012)"),
        (1001, "(1001)"),
    ],
)
async def test_a_bot_comes_back_from_what_may_pass(
    peer: Any, script: Any, playing: Any, code: int, says: str, capsys: Any
) -> None:
    playing(peer.url)
    for _ in range(3):
        line = await peer.line()
        await line.expect(Hello)
        await line.close(code)
    line = await peer.line()
    await line.expect(Hello)
    await line.say(script.welcome())
    await line.expect(Seek)
    (said,) = capsys.readouterr().err.splitlines()
    assert says in said
    assert said.endswith("; trying again")


async def test_what_the_arena_says_before_it_closes_is_told_once(
    peer: Any, script: Any, playing: Any, capsys: Any
) -> None:
    playing(peer.url)
    for _ in range(3):
        line = await peer.line()
        await line.expect(Hello)
        await line.say(Error(code="unavailable", message="too many names: try again in 60 s", fatal=True))
        await line.close(4004)
    await (await peer.line()).expect(Hello)
    line = f"mine: the arena at {peer.url} says: too many names: try again in 60 s; trying again\n"
    assert capsys.readouterr().err == line


@pytest.mark.virtual_time
async def test_a_bot_waits_for_its_welcome_on_one_connection_and_says_so(
    peer: Any, script: Any, playing: Any, capsys: Any
) -> None:
    playing(peer.url, ClientTimeouts())
    line = await peer.line()
    await line.expect(Hello)
    await advance(29.99)
    assert capsys.readouterr().err == ""
    await advance(0.01)
    assert capsys.readouterr().err == f"mine: {peer.url} has not accepted it yet; waiting\n"
    await advance(30.0)
    assert capsys.readouterr().err == f"mine: {peer.url} has not accepted it yet; waiting\n"
    await line.say(script.welcome())
    await line.expect(Seek)
    await advance(60.0)
    assert capsys.readouterr().err == ""


@pytest.mark.virtual_time
async def test_a_bot_that_is_not_let_in_leaves_when_its_patience_ends(peer: Any, playing: Any, capsys: Any) -> None:
    bot = playing(peer.url, ClientTimeouts(), patience=40.0)
    await (await peer.line()).expect(Hello)
    await advance(69.99)
    assert not bot.done(), "its patience begins when it is first said"
    await advance(0.01)
    assert await bot == 1
    assert f"mine: {peer.url} has not accepted it yet; gave up after 40 s\n" in capsys.readouterr().err


@pytest.mark.virtual_time
async def test_a_bot_that_waits_asks_who_is_here_and_says_it(peer: Any, script: Any, playing: Any, capsys: Any) -> None:
    playing(peer.url, ClientTimeouts(), opponent="nobody")
    line = await peer.line()
    await line.expect(Hello)
    await line.say(script.welcome())
    await line.expect(Seek)
    await advance(3.0)
    await line.expect(List)
    await line.say(Listing(bots=[], matches=[]), script.start(seek="s1"))
    await line.expect(Ready)
    assert capsys.readouterr().out.endswith("\nmine: waiting for nobody at nim, which is not connected\n")


@pytest.mark.virtual_time
async def test_a_connection_that_fell_silent_is_noticed(peer: Any, script: Any, playing: Any, capsys: Any) -> None:
    playing(peer.url, ClientTimeouts())
    line = await peer.line()
    await line.expect(Hello)
    await line.say(script.welcome())
    await line.expect(Seek)
    line.connection.transport.pause_reading()
    capsys.readouterr()
    await advance(14.99)
    assert capsys.readouterr().err == ""
    await advance(0.01 + 2.0 + 0.1)  # a ping, its timeout, the close that is not answered, and the first retry
    await (await peer.line()).expect(Hello)
    line.cut()

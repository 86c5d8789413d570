"""Helpers for the programs in this folder: a server, raw connections, attackers, and an honest pair of bots that
measures how long its plies take. Import this module before those of the folder above, which it puts on the path.

The programs run from any folder with the project's Python, and use only the loopback network of this machine.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.client
import json
import multiprocessing
import os
import resource
import secrets
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgpack

sys.path.insert(0, str(Path(__file__).parents[1]))

from toolkit import memory_mib, processor_s, quantile

from arena.processes.server_process import ServerProcess, start_module

if TYPE_CHECKING:
    from arena.store.store import Store

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
"""These six constants are the opcodes of WebSocket frames, with the names of RFC 6455."""
MSGPACK, JSON = "arena.v1.msgpack", "arena.v1.json"
"""`MSGPACK` and `JSON` are the names of the WebSocket subprotocols of the two encodings."""
TIMEOUT_S = 60.0
"""Seconds after which the programs give up waiting for an event."""


class Server(ServerProcess):
    """A process of `arena serve` with additional options, in a folder of its own, and without rate limits on matches.

    `with` starts and stops the server. A later `start` uses the folder and the port of the first. `files` limits the
    number of open files.
    """

    def __init__(self, *options: str, environment: dict[str, str] | None = None, files: int | None = None) -> None:
        page = () if "--web-port" in options else ("--no-web",)
        usual = ("--max-matches-per-hour", "0", *page)
        super().__init__("serve", *usual, *options, start_program=self._start_program)
        self._files = files
        self.environment = os.environ | (environment or {})
        self._folder = tempfile.TemporaryDirectory()
        self.data = Path(self._folder.name)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
        self._folder.cleanup()

    def start(self) -> None:
        """Start the server and wait until it listens. If it ends before that, raise `RuntimeError` with its log."""
        super().start()
        if not self.wait_until_ready(TIMEOUT_S):
            raise RuntimeError("the server ended: " + "".join(self.log))

    def _start_program(self, words: Sequence[str], **streams: Any) -> subprocess.Popen[bytes]:
        files = self._files
        limit = None if files is None else partial(resource.setrlimit, resource.RLIMIT_NOFILE, (files, files))
        words = (*words, "--data", str(self.data))
        return start_module(words, env=self.environment, preexec_fn=limit, **streams)

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    async def wait_for_page_port(self) -> int:
        """Wait until the web pages are served, and return their port."""
        line = await asyncio.to_thread(self.wait_for_line, "the page is at", TIMEOUT_S)
        return int(line.rpartition(":")[2])

    def memory_mib(self) -> float:
        return memory_mib(self.process.pid)

    def processor_s(self) -> float:
        return processor_s(self.process.pid)

    def count_descriptors(self) -> int:
        """Return the number of open files and sockets of the server."""
        return process_descriptors(self.process.pid)

    def running_matches(self) -> set[str]:
        """Return the ids of the matches in the journal: those that are not over, or not stored yet."""
        return {path.stem for path in (self.data / "journal").glob("*.jsonl")}

    def open_store(self) -> contextlib.closing[Store]:
        from arena.store.store import Store  # attackers also import this module, and are to start fast

        return contextlib.closing(Store.open(self.data / "arena.db", create=False))

    def check_data(self) -> list[str]:
        """Return what `arena db check` finds, and the tracebacks in the log. Call this after the server has stopped."""
        done = run_arena("db", "check", "--data", str(self.data))
        found = (done.stdout + done.stderr).splitlines() if done.returncode else []
        return found + [line for line in self.log if "Traceback" in line]


@contextlib.asynccontextmanager
async def run_tasks(*jobs: Coroutine[Any, Any, Any]) -> AsyncIterator[list[asyncio.Task[Any]]]:
    """Run coroutines as tasks, and cancel them at the end of the block."""
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.contextmanager
def run_web(database: str | Path) -> Iterator[tuple[int, int]]:
    """Run `arena web` on a database, given by its file or URL. Yield the process id and the port."""
    pages = ServerProcess("web", "--db", str(database))
    pages.start()
    try:
        if not pages.wait_until_ready(TIMEOUT_S):
            raise SystemExit(f"arena web did not start: {''.join(pages.log)}")
        yield pages.process.pid, pages.port
    finally:
        pages.stop()


def get_status(port: int, path: str, source: str, encoding: str = "identity") -> int:
    """Request a page from a loopback address. Read the answer completely, and return its HTTP status."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S, source_address=(source, 0))
    try:
        connection.request("GET", path, headers={"Accept-Encoding": encoding})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def print_broken(broken: Sequence[str], sound: str) -> bool:
    """Print the failed checks in `broken`. If there are none, print the text `sound`. Return whether a check failed."""
    for line in broken:
        print("BROKEN:", line)
    print(f"{len(broken)} claims broken" if broken else sound)
    return bool(broken)


def run_arena(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of `arena` to its end."""
    return subprocess.run([sys.executable, "-m", "arena", *words], capture_output=True, text=True, check=False)


def start_bot(bot: str, url: str, *options: str, **environment: str) -> subprocess.Popen[bytes]:
    """Start the program of a reference bot that plays nim on the server at `url`."""
    command = [sys.executable, "-m", "bots", "run", bot, "--url", url, "--game", "nim", *options]
    return subprocess.Popen(command, env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def child_processes(process: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def process_descriptors(process: int) -> int:
    """Return the number of open files and sockets of a process."""
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def read_finished_matches(data: Path) -> set[str]:
    """Return the ids of the finished matches in the store of a data folder."""
    return {match["match"] for match in json.loads(run_arena("matches", "--json", "--data", str(data)).stdout)}


def make_map(name: str, borders: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return a map of Risk with these borders between 100 territories, which are one continent."""
    return {
        "name": name,
        "territories": [{"name": f"t{at}", "continent": 0, "x": at % 10 * 11, "y": at // 10 * 11} for at in range(100)],
        "continents": [{"name": "c", "bonus": 0}],
        "borders": borders,
    }


def make_frame(payload: bytes, opcode: int = BINARY, *, fin: bool = True) -> bytes:
    """Return a WebSocket frame of a client. Its mask is 0, which is allowed and leaves the payload unchanged."""
    size = len(payload)
    head = bytes([opcode | fin << 7])
    if size < 126:
        head += bytes([0x80 | size])
    elif size < 65536:
        head += struct.pack(">BH", 0x80 | 126, size)
    else:
        head += struct.pack(">BQ", 0x80 | 127, size)
    return head + bytes(4) + payload


def make_handshake(port: int, encoding: str, *headers: str) -> bytes:
    """Return the HTTP request that begins a WebSocket connection."""
    lines = ["GET / HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Key: {base64.b64encode(secrets.token_bytes(16)).decode()}"]
    lines += ["Sec-WebSocket-Version: 13", f"Sec-WebSocket-Protocol: {encoding}", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


def make_message_frame(encoding: str = MSGPACK, **fields: Any) -> bytes:
    """Return a WebSocket frame with a message of these fields. `encoding` is the name of a subprotocol."""
    return make_frame(json.dumps(fields).encode(), TEXT) if encoding == JSON else make_frame(msgpack.packb(fields))


def take_frames(data: bytes) -> tuple[list[tuple[int, bytes]], bytes]:
    """Return the opcodes and payloads of the complete frames of a server at the beginning of `data`, and the rest."""
    found, at = [], 0
    while len(data) >= at + 2:
        size, head = data[at + 1], 2
        if size > 125:
            head = 4 if size == 126 else 10
            size = int.from_bytes(data[at + 2 : at + head], "big")
        end = at + head + size
        if len(data) < end:
            break
        found.append((data[at] & 15, data[at + head : end]))
        at = end
    return found, data[at:]


class Closed(Exception):
    """Raised if the server closes the connection. `code` is the close code, or 1006 if the server sent none."""

    def __init__(self, code: int) -> None:
        super().__init__(f"closed with {code}")
        self.code = code


CONNECTION_ERRORS = (OSError, EOFError, Closed)
"""The exceptions that a failing connection may raise."""


class RawConnection:
    """A low-level connection, made in up to three steps: `connect` (TCP), `upgrade` (WebSocket), `hello`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        self.reader, self.writer = reader, writer
        self.encoding = MSGPACK
        self.welcome: dict[str, Any] = {}
        """The server's answer to `hello`."""
        self._port = port

    @classmethod
    async def connect(cls, port: int, *, source: str = "127.0.0.1", receive_buffer: int = 0) -> Self:
        """Open a TCP connection from a loopback address, with a receive buffer of this many bytes (0: the default)."""
        sock = socket.socket(socket.AF_INET)
        sock.setblocking(False)
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.bind((source, 0))
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
        return cls(*await asyncio.open_connection(sock=sock, limit=2**22), port)

    @classmethod
    async def enter(cls, port: int, name: str | None = None, *, encoding: str = MSGPACK, **more: Any) -> Self:
        """Do all three steps: `connect`, `upgrade` and `hello`. Without a name, the client is a spectator. `more` may
        have `source`, `receive_buffer` and fields of `hello`.
        """
        options = {key: more.pop(key) for key in ("source", "receive_buffer") if key in more}
        raw = await cls.connect(port, **options)
        await raw.upgrade(encoding)
        await raw.hello(name, **more)
        return raw

    async def upgrade(self, encoding: str = MSGPACK, *headers: str) -> None:
        """Do the HTTP handshake of a WebSocket connection, with additional headers. Raise `ConnectionRefusedError`,
        with the status line, if the server refuses.
        """
        self.encoding = encoding
        self.writer.write(make_handshake(self._port, encoding, *headers))
        answer = await self.reader.readuntil(b"\r\n\r\n")
        first = answer.partition(b"\r\n")[0].decode()
        if " 101 " not in first:
            raise ConnectionRefusedError(first)

    async def hello(self, name: str | None = None, **more: Any) -> dict[str, Any]:
        """Send `hello` and return the `welcome` or `error`. A bot's default token is made from its name."""
        if name is not None:
            more = {"bot": name, "token": f"the token of {name}"} | more
        self.send(type="hello", **more)
        self.welcome = await self.receive("welcome", "error")
        return self.welcome

    def send(self, **fields: Any) -> None:
        self.writer.write(make_message_frame(self.encoding, **fields))

    async def write(self, data: bytes) -> None:
        """Send any bytes. Wait as long as the server does not read them."""
        self.writer.write(data)
        await self.writer.drain()

    async def receive(self, *types: str) -> dict[str, Any]:
        """Return the next message, or the next of these types. Answer pings. Raise `Closed` if the connection ends."""
        while True:
            opcode, payload = await self._frame()
            if opcode == PING:
                self.writer.write(make_frame(payload, PONG))
            elif opcode == CLOSE:
                raise Closed(int.from_bytes(payload[:2], "big") if payload else 1005)
            elif opcode != PONG:
                fields: dict[str, Any] = json.loads(payload) if opcode == TEXT else msgpack.unpackb(payload)
                if not types or fields["type"] in types:
                    return fields

    async def discard(self) -> int:
        """Discard all data until the server closes the connection. Do not answer pings. Return the number of bytes."""
        count = 0
        with contextlib.suppress(ConnectionError):
            while data := await self.reader.read(2**16):
                count += len(data)
        return count

    def close(self) -> None:
        self.writer.transport.abort()

    async def _frame(self) -> tuple[int, bytes]:
        try:
            first, second = await self.reader.readexactly(2)
            size = second & 127
            if size > 125:
                size = int.from_bytes(await self.reader.readexactly(2 if size == 126 else 8), "big")
            return first & 15, await self.reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise Closed(1006) from None


@dataclass
class PlayTimes:
    """The measurements of an honest pair of bots in a period: waiting times in seconds, and failures (`drops`)."""

    plies: list[float] = field(default_factory=list)
    """The seconds from each move to the next `turn` or `end`. For an unanswered move, the seconds so far."""
    starts: list[float] = field(default_factory=list)
    """The seconds from each seek of the pair to the start of its match."""
    drops: list[str] = field(default_factory=list)
    """Descriptions of what went wrong for the two bots: lost connections, errors and rejections."""

    def quantile(self, share: float) -> float:
        """Return the quantile `share` (0 to 1) of the times in `plies`; NaN if there are none."""
        return quantile(self.plies, share)

    def __str__(self) -> str:
        p50, p99, longest = (self.quantile(share) * 1000 for share in (0.5, 0.99, 1))
        drops = f", {len(self.drops)} drops ({self.drops[0]})" if self.drops else ""
        return f"{len(self.plies):6} plies: p50 {p50:6.2f} ms, p99 {p99:7.2f} ms, longest {longest:8.1f} ms{drops}"


class HonestPair:
    """Two bots that play unrated nim against each other endlessly, over the real protocol. `async with` runs them.

    Each bot takes `pace` seconds per move and reconnects if it is cut off.
    """

    def __init__(
        self,
        port: int,
        names: tuple[str, str] = ("honest-a", "honest-b"),
        *,
        encoding: str = MSGPACK,
        source: str = "127.0.0.1",
        tokens: tuple[str, str] | None = None,
        pace: float = 0.005,
    ) -> None:
        self._port, self._encoding, self._source, self._pace = port, encoding, source, pace
        self._names = names
        self._tokens = tokens or tuple(f"the token of {name}" for name in names)
        self._felt = PlayTimes()
        self._moved: dict[str, float] = {}
        """The times at which the pair sent the moves that are not answered yet, by match."""
        self._running = contextlib.AsyncExitStack()
        self._playing = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self._running.enter_async_context(run_tasks(*(self._keep_playing(seat) for seat in (0, 1))))
        await asyncio.wait_for(self._playing.wait(), TIMEOUT_S)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._running.aclose()

    async def measure(self, seconds: float) -> PlayTimes:
        """Let the two bots play for `seconds` more seconds. Return their waiting times and failures in this time."""
        self.take_measurements()
        await asyncio.sleep(seconds)
        return self.take_measurements()

    async def measure_with(self, server: Server, seconds: float) -> tuple[PlayTimes, float]:
        """Measure as `measure` does. Also return how much of a processor the server used in this time."""
        used = server.processor_s()
        felt = await self.measure(seconds)
        return felt, (server.processor_s() - used) / seconds

    def take_measurements(self) -> PlayTimes:
        """Return the measurements since the last call, and start new ones."""
        felt, self._felt = self._felt, PlayTimes()
        felt.plies += [time.perf_counter() - moved for moved in self._moved.values()]
        return felt

    async def _keep_playing(self, seat: int) -> None:
        while True:
            try:
                await self._play(self._names[seat], self._tokens[seat], self._names[1 - seat])
            except CONNECTION_ERRORS as exc:
                self._felt.drops.append(str(exc))
                await asyncio.sleep(0.2)

    async def _play(self, name: str, token: str, opponent: str) -> None:
        raw = await RawConnection.enter(self._port, name, encoding=self._encoding, source=self._source, token=token)
        if raw.welcome["type"] == "error":
            raise ConnectionRefusedError(raw.welcome["message"])
        clock = time.perf_counter
        sought = clock()

        def seek() -> None:
            nonlocal sought
            sought = clock()
            raw.send(type="seek", id="s", game="nim", config={"heaps": [25, 25]}, rated=False, opponent=opponent)

        try:
            if not raw.welcome.get("resumed"):
                seek()
            while True:
                told = await raw.receive()
                match told["type"]:
                    case "start":
                        self._felt.starts.append(clock() - sought)
                        raw.send(type="ready", match=told["match"])
                    case "turn":
                        self._record_ply(told["match"])
                        self._playing.set()
                        move = next(move for move in told["legal"] if move["take"] == 1)
                        await asyncio.sleep(self._pace)
                        self._moved[told["match"]] = clock()
                        raw.send(type="move", match=told["match"], ply=told["ply"], move=move)
                    case "end":
                        self._record_ply(told["match"])
                        seek()
                    case "error" | "rejected":
                        self._felt.drops.append(told["message"])
        finally:
            raw.close()

    def _record_ply(self, match: str) -> None:
        moved = self._moved.pop(match, None)
        if moved is not None:
            self._felt.plies.append(time.perf_counter() - moved)


async def repeat(attack: Callable[[], Awaitable[None]], pause_s: float = 0.0) -> None:
    """Attack again and again, also after the server has cut the connection."""
    while True:
        with contextlib.suppress(*CONNECTION_ERRORS):
            await attack()
        await asyncio.sleep(pause_s)


@contextlib.contextmanager
def run_attackers(count: int, attack: Callable[..., None], *arguments: Any) -> Iterator[None]:
    """Run `count` processes that each call `attack(number, *arguments)`, and kill them at the end of the block.
    `attack` is a module-level function. If one of the processes failed before, raise `RuntimeError`: a measurement
    without attackers proves nothing.
    """
    processes = multiprocessing.get_context("spawn")
    running = [processes.Process(target=attack, args=(number, *arguments), daemon=True) for number in range(count)]
    for process in running:
        process.start()
    try:
        yield
        if failed := [process.exitcode for process in running if process.exitcode]:
            raise RuntimeError(f"{len(failed)} of {count} attackers failed, with the exit codes {failed}")
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.join()

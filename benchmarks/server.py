"""Plies per second through the whole server (journal, digest, records, store) beside a raw echo of equal frames.

Both run in this one program, over the same library, the same clients and the same number of connections, server and
clients in a process each. A ply is one frame in and one frame out, as an echo is. The last line is `ratio N`.
Usage: python benchmarks/server.py [--connections 64] [--seconds 5] [--rounds 3] [--profile FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import cProfile
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

import msgpack
import uvloop
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from machine import event_loop

GAME = "nim"
CONFIG = {"heaps": [500, 500], "take": [1, 2, 3]}
"""1,000 plies a match, up to six legal moves a turn."""
POOL = "nim/classic"
_MOVE = msgpack.packb({"type": "move", "match": "m-100", "ply": 100, "move": {"heap": 0, "take": 1}})
_TURN = msgpack.packb(
    {
        "type": "turn",
        "match": "m-100",
        "ply": 100,
        "to_move": 0,
        "state": {"heaps": [100, 200], "to_move": 0, "ply": 100},
        "events": [{"ply": ply, "seat": ply % 2, "move": {"heap": 0, "take": 1}} for ply in (98, 99)],
        "clock": [60000, 60000],
        "legal": [{"heap": heap, "take": take} for heap in (0, 1) for take in (1, 2, 3)],
        "digest": "0" * 64,
    }
)
"""The frames of such a match: the echo answers the one with the other."""


def main() -> None:
    options = _options()
    if options.serve:
        job = _serve_echo() if options.serve == "echo" else _serve_arena(options.connections)
        profile = cProfile.Profile() if options.profile else None
        if profile:
            profile.enable()
        event_loop.run(job)
        if profile:
            profile.disable()
            profile.dump_stats(options.profile)
        return
    runs: dict[str, list[tuple[float, float]]] = {"echo": [], "arena": []}
    for _ in range(options.rounds):
        for kind, measured in runs.items():
            measured.append(_measure(kind, options))
    print(f"{options.connections} connections, medians of {options.rounds} runs of {options.seconds:g} s, in turn")
    rates = []
    for kind, what in (("echo", "round trips"), ("arena", "plies")):
        rate, cost = (median(column) for column in zip(*runs[kind], strict=True))
        rates.append(rate)
        print(f"{kind:<6}{rate:8.0f} {what}/s, {cost:6.1f} µs of the server's processor time each")
    print(f"ratio {rates[1] / rates[0]:.2f}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", type=Path, help="write the arena server's cProfile here")
    parser.add_argument("--serve", choices=("echo", "arena"), help=argparse.SUPPRESS)
    return parser.parse_args()


def _measure(kind: str, options: argparse.Namespace) -> tuple[float, float]:
    """Round trips a second of one server, in a process of its own, and its processor time for each, in µs."""
    command = [sys.executable, __file__, "--serve", kind, "--connections", str(options.connections)]
    if options.profile and kind == "arena":
        command += ["--profile", str(options.profile)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        try:
            return uvloop.run(_load(kind, port, server.pid, options))
        finally:
            server.communicate("\n")


async def _load(kind: str, port: int, pid: int, options: argparse.Namespace) -> tuple[float, float]:
    count = 0
    counting = False

    def tick() -> None:
        nonlocal count
        count += counting

    client = _echo_client if kind == "echo" else _playing_client
    tasks = [asyncio.create_task(client(port, number, tick)) for number in range(options.connections)]
    clock = asyncio.get_running_loop().time
    await asyncio.sleep(2)
    used, began, counting = _processor_time(pid), clock(), True
    await asyncio.sleep(options.seconds)
    counting = False
    rate = count / (clock() - began)
    cost = (_processor_time(pid) - used) / count * 1e6
    failed = next((task.exception() for task in tasks if task.done() and not task.cancelled()), None)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    if failed is not None:
        raise failed
    return rate, cost


def _processor_time(pid: int) -> float:
    """Seconds of processor time that a process has used; Linux only, 0 elsewhere."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _echo_client(port: int, number: int, tick: Callable[[], None]) -> None:
    """The work of a bot, without a referee: it reads a turn and sends a move."""
    async with _connect(port) as wire:
        await wire.send(_MOVE)
        while True:
            message = msgpack.unpackb(await wire.recv())
            match, ply, move = message["match"], message["ply"], message["legal"][0]
            await wire.send(msgpack.packb({"type": "move", "match": match, "ply": ply, "move": move}))
            tick()


async def _playing_client(port: int, number: int, tick: Callable[[], None]) -> None:
    """A bot of a dozen lines: ready, then the first legal move."""
    async with _connect(port) as wire:
        await wire.send(msgpack.packb({"type": "hello", "bot": f"bot{number}", "token": f"{number:016}"}))
        while True:
            message = msgpack.unpackb(await wire.recv())
            if message["type"] == "turn":
                match, ply, move = message["match"], message["ply"], message["legal"][0]
                await wire.send(msgpack.packb({"type": "move", "match": match, "ply": ply, "move": move}))
                tick()
            elif message["type"] == "start":
                await wire.send(msgpack.packb({"type": "ready", "match": message["match"]}))


def _connect(port: int) -> connect:
    return connect(f"ws://127.0.0.1:{port}", compression=None, ping_interval=None, create_connection=ClientConnection)


async def _serve_echo() -> None:
    async def echo(wire: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for _ in wire:
                await wire.send(_TURN)

    async with serve(echo, "127.0.0.1", 0, compression=None, ping_interval=None) as server:
        await _until_told(next(iter(server.sockets)).getsockname()[1])


async def _serve_arena(connections: int) -> None:
    from arena.host.handler import FinishedMatch, Identity
    from arena.host.journal import Journal
    from arena.host.session import Session
    from arena.network.admission import Access
    from arena.network.connection_limits import Bounds
    from arena.server.arena import Arena
    from arena.server.auth import Authenticator, Registration
    from arena.store.async_store import AsyncStore
    from arena.store.store import Store
    from protocol.games import load
    from protocol.messages import Clock, Hello

    names = [f"bot{number}" for number in range(connections)]
    game = load(GAME, CONFIG)
    count = 0

    class Paired(Arena):
        """An arena that lets everyone in, and has each pair play one match after the other."""

        async def authenticate(self, hello: Hello, address: str) -> Identity:
            return Identity(hello.bot)

        def connected(self, session: Session) -> None:
            super().connected(session)
            asyncio.get_running_loop().call_soon(self.pair)

        async def finalize(self, match: FinishedMatch) -> None:
            await super().finalize(match)
            self.pair()

        def pair(self) -> None:
            nonlocal count
            for pair in zip(names[::2], names[1::2], strict=True):
                if all(self.ladder.free_slots(name) > 0 for name in pair):
                    count += 1
                    seed = count.to_bytes(32, "big")
                    self.host.begin(self.header(f"m-{count}", game, pair, seed, pool=POOL), seed)

    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "arena.db")
        archive = AsyncStore(store)
        arena = Paired(
            archive,
            Journal(Path(folder) / "journal"),
            Authenticator(archive, Registration()),
            Clock(bank_ms=60_000, increment_ms=500),
            access=Access(bounds=Bounds(per_address=1000)),
        )
        await _until_told(await arena.host.listener.open("127.0.0.1", 0))
        await arena.close()
        await archive.drain()
        store.close()


async def _until_told(port: int) -> None:
    """Announce the port, then serve until the parent sends a line."""
    print(port, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


if __name__ == "__main__":
    main()

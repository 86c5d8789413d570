"""Measure plies per second of an arena with one node and with two, and how much a busy game slows down the players of
another game.

The clients also run on this machine, so their use of the processors is printed as well. Each round measures one node,
then two nodes, with the same two games. Each of two nodes has one of the games. The last line is `ratio N`, the median
of the rounds' ratios.

Then bots play one of the games at a fixed pace, and the time from a move to the opponent's turn is measured in three
cases: alone, with the other game busy on the other node, and with the other game busy on the same node. Nodes and
clients that share processors slow each other down, so the second case is also measured with a processor for each node
and its clients.

    python benchmarks/scaling.py [--seconds 5] [--rounds 3] [--pairs 16] [--small]

Needs PostgreSQL's programs, as Debian installs them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import multiprocessing
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import sqrt
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import msgpack
import uvloop

sys.path += [str(Path(__file__).parent / "reliability"), str(Path(__file__).parents[1] / "tests")]
from rig import BINARY, MSGPACK, Server, make_frame, make_handshake, take_frames
from toolkit import quantile, read_options

from arena.server.nodes import rendezvous_weight
from arena.store.database_url import open_database_url
from postgres import PostgresServer, postgres_server

NODES = ("a", "b")
"""The names of the two nodes of the arena."""
CONFIGS: dict[str, dict[str, Any]] = {
    "nim": {"heaps": [500, 500], "take": [1, 2, 3]},
    "dilemma": {"rounds": 1000},
}
"""The two games, each with its config."""
PACED_PAIRS, MOVE_DELAY_S = 4, 0.02
"""`PACED_PAIRS` is the number of pairs of bots in a measurement at a fixed pace, `MOVE_DELAY_S` the time of a move in
seconds.
"""
MOVES: dict[str, Callable[[int], dict[str, int]]] = {
    "nim": lambda ply: {"heap": int(ply >= 500), "take": 1},
    "dilemma": lambda _: {"choose": 0},
}
"""The functions that return the move at a ply, by game."""
_TURN_TYPE, _PLY_KEY, _LEGAL_KEY = b"\xa4type\xa4turn", b"\xa3ply", b"\xa5legal"
"""These are parts of a `turn` message in msgpack: its beginning, the key of its field `ply`, and the key of its field
`legal`.
"""


class PreparedBot(asyncio.Protocol):
    """A bot that answers each turn with a move prepared in advance, and reads only the ply of the turn."""

    def __init__(self, name: str, game: str, opponent: str, pace: float, plies: list[float]) -> None:
        self._name, self._game, self._opponent, self._pace, self._plies = name, game, opponent, pace, plies
        self._transport: Any = None
        self._data = b""
        self._upgraded = False
        self._moves: list[bytes] = []
        self.moved = 0.0
        """The time (`time.perf_counter`) when the bot sent its last move."""
        self.opponent = self

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(make_handshake(transport.get_extra_info("peername")[1], MSGPACK))

    def data_received(self, data: bytes) -> None:
        data = self._data + data
        if not self._upgraded:
            head, end, data = data.partition(b"\r\n\r\n")
            if not end:
                self._data = head
                return
            self._upgraded = True
            self._send(type="hello", bot=self._name, token=f"the token of {self._name}")
        frames, self._data = take_frames(data)
        for opcode, payload in frames:
            if opcode == BINARY:
                self._handle_message(payload)

    def _handle_message(self, payload: bytes) -> None:
        if payload.startswith(_TURN_TYPE, 1):
            if _LEGAL_KEY in payload:
                now = time.perf_counter()
                if self.opponent.moved:
                    self._plies.append(now - self.opponent.moved)
                ply = _read_ply(payload)
                if self._pace:
                    asyncio.get_running_loop().call_later(self._pace, self._move, ply)
                else:
                    self._move(ply)
            return
        told = msgpack.unpackb(payload)
        match told["type"]:
            case "welcome" | "end":
                self.moved = 0.0
                self._send(
                    type="seek",
                    id="s",
                    game=self._game,
                    config=CONFIGS[self._game],
                    rated=False,
                    opponent=self._opponent,
                )
            case "start":
                found = told["match"]
                move = MOVES[self._game]
                words: list[dict[str, Any]] = [
                    {"type": "move", "match": found, "ply": ply, "move": move(ply)} for ply in range(2000)
                ]
                self._moves = [make_frame(msgpack.packb(word)) for word in words]
                self._send(type="ready", match=found)
            case "error":
                raise SystemExit(f"{self._name}: {told['message']}")

    def _move(self, ply: int) -> None:
        self.moved = time.perf_counter()
        self._transport.write(self._moves[ply])

    def _send(self, **fields: Any) -> None:
        self._transport.write(make_frame(msgpack.packb(fields)))


def _read_ply(payload: bytes) -> int:
    at = payload.index(_PLY_KEY) + len(_PLY_KEY)
    kind = payload[at]
    return kind if kind < 128 else int.from_bytes(payload[at + 1 : at + (2 if kind == 0xCC else 3)])


def _return_bot(bot: PreparedBot) -> PreparedBot:
    return bot


class Load(NamedTuple):
    """A process that puts load on a node: pairs of bots that play a game there, at `pace` seconds per move. The process
    runs on the given `processor` or, if that is None, on any.
    """

    game: str
    port: int
    pairs: int
    pace: float = 0.0
    processor: int | None = None

    def play(self, pipe: Connection) -> None:
        """Play with the pairs of bots until the process is killed. Answer each request through `pipe` with two things:
        the seconds from moves to the opponents' turns, for all such turns since the last request, and the processor
        seconds so far.
        """
        if self.processor is not None:
            os.sched_setaffinity(0, {self.processor})
        elif not self.pace:
            os.nice(5)
        uvloop.run(self._play(pipe))

    async def _play(self, pipe: Connection) -> None:
        loop = asyncio.get_running_loop()
        plies: list[float] = []
        for number in range(self.pairs):
            names = [f"{self.game}-{number}-{seat}" for seat in (0, 1)]
            pair = [PreparedBot(names[seat], self.game, names[1 - seat], self.pace, plies) for seat in (0, 1)]
            pair[0].opponent, pair[1].opponent = pair[1], pair[0]
            for bot in pair:
                await loop.create_connection(partial(_return_bot, bot), "127.0.0.1", self.port)
        while True:
            await asyncio.to_thread(pipe.recv)
            told, plies[:] = plies.copy(), []
            await asyncio.to_thread(pipe.send, (told, time.process_time()))


class LoadResults(NamedTuple):
    """The results of loads that played at the same time."""

    rates: list[float]
    """The plies per second of each load."""
    delays: list[list[float]]
    """The seconds from moves to the opponents' turns, for each load."""
    servers: float
    """The mean number of processors that all servers used together."""
    clients: float
    """The mean number of processors that all loads used together."""


@contextlib.contextmanager
def run_servers(postgres: PostgresServer, names: Sequence[str]) -> Iterator[dict[str, Server]]:
    """Run servers that share a new database. Yield the servers by the name of their node."""
    database = f"arena_{secrets.token_hex(4)}"
    postgres.execute(f"CREATE DATABASE {database}")
    url = postgres.url(database)
    open_database_url(url).create()
    with contextlib.ExitStack() as stack:
        options = ("--db", url, "--clock", "1000+1")
        servers = {name: stack.enter_context(Server("--node", name, *options)) for name in names}
        yield servers


def measure_loads(servers: dict[str, Server], loads: Sequence[Load], seconds: float) -> LoadResults:
    """Let all loads play at the same time for the given seconds, and return their results."""
    spawn = multiprocessing.get_context("spawn")
    lines, processes = [], []
    for load in loads:
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=load.play, args=(theirs,), daemon=True)
        process.start()
        lines.append(ours)
        processes.append(process)

    def ask() -> list[tuple[list[float], float]]:
        for line in lines:
            line.send(None)
        return [line.recv() for line in lines]

    try:
        while not all(plies for plies, _ in ask()):
            time.sleep(1.0)
        before, used = ask(), sum(server.processor_s() for server in servers.values())
        time.sleep(seconds)
        after = ask()
        used = sum(server.processor_s() for server in servers.values()) - used
    finally:
        for process in processes:
            process.kill()
            process.join()
    clients = sum(now - then for (_, now), (_, then) in zip(after, before, strict=True))
    return LoadResults(
        [len(plies) / seconds for plies, _ in after],
        [plies for plies, _ in after],
        used / seconds,
        clients / seconds,
    )


def pin_server(server: Server, processor: int | None) -> None:
    """Pin a server to one processor; None leaves it unpinned."""
    if processor is not None:
        for thread in Path(f"/proc/{server.process.pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {processor})


def owner_of(game: str, names: Sequence[str]) -> str:
    return max(names, key=lambda name: rendezvous_weight(name, game))


def measure_throughput(postgres: PostgresServer, arguments: argparse.Namespace) -> float:
    """Return the ratio of plies per second with two nodes to those with one node."""
    ratios = []
    for turn in range(arguments.rounds):
        rates: dict[int, list[float]] = {}
        for count in (1, 2) if turn % 2 == 0 else (2, 1):
            names = NODES[:count]
            with run_servers(postgres, names) as servers:
                loads = [Load(game, servers[owner_of(game, names)].port, arguments.pairs) for game in CONFIGS]
                told = measure_loads(servers, loads, arguments.seconds)
            rates[count] = told.rates
            plies = ", ".join(f"{game} {rate:,.0f}" for game, rate in zip(CONFIGS, told.rates, strict=True))
            print(
                f"{count} node{'s' * (count > 1)}: {plies} plies/s; "
                f"processors: servers {told.servers:.2f}, clients {told.clients:.2f}"
            )
        one, two = rates[1], rates[2]
        ratios.append(sqrt(two[0] / one[0] * two[1] / one[1]))
    return median(ratios)


def print_latency(postgres: PostgresServer, arguments: argparse.Namespace) -> None:
    """Print how long a game's players wait for their turns: alone, then while others keep another game busy."""
    cold, hot = CONFIGS
    own: Sequence[int | None] = sorted(os.sched_getaffinity(0))[: len(CONFIGS)]
    shared: Sequence[int | None] = [None] * len(CONFIGS)
    for what, names, pairs, processors in (
        ("nothing else", NODES, 0, shared),
        (f"{hot} hot on the other node", NODES, arguments.pairs, shared),
        (f"{hot} hot on the other node, each on a processor", NODES, arguments.pairs, own),
        (f"{hot} hot on the same node", NODES[:1], arguments.pairs, shared),
    ):
        if len(processors) < len(CONFIGS):
            continue
        with run_servers(postgres, names) as servers:
            for game, processor in zip(CONFIGS, processors, strict=True):
                pin_server(servers[owner_of(game, names)], processor)
            loads = [Load(cold, servers[owner_of(cold, names)].port, PACED_PAIRS, MOVE_DELAY_S, processors[0])]
            if pairs:
                loads.append(Load(hot, servers[owner_of(hot, names)].port, pairs, processor=processors[1]))
            delays = measure_loads(servers, loads, arguments.seconds).delays[0]
        p50, p99 = (1000 * quantile(delays, share) for share in (0.5, 0.99))
        print(f"{cold}, {what}: p50 {p50:.2f} ms, p99 {p99:.2f} ms of {len(delays)} plies")


def main() -> None:
    small = {"seconds": 1.0, "rounds": 1, "pairs": 4}
    arguments = read_options(__doc__, small, seconds=5.0, rounds=3, pairs=16)
    assert owner_of("nim", NODES) != owner_of("dilemma", NODES)
    with postgres_server(durable=True) as postgres:
        print_latency(postgres, arguments)
        ratio = measure_throughput(postgres, arguments)
    print(f"ratio {ratio:.2f}")


if __name__ == "__main__":
    main()

"""Kill and restart a server that publishes over MQTT, and its broker, at random instants.

The broker in this program records each published end of a match before it acknowledges the message. The check fails if
the end of a stored match was never published, or was published differently.

    python benchmarks/reliability/mqtt_kills.py [--kills 40] [--seed 1] [--small]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import signal
import sys
import time
from collections import Counter

import msgspec
from ledger import Ledger, RandomPlayer, finish_matches
from rig import TIMEOUT_S, Server, print_broken, run_tasks
from toolkit import read_options

from arena.store.result_queries import iter_results

GAMES = ("nim", "nim", "nim", "nim", "tictactoe", "tictactoe")
"""The games that the bots play, one for each bot."""
CONNECT, PUBLISH, PINGREQ, DISCONNECT = 1, 3, 12, 14
"""These are types of MQTT packets, with the names of the standard."""


class RecordingBroker:
    """An MQTT broker without subscribers. It records the digest of a match's end, then acknowledges the message."""

    def __init__(self) -> None:
        self.ends: dict[str, list[str]] = {}
        """The digests in the `end` messages of each match, by match. A match has two digests if its end was published
        twice.
        """
        self.end_received = asyncio.Event()
        """This event is set whenever the end of a match is published."""
        self.port = 0
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def start(self) -> None:
        """Listen for connections. After a restart, the port stays the same."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def kill(self) -> None:
        """Abort all connections, losing data that was not read."""
        assert self._server is not None
        self._server.close()
        for writer in self._connections.values():
            writer.transport.abort()
        if self._connections:
            await asyncio.wait(self._connections)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = writer
        try:
            while await self._handle_packet(reader, writer) != DISCONNECT:
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            del self._connections[task]
            writer.close()

    async def _handle_packet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        (first,) = await reader.readexactly(1)
        size = shift = 0
        more = True
        while more:
            (part,) = await reader.readexactly(1)
            size |= (part & 127) << shift
            shift += 7
            more = part > 127
        body = await reader.readexactly(size)
        kind = first >> 4
        if kind == CONNECT:
            writer.write(b"\x20\x02\x00\x00")
        elif kind == PINGREQ:
            writer.write(b"\xd0\x00")
        elif kind == PUBLISH:
            at = 2 + int.from_bytes(body[:2], "big")
            topic = body[2:at].decode().split("/")
            if first & 6:
                if topic[-1] == "end":
                    self.ends.setdefault(topic[-2], []).append(msgspec.json.decode(body[at + 2 :])["digest"])
                    self.end_received.set()
                writer.write(b"\x40\x02" + body[at : at + 2])
        return kind


async def kill_repeatedly(broker: RecordingBroker, rng: random.Random, kill_counts: Counter[str]) -> None:
    """Kill and restart the broker at random times, and count the kills in `kill_counts`."""
    while True:
        await asyncio.sleep(rng.uniform(0.5, 4))
        await broker.kill()
        kill_counts["of its broker"] += 1
        await asyncio.sleep(rng.uniform(0, 2))
        await broker.start()


async def measure(arguments: argparse.Namespace) -> list[str]:
    chance = random.Random(arguments.seed)
    broker, ledger = RecordingBroker(), Ledger()
    await broker.start()
    server = Server("--clock", "5+0.2", "--mqtt", f"mqtt://127.0.0.1:{broker.port}/arena")
    await asyncio.to_thread(server.start)
    players = [RandomPlayer(ledger, server.port, at, game) for at, game in enumerate(GAMES)]
    how: Counter[str] = Counter()
    began = time.perf_counter()
    try:
        async with run_tasks(*(player.run() for player in players)):
            async with run_tasks(kill_repeatedly(broker, chance, how)):
                for _ in range(arguments.kills):
                    await asyncio.sleep(chance.uniform(0.2, 3))
                    number = chance.choice([signal.SIGKILL, signal.SIGTERM])
                    how[f"of the server by {number.name}"] += 1
                    await asyncio.to_thread(server.stop, number)
                    await asyncio.to_thread(server.start)
            await broker.kill()
            await broker.start()
            with contextlib.suppress(TimeoutError):
                await finish_matches(players, server)
            with server.open_store() as store:
                stored = {result.match: result.digest for result in store.iterate(iter_results)}
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TIMEOUT_S):
                    while stored.keys() - broker.ends.keys():
                        broker.end_received.clear()
                        await broker.end_received.wait()
    finally:
        server.stop()
        await broker.kill()
    told = ", ".join(f"{count} {of_what}" for of_what, count in how.items())
    print(f"{how.total()} ends in {time.perf_counter() - began:.0f} s: {told}")
    print(f"{len(stored):8} matches stored")
    print(f"{sum(len(ends) > 1 for ends in broker.ends.values()):8} ends told more than once")
    lost = stored.keys() - broker.ends.keys()
    otherwise = [match for match, ends in broker.ends.items() if set(ends) != {stored.get(match)}]
    found = {"ends lost": len(lost), "ends told otherwise than stored": len(otherwise)}
    return [f"{count} {what}" for what, count in found.items() if count]


def main() -> None:
    broken = asyncio.run(measure(read_options(__doc__, {"kills": 3}, kills=40, seed=1)))
    sys.exit(print_broken(broken, "every end that is stored was told"))


if __name__ == "__main__":
    main()

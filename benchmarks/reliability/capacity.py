"""Run a thousand bots in five hundred matches on one core. Count lost matches, and measure the time of a ply and the
memory.

All bots seek unrated nim. Before a move, each waits for 0.5 to 1.5 times `--pace` seconds, so that they do not all move
at once. The server is pinned to one core; the bots use the others.
Usage: python benchmarks/reliability/capacity.py [--bots 1000] [--seconds 600] [--pace 0.2] [--small]
Exit status 1 if a match ended because of the server, or if the end of a match was sent but not stored.
"""

from __future__ import annotations

import asyncio
import os
import time
import zlib
from collections import Counter

import uvloop
from rig import CONNECTION_ERRORS, TIMEOUT_S, PlayTimes, RawConnection, Server, read_finished_matches
from toolkit import read_options

CONFIG = {"heaps": [20, 20]}
"""The config of the matches. They have 40 plies, because a bot takes one counter per move."""
NORMAL_REASONS = frozenset({"win"})
"""The reasons for which matches end if nothing goes wrong."""


class Crowd:
    """A group of bots that play one match after the other until `stop` is called."""

    def __init__(self, port: int, bots: int, pace: float) -> None:
        self.felt = PlayTimes()
        self.reasons: Counter[str] = Counter()
        self.told: set[str] = set()
        """The ids of the matches whose end was sent to a bot."""
        self.under_way = 0
        self._port, self._pace = port, pace
        self._stopping = False
        self.complete = asyncio.Event()
        """This event is set once all bots that can be paired are playing."""
        self._bots = bots

    def stop(self) -> None:
        """Let the bots finish their current matches, and start no new ones."""
        self._stopping = True

    def _pause(self, match: str, ply: int) -> float:
        """Return the seconds after which a bot makes this move. Its opponent subtracts them from what it has waited."""
        return self._pace * (0.5 + zlib.crc32(f"{match} {ply}".encode()) / 2**32)

    async def play(self, number: int) -> None:
        """Play one match after the other as a bot with this number. A hundred bots share an address."""
        raw = await RawConnection.enter(self._port, f"bot-{number}", source=f"127.0.0.{1 + number // 100}")
        moved = 0.0
        try:
            raw.send(type="seek", id="s", game="nim", config=CONFIG, rated=False)
            while True:
                told = await raw.receive()
                now = time.perf_counter()
                if moved and told["type"] == "turn":
                    self.felt.plies.append(now - moved - self._pause(told["match"], told["ply"] - 1))
                match told["type"]:
                    case "start":
                        self.under_way += 1
                        if self.under_way >= self._bots - 1:
                            self.complete.set()
                        raw.send(type="ready", match=told["match"])
                    case "turn":
                        await asyncio.sleep(self._pause(told["match"], told["ply"]))
                        move = next(move for move in told["legal"] if move["take"] == 1)
                        moved = time.perf_counter()
                        raw.send(type="move", match=told["match"], ply=told["ply"], move=move)
                    case "end":
                        moved = 0.0
                        self.under_way -= 1
                        self.told.add(told["match"])
                        self.reasons[told["reason"]] += 1
                        if self._stopping:
                            return
                        raw.send(type="seek", id="s", game="nim", config=CONFIG, rated=False)
                    case "error" | "rejected":
                        self.felt.drops.append(told["message"])
        except CONNECTION_ERRORS as exc:
            self.felt.drops.append(str(exc))
        finally:
            raw.close()


async def measure(server: Server, bots: int, seconds: float, pace: float) -> Crowd:
    crowd = Crowd(server.port, bots, pace)
    empty = server.memory_mib()
    async with asyncio.TaskGroup() as group:
        playing = [group.create_task(crowd.play(number)) for number in range(bots)]
        async with asyncio.timeout(TIMEOUT_S):
            await crowd.complete.wait()
        crowd.felt = PlayTimes()
        used, began = server.processor_s(), time.perf_counter()
        await asyncio.sleep(seconds)
        share = (server.processor_s() - used) / (time.perf_counter() - began)
        print(f"{bots} bots, {crowd.under_way // 2} matches at once, {seconds:g} s: {crowd.felt}")
        print(f"processor {share:.0%} of a core, memory {empty:.0f} MiB empty, {server.memory_mib():.0f} MiB now")
        crowd.stop()
        await asyncio.sleep(60 * pace)
        for task in playing:
            task.cancel()  # those waiting for an opponent that has stopped
    return crowd


def main() -> None:
    small = {"bots": 100, "seconds": 4, "pace": 0.02}
    options = read_options(__doc__, small, bots=1000, seconds=600.0, pace=0.2)
    with Server("--max-connections", str(options.bots + 10)) as server:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(server.process.pid, cores[:1])
        crowd = uvloop.run(measure(server, options.bots, options.seconds, options.pace))
        server.stop()
        stored = read_finished_matches(server.data)
    reasons = ", ".join(f"{reason} {count}" for reason, count in crowd.reasons.most_common())
    lost = crowd.told - stored
    print(f"{len(crowd.told)} matches told ({reasons}), {len(lost)} of them not stored")
    raise SystemExit(bool(lost or crowd.felt.drops or crowd.reasons.keys() - NORMAL_REASONS))


if __name__ == "__main__":
    main()

"""Check that no bot gains time on its clock while the arena is delayed, by comparing a bot's thinking time with its
clock.

There are three kinds of delay. Puppets send the most expensive requests allowed. The server is stopped by a signal,
while the bot thinks or while its move waits unread. The bot answers pings late. Thinking lasts from the arrival of a
turn to the departure of the move, by the bot's own clock. `gained` is the part of the thinking time that was not taken
off the bot's bank; `given back` is the lag compensation in the record.
Usage: python benchmarks/reliability/clock.py [--seconds 20] [--puppets 2] [--small]
Exit status 1 if more time was gained than given back, or if more than 1 % of the bank was given back.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from rig import PING, PONG, RawConnection, Server, make_frame, make_message_frame, repeat, run_arena, run_attackers
from toolkit import option, read_options

BANK_S = 60.0
"""The bank of each seat, in seconds."""
MOVES_PER_SEAT = 10
"""The number of moves of each seat, which take single counters from a heap of twice this size."""
STOP_S = 0.5
"""Seconds for which a signal stops the server."""
PONG_DELAY_S = 0.15
"""Seconds by which `LatePongs` delays a pong."""
HEAVY_CONFIG = {"heaps": [990, 990, 990, 990], "take": [1, 2, 3], "start": "p-position"}
"""The config of nim whose deals take the most time to compute."""


class LatePongs(RawConnection):
    """A connection that answers pings `PONG_DELAY_S` seconds late."""

    async def _frame(self) -> tuple[int, bytes]:
        while True:
            opcode, payload = await super()._frame()
            if opcode != PING:
                return opcode, payload
            asyncio.get_running_loop().call_later(PONG_DELAY_S, self.writer.write, make_frame(payload, PONG))


@dataclass
class Thinker:
    """The bot whose clock is checked. `thought` counts its thinking time in seconds."""

    raw: RawConnection
    pace: float
    disturb: Callable[[Callable[[], None]], Awaitable[None]] | None = None
    """The function that disturbs every third move. Its argument is the function that sends the move."""
    thought: float = 0.0

    async def move(self, told: dict[str, Any]) -> None:
        began = time.monotonic()

        def send() -> None:
            self.thought += time.monotonic() - began
            send_move(self.raw, told)

        await asyncio.sleep(self.pace)
        if self.disturb is None or told["ply"] // 2 % 3 != 1:
            send()
        else:
            await self.disturb(send)


def main() -> int:
    options = read_options(
        __doc__,
        {"seconds": 1.0},
        seconds=option(20.0, "of thinking in each match"),
        puppets=option(2, "processes that flood the server"),
    )
    print(f"bank {BANK_S:g} s, {MOVES_PER_SEAT} moves of {options.seconds / MOVES_PER_SEAT:g} s each; in ms")
    print(f"{'':46}{'thought':>9}{'charged':>9}{'gained':>8}{'given back':>12}")
    with Server("--clock", f"{BANK_S:g}+0") as server:
        fair = [_run_scenario(server, options, *scenario) for scenario in _SCENARIOS]
    return 0 if all(fair) else 1


def _run_scenario(server: Server, options: argparse.Namespace, what: str, how: str) -> bool:
    """Play one match with a kind of disturbance. Return whether the bot gained no more time than the arena gave back as
    lag compensation, and neither bot was given back more than 1 % of its bank.
    """
    pace = options.seconds / MOVES_PER_SEAT
    attack = run_attackers(options.puppets, flood, server.port) if how == "flood" else contextlib.nullcontext()
    with attack:
        match, seat, thought = asyncio.run(_play_match(server, pace, how))
    record = server.data / f"{match}.jsonl"
    run_arena("replay", "export", match, "--to", str(record), "--data", str(server.data))
    plies = [line for line in map(json.loads, record.read_text().splitlines()) if line["type"] == "ply"]
    charged: float = BANK_S * 1000 - plies[-1]["clock"][seat]
    given: list[int] = [sum(line.get("given", 0) for line in plies if line["event"]["seat"] == at) for at in (0, 1)]
    gained = thought * 1000 - charged
    fair = gained <= given[seat] + MOVES_PER_SEAT and max(given) <= BANK_S * 10  # clocks count whole milliseconds
    line = f"{what:46}{thought * 1000:9.0f}{charged:9.0f}{gained:8.0f}{given[seat]:12}"
    print(line + ("" if fair else "  NOT FAIR"), flush=True)
    return fair


async def _play_match(server: Server, pace: float, how: str) -> tuple[str, int, float]:
    """Play one match. Return its id, the thinker's seat and its seconds of thinking."""
    kind = LatePongs if how == "pongs" else RawConnection
    thinker = Thinker(await kind.enter(server.port, f"thinker-{how}"), pace)
    if how in ("thinking", "unread"):
        thinker.disturb = _make_disturbance(server, early=how == "unread")
    other = await RawConnection.enter(server.port, f"other-{how}")
    for raw in (thinker.raw, other):
        raw.send(type="seek", id="s", game="nim", config={"heaps": [2 * MOVES_PER_SEAT]}, rated=False)
    start, _ = [await raw.receive("start") for raw in (thinker.raw, other)]
    for raw in (thinker.raw, other):
        raw.send(type="ready", match=start["match"])
    answering = asyncio.create_task(_answer_turns(other))
    while (told := await thinker.raw.receive("turn", "end"))["type"] == "turn":
        await thinker.move(told)
    await answering
    for raw in (thinker.raw, other):
        raw.close()
    return start["match"], start["seat"], thinker.thought


async def _answer_turns(raw: RawConnection) -> None:
    while (told := await raw.receive("turn", "end"))["type"] == "turn":
        send_move(raw, told)


def send_move(raw: RawConnection, told: dict[str, Any]) -> None:
    raw.send(type="move", match=told["match"], ply=told["ply"], move={"heap": 0, "take": 1})


def _make_disturbance(server: Server, *, early: bool) -> Callable[[Callable[[], None]], Awaitable[None]]:
    """Return a function that stops the server for `STOP_S` seconds and sends a move in this time. If `early`, it sends
    the move at the beginning, else at the end.
    """

    async def disturb(send: Callable[[], None]) -> None:
        server.process.send_signal(signal.SIGSTOP)
        if early:
            send()
        await asyncio.sleep(STOP_S)
        if not early:
            send()
        server.process.send_signal(signal.SIGCONT)

    return disturb


def flood(number: int, port: int) -> None:
    """Run a puppet that endlessly sends seeks with costly deals and withdraws them at once."""

    names = count()
    block = b"".join(
        make_message_frame(type="seek", id=str(at), game="nim", config=HEAVY_CONFIG, rated=False)
        + make_message_frame(type="unseek", id=str(at))
        for at in range(64)
    )

    async def puppet() -> None:
        name = f"puppet-{number}-{next(names)}"
        raw = await RawConnection.enter(port, name, source=f"127.0.1.{1 + number}", slots=64)
        reading = asyncio.create_task(raw.discard())
        while not reading.done():
            await raw.write(block)

    asyncio.run(repeat(puppet))


_SCENARIOS = (
    ("undisturbed", "nothing"),
    ("puppets flood the server", "flood"),
    ("the server is stopped, the bot thinks on", "thinking"),
    ("the server is stopped, the move lies unread", "unread"),
    ("pings are answered late", "pongs"),
)
"""The scenarios to measure, each with its title and its kind of disturbance."""

if __name__ == "__main__":
    sys.exit(main())

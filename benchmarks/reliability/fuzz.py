"""Send malformed frames, and check that each causes only an error reply and does not affect an honest pair.

First come the codec and the readers of its messages, with the fast decoder compared with the general one; then
WebSocket frames in arbitrary pieces, through the arena's path and the library's; then a server, with an honest pair and
with bots in both encodings whose messages are mostly broken in transit.
Usage: python benchmarks/reliability/fuzz.py [--frames 200000] [--both 300000] [--live 20000] [--seed 1] [--small]
Exit status 1 if a frame causes anything but a fault of the bot, or two paths disagree; or, on the server, if it ends,
writes a traceback or leaves inconsistent data, or if the honest pair loses its connection or receives an error.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgpack
import msgspec

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from rig import JSON, MSGPACK, TEXT, Closed, HonestPair, Raw, Server, frame, small_or_asked

from frame_pieces import (
    KINDS,
    MOVE,
    Difference,
    TwoWays,
    both_ways,
    cut_everywhere,
    decoded_both_ways,
    framed_otherwise,
    is_plain,
    kind_of,
    oddly_packed,
)
from protocol import codec
from protocol.dice import Dice
from protocol.errors import BotFault
from protocol.games import load
from protocol.messages import Move, Seek

GAMES = ("nim", "grundy", "tictactoe", "risk-duel", "risk-campaign")
MOVES = (
    {"heap": 1, "take": 2},
    {"heap": 0, "split": 3},
    {"cell": 4},
    {"do": "invade", "to": 2},
    {"do": "attack", "from": 0, "to": 2, "units": 1},
    {"do": "draft", "units": [[4, 2], [5, 1]]},
    {"do": "end"},
)
INFO = {"value": -1.0, "depth": 3, "nodes": 57, "note": "as good as lost"}
CONFIGS: tuple[dict[str, Any], ...] = (
    {"preset": "classic"},
    {"heaps": [3, 4, 5], "take": [1, 2], "start": "p-position", "misere": True},
    {"map": {"name": "mine", "territories": [{"name": "A", "continent": 0, "x": 1, "y": 2}], "continents": []}},
    {"map": "africa", "players": 3, "deal": "00" * 16},
)
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**63,
    2**64,
    -(2**63),
    0.5,
    1e308,
    "",
    "\x00",
    "\ud7ff",
    "x" * 5000,
    [],
    {},
    [[[]]],
)
FUZZERS = 6


def meant(chance: random.Random) -> dict[str, Any]:
    match = f"m-{chance.randrange(4)}"
    return chance.choice(
        [
            {
                "type": "hello",
                "bot": "ann",
                "token": "t" * 20,
                "version": "1",
                "client": "x",
                "slots": 2,
                "follow": True,
            },
            {"type": "seek", "id": "s", "game": chance.choice(GAMES), "config": chance.choice(CONFIGS), "rated": True},
            {"type": "unseek", "id": "s"},
            {"type": "ready", "match": match, "nonce": "00112233445566778899aabbccddeeff"},
            {"type": "move", "match": match, "ply": chance.randrange(9), "move": chance.choice(MOVES), "info": INFO},
            {"type": "resign", "match": match},
            {"type": "watch", "match": chance.choice([match, "*"])},
            {"type": "unwatch", "match": match},
        ]
    )


def bent(value: Any, chance: random.Random) -> Any:
    """Return a value with something in it replaced, removed, repeated or nested deeper."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(list(value))
        if chance.random() < 0.2:
            return {other: value[other] for other in value if other != key}
        if chance.random() < 0.1:
            return {**value, chance.choice(["x", "type", ""]): chance.choice(ODD)}
        return {**value, key: bent(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.7:
        at = chance.randrange(len(value))
        return [*value[:at], bent(value[at], chance), *value[at : at + chance.randrange(2000)]]
    if chance.random() < 0.1:
        for _ in range(chance.randrange(12)):
            value = [value]
        return value
    return chance.choice(ODD)


def broken(data: bytes, chance: random.Random) -> bytes:
    """Return the bytes with some changed, removed, repeated or inserted."""
    made = bytearray(data)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(made) + 1)
        match chance.randrange(4):
            case 0 if at < len(made):
                made[at] ^= 1 << chance.randrange(8)
            case 1:
                del made[at : at + chance.randrange(1, 9)]
            case 2:
                made[at:at] = chance.randbytes(chance.randrange(1, 9))
            case _:
                made += made[at : at + chance.randrange(1, 99)]
    return bytes(made)


def packed(message: Any, encoding: str) -> bytes:
    """Encode a message; values that msgpack can't hold become JSON."""
    try:
        return msgspec.json.encode(message) if encoding == JSON else msgpack.packb(message)
    except (OverflowError, ValueError):
        return msgspec.json.encode(message)


def fuzzed(message: dict[str, Any], encoding: str, chance: random.Random) -> bytes:
    """Encode a message, after bending it, breaking its bytes, both or neither."""
    for _ in range(chance.randrange(3)):
        message = bent(message, chance)
    data = packed(message, encoding)
    return broken(data, chance) if chance.random() < 0.5 else data


@dataclass
class Alone:
    """The outcomes of frames in the codec and the readers of its messages."""

    came: Counter[str] = field(default_factory=Counter)
    """The kinds of messages and faults."""
    escaped: int = 0
    """The number of unexpected errors."""
    packed: int = 0
    plain: int = 0
    """The number of msgpack frames, and of those that the fast decoder handled."""
    unlike: int = 0
    """The number of frames for which the general decoder gave another result."""


def alone(frames: int, chance: random.Random) -> Alone:
    """Read a number of frames and return the outcomes."""
    positions = [(game, game.initial(Dice(bytes(32), 0))[0]) for game in map(load, GAMES)]
    so_far = Alone()
    for number in range(frames):
        encoding = (MSGPACK, JSON)[number % 2]
        if number % 16 < 2:
            data = chance.randbytes(chance.randrange(200))
        elif number % 4 == 2:
            data = oddly_packed(chance)
        else:
            data = fuzzed(meant(chance), encoding, chance)
        try:
            so_far.came[_read(data, encoding, positions)] += 1
            if encoding == MSGPACK:
                _compare(data, so_far)
        except Exception:
            so_far.escaped += 1
            print(f"{encoding}: {data[:300]!r}\n{traceback.format_exc()}")
    return so_far


def _compare(data: bytes, so_far: Alone) -> None:
    """Decode a frame with and without the fast decoder."""
    so_far.packed += 1
    so_far.plain += is_plain(data)
    short, long = decoded_both_ways(data)
    if short != long:
        so_far.unlike += 1
        print(f"{data[:300]!r}\ncomes to {short:.500}\nnot to {long:.500}")


@dataclass
class BothWays:
    """The outcomes of WebSocket frames through the arena's path and the library's."""

    frames: int = 0
    """Complete frames read before the end."""
    streams: int = 0
    short: int = 0
    """Frames that took the fast path."""
    closed: Counter[int | None] = field(default_factory=Counter)
    """Close codes of the streams."""
    differences: int = 0


def pieces(frames: int, seed: int) -> BothWays:
    """Send a number of frames through both paths, stopping after a few differences."""
    so_far = BothWays()
    for sent in framed_otherwise():
        so_far.differences += 1
        print(f"the arena frames {type(sent).__name__} of {len(sent)} otherwise than the library")
    number = 0
    while so_far.frames < frames and so_far.differences < 10:
        try:
            for ways in _streams(number, random.Random(f"{seed}/{number}")):
                so_far.streams += 1
                so_far.frames += ways.frames
                so_far.short += ways.short
                so_far.closed[ways.closed_with] += 1
        except Difference as difference:
            so_far.differences += 1
            print(f"stream {number}: {difference}")
        number += 1
    return so_far


def _streams(number: int, chance: random.Random) -> Iterator[TwoWays]:
    """Compare a long stream in arbitrary pieces, or a short one cut once at every place."""
    if number % 200:
        yield both_ways(chance, chance.randrange(1, 60))
    else:
        yield from cut_everywhere([MOVE, *chance.choices(list(KINDS.values()), k=3), MOVE])


def _read(data: bytes, encoding: str, positions: list[tuple[Any, Any]]) -> str:
    """Return what becomes of a frame: the kind of message, or the code of the fault."""
    received: codec.Frame = data
    if encoding == JSON:
        try:
            received = data.decode()
        except UnicodeDecodeError:
            return "no text"
    reader = codec.CODECS[encoding]
    with contextlib.suppress(BotFault):
        reader.decode_server(received)
    try:
        message = reader.decode_client(received)
        if isinstance(message, Seek):
            load(message.game, message.config)
        elif isinstance(message, Move):
            codec.read_info(message.info)
            for game, position in positions:
                _play(game, position, message.move)
    except BotFault as fault:
        return fault.code
    return kind_of(message).__name__.lower()


def _play(game: Any, position: Any, move: Any) -> None:
    with contextlib.suppress(BotFault):
        game.apply(position, game.decode_move(move), Dice(bytes(32), 1))


class Fuzzer:
    """A bot that seeks and plays, and breaks most of its messages."""

    def __init__(self, number: int, port: int, budget: list[int], chance: random.Random) -> None:
        self._number, self._port, self._budget, self._chance = number, port, budget, chance
        self.ends = 0

    async def run(self) -> None:
        """Reconnect whenever it is thrown out, until the budget is used up."""
        while self._budget[0] > 0:
            encoding = self._chance.choice([MSGPACK, JSON])
            try:
                raw = await Raw.enter(
                    self._port, f"fuzzer-{self._number}", encoding=encoding, source=f"127.0.0.{self._number + 10}"
                )
            except (OSError, Closed, asyncio.IncompleteReadError):
                await asyncio.sleep(0.05)
                continue
            with contextlib.suppress(OSError, Closed, TimeoutError):
                async with asyncio.timeout(5):
                    await self._talk(raw)
            raw.close()

    async def _talk(self, raw: Raw) -> None:
        raw.send(type="seek", id="s", game="nim", config={"preset": "classic"}, rated=False)
        while self._budget[0] > 0:
            told = await raw.receive()
            said: dict[str, Any] = {"type": "unseek", "id": "x"}
            match told["type"]:
                case "start":
                    raw.send(type="ready", match=told["match"])
                    said = {"type": "watch", "match": told["match"]}
                case "turn" if "legal" in told:
                    said = {"type": "move", "match": told["match"], "ply": told["ply"], "move": told["legal"][0]}
                    self._send(raw, {**said, "info": INFO})
                    raw.send(**said)
                case "end":
                    self.ends += 1
                    raw.send(type="seek", id="s", game="nim", config={"preset": "classic"}, rated=False)
            self._send(raw, said)

    def _send(self, raw: Raw, message: dict[str, Any]) -> None:
        self._budget[0] -= 1
        chance = self._chance
        data = fuzzed(message if chance.random() < 0.5 else meant(chance), raw.encoding, chance)
        sent = frame(data, TEXT) if raw.encoding == JSON else frame(data)
        raw.writer.write(broken(sent, chance) if chance.random() < 0.03 else sent)


async def _garble(port: int, budget: list[int], chance: random.Random) -> None:
    request = b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    while budget[0] > 0:
        raw = await Raw.connect(port, source="127.0.0.9")
        raw.writer.write(broken(request + b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", chance))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.2):
                await raw.discard()
        raw.close()


async def live(server: Server, frames: int, seed: int) -> tuple[Any, int]:
    """Run the fuzzers. Return what the honest pair felt, and the number of ends that the fuzzers were sent."""
    budget = [frames]
    fuzzers = [Fuzzer(n, server.port, budget, random.Random(f"{seed}/{n}")) for n in range(FUZZERS)]
    async with HonestPair(server.port) as pair:
        pair.take()
        async with asyncio.TaskGroup() as group:
            for fuzzer in fuzzers:
                group.create_task(fuzzer.run())
            group.create_task(_garble(server.port, budget, random.Random(seed)))
        return pair.take(), sum(fuzzer.ends for fuzzer in fuzzers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=200_000)
    parser.add_argument("--both", type=int, default=300_000, help="how many WebSocket frames go both ways")
    parser.add_argument("--live", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = small_or_asked(parser, frames=10_000, both=10_000, live=1_000)
    began = time.monotonic()
    read = alone(options.frames, random.Random(options.seed))
    print(f"{options.frames} frames in {time.monotonic() - began:.0f} s: {dict(read.came)}")
    print(f"{read.escaped} came to something that is neither a message nor a fault of the bot")
    print(
        f"{read.packed} in msgpack, {read.plain} by the short decoder: {read.unlike} came to another message or fault"
    )
    began = time.monotonic()
    both = pieces(options.both, options.seed)
    print(
        f"{both.frames} WebSocket frames in {both.streams} streams both ways in {time.monotonic() - began:.0f} s, ",
        end="",
    )
    print(f"{both.short} the short way: {both.differences} differences; closed with {dict(both.closed.most_common())}")
    began = time.monotonic()
    with Server() as server:
        felt, ends = asyncio.run(live(server, options.live, options.seed))
        ended = server.process.poll() is not None
        stopped = server.stop()
        tracebacks = [line for line in server.log if "Traceback" in line or "Error" in line]
        check = [sys.executable, "-m", "arena", "db", "check", "--data", str(server.data)]
        unsound = subprocess.run(check, capture_output=True, text=True).returncode
    print(f"{options.live} frames to a server in {time.monotonic() - began:.0f} s; {ends} ends told to who sent them")
    print(f"honest {felt}")
    print(f"the server {'ended' if ended else 'ran on'} and stopped with {stopped}; {len(tracebacks)} tracebacks")
    for line in tracebacks[:5]:
        print(f"  {line}")
    print("its data is not sound" if unsound else "its data is sound")
    failed = read.escaped or read.unlike or both.differences or ended or stopped or tracebacks or unsound
    raise SystemExit(bool(failed or felt.drops or not felt.plies))


if __name__ == "__main__":
    main()

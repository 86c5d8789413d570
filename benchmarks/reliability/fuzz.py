"""Send malformed frames, and check that each causes only an error reply and does not affect an honest pair.

Part one tests the codec and the readers of its messages, and compares the fast decoder with the general one. Part two
sends WebSocket frames in arbitrary pieces through the arena's fast path and through the library. Part three runs a
server with an honest pair, and with bots in both encodings most of whose messages are broken in transit.
Usage: python benchmarks/reliability/fuzz.py [--frames 200000] [--both 300000] [--live 20000] [--seed 1] [--small]
Exit status 1 if a frame causes anything but a fault of the bot, or if two paths disagree. Also if the server ends,
writes a traceback or leaves inconsistent data, or if the honest pair loses its connection or receives an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
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

from rig import CONNECTION_ERRORS, JSON, MSGPACK, TEXT, HonestPair, RawConnection, Server, make_frame
from toolkit import option, read_options

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
from protocol.games import load_game
from protocol.messages import Move, Seek

GAMES = ("nim", "grundy", "tictactoe", "risk-duel", "risk-campaign")
"""The games whose rules try to read and play the move of each frame."""
MOVES = (
    {"heap": 1, "take": 2},
    {"heap": 0, "split": 3},
    {"cell": 4},
    {"do": "invade", "to": 2},
    {"do": "attack", "from": 0, "to": 2, "units": 1},
    {"do": "draft", "units": [[4, 2], [5, 1]]},
    {"do": "end"},
)
"""Valid moves for the `move` messages that the fuzzer then damages."""
INFO = {"value": -1.0, "depth": 3, "nodes": 57, "note": "as good as lost"}
"""A valid `info` for the `move` messages that the fuzzer then damages."""
CONFIGS: tuple[dict[str, Any], ...] = (
    {"preset": "classic"},
    {"heaps": [3, 4, 5], "take": [1, 2], "start": "p-position", "misere": True},
    {"map": {"name": "mine", "territories": [{"name": "A", "continent": 0, "x": 1, "y": 2}], "continents": []}},
    {"map": "africa", "players": 3, "deal": "00" * 16},
)
"""The configs in the `seek` messages that the fuzzer then damages."""
ODD_VALUES: tuple[Any, ...] = (
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
"""The unusual values with which the fuzzer replaces parts of a message."""
FUZZER_COUNT = 6
"""The number of bots that play on the server and damage their messages."""


def make_message(rng: random.Random) -> dict[str, Any]:
    match = f"m-{rng.randrange(4)}"
    return rng.choice(
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
            {"type": "seek", "id": "s", "game": rng.choice(GAMES), "config": rng.choice(CONFIGS), "rated": True},
            {"type": "unseek", "id": "s"},
            {"type": "ready", "match": match, "nonce": "00112233445566778899aabbccddeeff"},
            {"type": "move", "match": match, "ply": rng.randrange(9), "move": rng.choice(MOVES), "info": INFO},
            {"type": "resign", "match": match},
            {"type": "watch", "match": rng.choice([match, "*"])},
            {"type": "unwatch", "match": match},
        ]
    )


def mutate_value(value: Any, rng: random.Random) -> Any:
    """Return a copy of a value in which some part is replaced, removed, repeated or nested deeper."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(list(value))
        if rng.random() < 0.2:
            return {other: value[other] for other in value if other != key}
        if rng.random() < 0.1:
            return {**value, rng.choice(["x", "type", ""]): rng.choice(ODD_VALUES)}
        return {**value, key: mutate_value(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.7:
        at = rng.randrange(len(value))
        return [*value[:at], mutate_value(value[at], rng), *value[at : at + rng.randrange(2000)]]
    if rng.random() < 0.1:
        for _ in range(rng.randrange(12)):
            value = [value]
        return value
    return rng.choice(ODD_VALUES)


def break_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return a copy of the data in which some bytes are changed, removed, repeated or inserted."""
    made = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(made) + 1)
        match rng.randrange(4):
            case 0 if at < len(made):
                made[at] ^= 1 << rng.randrange(8)
            case 1:
                del made[at : at + rng.randrange(1, 9)]
            case 2:
                made[at:at] = rng.randbytes(rng.randrange(1, 9))
            case _:
                made += made[at : at + rng.randrange(1, 99)]
    return bytes(made)


def encode(message: Any, encoding: str) -> bytes:
    """Encode a message. If msgpack cannot hold one of its values, encode the message in JSON."""
    try:
        return msgspec.json.encode(message) if encoding == JSON else msgpack.packb(message)
    except (OverflowError, ValueError):
        return msgspec.json.encode(message)


def fuzz(message: dict[str, Any], encoding: str, rng: random.Random) -> bytes:
    """Encode a message. At random, change its values (`mutate_value`) and its bytes (`break_bytes`)."""
    for _ in range(rng.randrange(3)):
        message = mutate_value(message, rng)
    data = encode(message, encoding)
    return break_bytes(data, rng) if rng.random() < 0.5 else data


@dataclass
class CodecOutcomes:
    """The counts of the outcomes when random frames are decoded as messages."""

    counts: Counter[str] = field(default_factory=Counter)
    """The number of frames that were read as each kind of message or fault, by the kind's name."""
    unexpected_errors: int = 0
    """The number of frames that led to an unexpected error."""
    msgpack_frames: int = 0
    fast_frames: int = 0
    """The number of frames, of all `msgpack_frames`, that the fast decoder handled."""
    differences: int = 0
    """The number of frames for which the fast and the general decoder gave different results."""


def fuzz_codec(frames: int, rng: random.Random) -> CodecOutcomes:
    """Read `frames` random frames with the codec, and return the outcomes."""
    positions = [(game, game.initial(Dice(bytes(32), 0))[0]) for game in map(load_game, GAMES)]
    so_far = CodecOutcomes()
    for number in range(frames):
        encoding = (MSGPACK, JSON)[number % 2]
        if number % 16 < 2:
            data = rng.randbytes(rng.randrange(200))
        elif number % 4 == 2:
            data = oddly_packed(rng)
        else:
            data = fuzz(make_message(rng), encoding, rng)
        try:
            so_far.counts[_read_frame(data, encoding, positions)] += 1
            if encoding == MSGPACK:
                _compare(data, so_far)
        except Exception:
            so_far.unexpected_errors += 1
            print(f"{encoding}: {data[:300]!r}\n{traceback.format_exc()}")
    return so_far


def _compare(data: bytes, outcomes: CodecOutcomes) -> None:
    """Decode a frame with the fast and with the general decoder, and compare the results. Count the frame, and the
    difference if there is one.
    """
    outcomes.msgpack_frames += 1
    outcomes.fast_frames += is_plain(data)
    short, long = decoded_both_ways(data)
    if short != long:
        outcomes.differences += 1
        print(f"{data[:300]!r}\ncomes to {short:.500}\nnot to {long:.500}")


@dataclass
class PathOutcomes:
    """The outcomes of reading WebSocket frames in two ways, by the arena's fast path and by the library, as counts."""

    frames: int = 0
    """The number of complete frames that were read from streams."""
    streams: int = 0
    short: int = 0
    """The number of frames, of all `frames`, that took the arena's fast path."""
    closed: Counter[int | None] = field(default_factory=Counter)
    """The number of streams that ended with each close code."""
    differences: int = 0


def fuzz_frames(frames: int, seed: int) -> PathOutcomes:
    """Let the arena's fast path and the library read frames, and count the results. Stop after ten differences."""
    so_far = PathOutcomes()
    for sent in framed_otherwise():
        so_far.differences += 1
        print(f"the arena frames {type(sent).__name__} of {len(sent)} otherwise than the library")
    number = 0
    while so_far.frames < frames and so_far.differences < 10:
        try:
            for ways in _compare_streams(number, random.Random(f"{seed}/{number}")):
                so_far.streams += 1
                so_far.frames += ways.frames
                so_far.short += ways.short
                so_far.closed[ways.close_code] += 1
        except Difference as difference:
            so_far.differences += 1
            print(f"stream {number}: {difference}")
        number += 1
    return so_far


def _compare_streams(number: int, chance: random.Random) -> Iterator[TwoWays]:
    """Let the arena's fast path and the library read the same stream of frames, and compare the results. Most streams
    are cut at random into pieces. Every 200th stream, by `number`, is short. It is read repeatedly, each time cut in
    two at another place.
    """
    if number % 200:
        yield both_ways(chance, chance.randrange(1, 60))[0]
    else:
        yield from cut_everywhere([MOVE, *chance.choices(list(KINDS.values()), k=3), MOVE])


def _read_frame(data: bytes, encoding: str, positions: list[tuple[Any, Any]]) -> str:
    """Read a frame as a server does. Return the kind of its message, or the code of the fault."""
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
            load_game(message.game, message.config)
        elif isinstance(message, Move):
            codec.read_info(message.info)
            for game, position in positions:
                _try_move(game, position, message.move)
    except BotFault as fault:
        return fault.code
    return kind_of(message).__name__.lower()


def _try_move(game: Any, position: Any, move: Any) -> None:
    with contextlib.suppress(BotFault):
        game.apply(position, game.decode_move(move), Dice(bytes(32), 1))


class Fuzzer:
    """A bot that seeks and plays matches, and damages most of its messages."""

    def __init__(self, number: int, port: int, budget: list[int], chance: random.Random) -> None:
        self._number, self._port, self._budget, self._chance = number, port, budget, chance
        self.ends = 0

    async def run(self) -> None:
        """Run the bot until its budget of messages is used up. Reconnect whenever the server closes the connection."""
        while self._budget[0] > 0:
            encoding = self._chance.choice([MSGPACK, JSON])
            try:
                raw = await RawConnection.enter(
                    self._port, f"fuzzer-{self._number}", encoding=encoding, source=f"127.0.0.{self._number + 10}"
                )
            except CONNECTION_ERRORS:
                await asyncio.sleep(0.05)
                continue
            with contextlib.suppress(*CONNECTION_ERRORS):
                async with asyncio.timeout(5):
                    await self._talk(raw)
            raw.close()

    async def _talk(self, raw: RawConnection) -> None:
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

    def _send(self, raw: RawConnection, message: dict[str, Any]) -> None:
        self._budget[0] -= 1
        chance = self._chance
        data = fuzz(message if chance.random() < 0.5 else make_message(chance), raw.encoding, chance)
        sent = make_frame(data, TEXT) if raw.encoding == JSON else make_frame(data)
        raw.writer.write(break_bytes(sent, chance) if chance.random() < 0.03 else sent)


async def _send_broken_handshakes(port: int, budget: list[int], chance: random.Random) -> None:
    request = b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    while budget[0] > 0:
        raw = await RawConnection.connect(port, source="127.0.0.9")
        raw.writer.write(break_bytes(request + b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", chance))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.2):
                await raw.discard()
        raw.close()


async def fuzz_server(server: Server, frames: int, seed: int) -> tuple[Any, int]:
    """Run the fuzzers on a server. Return what the honest pair measured, and how many `end` messages fuzzers got."""
    budget = [frames]
    fuzzers = [Fuzzer(n, server.port, budget, random.Random(f"{seed}/{n}")) for n in range(FUZZER_COUNT)]
    async with HonestPair(server.port) as pair:
        pair.take_measurements()
        async with asyncio.TaskGroup() as group:
            for fuzzer in fuzzers:
                group.create_task(fuzzer.run())
            group.create_task(_send_broken_handshakes(server.port, budget, random.Random(seed)))
        return pair.take_measurements(), sum(fuzzer.ends for fuzzer in fuzzers)


def main() -> None:
    options = read_options(
        __doc__,
        {"frames": 10_000, "both": 10_000, "live": 1_000},
        frames=200_000,
        both=option(300_000, "how many WebSocket frames go both ways"),
        live=20_000,
        seed=1,
    )
    began = time.monotonic()
    read = fuzz_codec(options.frames, random.Random(options.seed))
    print(f"{options.frames} frames in {time.monotonic() - began:.0f} s: {dict(read.counts)}")
    print(f"{read.unexpected_errors} came to something that is neither a message nor a fault of the bot")
    print(
        f"{read.msgpack_frames} in msgpack, {read.fast_frames} by the short decoder: "
        f"{read.differences} came to another message or fault"
    )
    began = time.monotonic()
    both = fuzz_frames(options.both, options.seed)
    print(
        f"{both.frames} WebSocket frames in {both.streams} streams both ways in {time.monotonic() - began:.0f} s, ",
        end="",
    )
    print(f"{both.short} the short way: {both.differences} differences; closed with {dict(both.closed.most_common())}")
    began = time.monotonic()
    with Server() as server:
        felt, ends = asyncio.run(fuzz_server(server, options.live, options.seed))
        ended = server.process.poll() is not None
        stopped = server.stop()
        faults = server.check_data() + [line for line in server.log if "Error" in line]
    print(f"{options.live} frames to a server in {time.monotonic() - began:.0f} s; {ends} ends told to who sent them")
    print(f"honest {felt}")
    print(f"the server {'ended' if ended else 'ran on'} and stopped with {stopped}")
    print("\n".join(faults[:5]) or "its data is sound, and its log has no traceback")
    failed = read.unexpected_errors or read.differences or both.differences or ended or stopped or faults
    raise SystemExit(bool(failed or felt.drops or not felt.plies))


if __name__ == "__main__":
    main()

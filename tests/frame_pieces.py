"""Frames in pieces, sound and not, by the arena's way and by the library's; small messages packed in every way."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.server import ServerProtocol

from arena.network.connection import READ_CHUNK_BYTES
from arena.network.frames import FastProtocol, make_frame
from protocol import codec
from protocol.errors import MalformedMessage
from protocol.messages import MAX_CLIENT_FRAME_BYTES, FromClient, Move, Ready

CONT, TEXT, BINARY = Opcode.CONT, Opcode.TEXT, Opcode.BINARY
CLOSE, PING, PONG = Opcode.CLOSE, Opcode.PING, Opcode.PONG
NO_MASK = b""
REQUEST = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
SIZES = (0, 1, 2, 5, 6, 7, 118, 119, 120, 124, 125, 126, 127, 128, 134, 255, 256, 503, 504, 505, 511, 512, 513)
LARGE = (4096, MAX_CLIENT_FRAME_BYTES // 2, MAX_CLIENT_FRAME_BYTES - 1, MAX_CLIENT_FRAME_BYTES)
TOO_LARGE = (MAX_CLIENT_FRAME_BYTES + 1, 65535, 65536)
CODES = (0, 999, *range(1000, 1017), 2999, 3000, 3999, 4000, 4999, 5000, 65535)
REASONS = (b"", b"bye", "…".encode(), b"\xe2\x80", b"\xff", b"x" * 123)


def written(
    opcode: int,
    payload: bytes = b"",
    *,
    fin: bool = True,
    rsv: int = 0,
    mask: bytes = bytes(4),
    wide: int = 0,
    says: int | None = None,
) -> bytes:
    """A frame with any header: its length in at least `wide` bytes of its own, 2 or 8, and what it `says` that is."""
    size = len(payload) if says is None else says
    first, masked = fin << 7 | rsv << 4 | opcode, bool(mask) << 7
    if size < 126 and not wide:
        header = bytes((first, masked | size))
    elif size < 65536 and wide < 8:
        header = struct.pack("!BBH", first, masked | 126, size)
    else:
        header = struct.pack("!BBQ", first, masked | 127, size)
    if not mask:
        return header + payload
    key = int.from_bytes((mask * (len(payload) // 4 + 1))[: len(payload)], "big")
    return header + mask + (int.from_bytes(payload, "big") ^ key).to_bytes(len(payload), "big")


MOVE = written(BINARY, b"\x84\xa4type\xa4move", mask=b"mask")


def closing(code: int, reason: bytes = b"") -> bytes:
    """A client's close frame."""
    return written(CLOSE, struct.pack("!H", code) + reason[:123])


def drawn(chance: random.Random, count: int) -> list[bytes]:
    """So many frames one after the other as clients write them, but that often one of the last is trouble.

    The ends of some look like frames themselves.
    """
    made: list[bytes] = []
    begun = text = False
    trouble = count - 1 - chance.randrange(min(count, 4)) if chance.random() < 0.7 else count
    for number in range(count):
        kind, mask = chance.random(), chance.randbytes(4)
        if number == trouble:
            made.append(_trouble(chance, begun))
        elif kind < 0.08:
            size = chance.choice([0, 1, 4, 124, 125])
            made.append(written(chance.choice([PING, PONG]), chance.randbytes(size), mask=mask))
        else:
            text = text if begun else chance.random() < 0.1
            fin = chance.random() < (0.6 if begun else 0.93)
            size, wide = _size(chance), chance.choices([0, 2, 8], [20, 1, 1])[0]
            payload = chance.choices([b"x", b"\xc3\xa9"], [8, 1])[0] * size if text else chance.randbytes(size)
            if chance.random() < 0.05:
                payload, size, mask, wide = payload[:200] + MOVE, 300, bytes(4), 0
            opcode = CONT if begun else TEXT if text else BINARY
            made.append(written(opcode, payload[:size], fin=fin, mask=mask, wide=wide))
            begun = not fin
    return made


def _size(chance: random.Random) -> int:
    kind = chance.random()
    return chance.randrange(126) if kind < 0.7 else chance.choice(SIZES if kind < 0.99 else LARGE)


def _trouble(chance: random.Random, begun: bool) -> bytes:
    """A close, or what no client should write, or no further than here."""
    opcode = chance.choice([CONT, TEXT, BINARY, PING, PONG, CLOSE])
    payload = chance.randbytes(_size(chance))
    if begun and chance.random() < 0.2:
        return MOVE
    match chance.randrange(14):
        case 0:
            return written(opcode, payload, mask=NO_MASK)
        case 1:
            return written(opcode, payload, rsv=chance.randrange(1, 8))
        case 2:
            return written(chance.choice([*range(3, 8), *range(11, 16)]), payload)
        case 3:
            return written(chance.choice([PING, PONG, CLOSE]), payload[:125], fin=False)
        case 4:
            return written(chance.choice([PING, PONG, CLOSE]), payload + bytes(126))
        case 5:
            return written(BINARY, payload, says=chance.choice([2**63, 2**63 + len(payload), 2**64 - 1, 2**32]))
        case 6:
            return written(chance.choice([TEXT, BINARY]), bytes(chance.choice(TOO_LARGE)), fin=chance.random() < 0.5)
        case 7:
            return written(opcode, payload, says=max(0, len(payload) + chance.randrange(-2, 3)))
        case 8:
            return chance.randbytes(chance.randrange(1, 30))
        case 9:
            damaged = bytearray(written(BINARY, payload))
            damaged[chance.randrange(min(len(damaged), 8))] ^= 1 << chance.randrange(8)
            return bytes(damaged[: chance.choice([len(damaged), chance.randrange(len(damaged) + 1)])])
        case 10:
            return written(chance.choice([BINARY, TEXT]) if begun else CONT, payload, fin=chance.random() < 0.5)
        case 11:
            return written(CLOSE, chance.randbytes(chance.randrange(3)))
        case _:
            return closing(chance.choice(CODES), chance.choice(REASONS))


def cut(frames: list[bytes], chance: random.Random) -> list[bytes]:
    """The pieces in which frames come: whole, several at once, one of them in two, cut anywhere, or byte by byte."""
    kind = chance.random()
    if kind < 0.5:
        return frames
    if kind < 0.6:
        pieces = []
        at = 0
        while at < len(frames):
            upto = at + chance.randrange(1, 5)
            pieces.append(b"".join(frames[at:upto]))
            at = upto
        return pieces
    if kind < 0.8:
        nested = [at for at, frame in enumerate(frames) if frame.endswith(MOVE)]
        at = chance.choice(nested or range(len(frames)))
        inside = chance.randrange(len(frames[at]) + 1)
        if frames[at].endswith(MOVE) and chance.random() < 0.8:
            inside = len(frames[at]) - len(MOVE)
        begin, rest = frames[at][:inside], frames[at][inside:]
        before, after = chance.choice([at, max(at - 1, 0)]), chance.choice([at + 1, at + 2])
        begin, rest = b"".join([*frames[before:at], begin]), b"".join([rest, *frames[at + 1 : after]])
        return [*frames[:before], begin, rest, *frames[after:]]
    data = b"".join(frames)
    if kind < 0.82 and len(data) < 300:
        return [data[at : at + 1] for at in range(len(data))]
    cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(2 * len(frames))))
    return [data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


class Difference(AssertionError):
    """The two ways did not come to the same."""


class TwoWays:
    """The same pieces to the arena's protocol, the short way where that is open, and to the library's alone.

    After each what came of it is compared: messages and control frames in order, what is sent, and how the connection
    stands; after its end also why. Raises `Difference`.
    """

    def __init__(self) -> None:
        self.arena = FastProtocol(open_protocol())
        self.library = open_protocol()
        self.frames = self.short = 0
        """How many frames were read, and those of them that took the short way."""
        self.close_code: int | None = None
        """The code that a close was sent with, after the end of the stream."""
        self._course: list[bytes | Act] = []

    def feed(self, piece: bytes, *, ask: bool = True) -> list[Any]:
        """What came of a piece. A connection asks for the short way only while something is awaited."""
        self._course.append(piece)
        message = self.arena.try_decode(piece) if ask and len(piece) <= READ_CHUNK_BYTES else None
        if message is None:
            events = self.arena.receive_data(piece)
        else:
            self.short += 1
            events = [Frame(BINARY, message)]
        self.library.receive_data(piece)
        self._compare(events)
        return events

    def do(self, act: Act) -> None:
        """Have the server do something meanwhile."""
        self._course.append(act)
        act(self.arena)
        act(self.library)
        self._compare([])

    def end(self) -> int | None:
        """End the client's stream. Returns the code that a close was sent with."""
        self.do(end)
        why, known = ((exc.sent, exc.rcvd, exc.rcvd_then_sent, repr(exc.__cause__)) for exc in self._ends())
        self._unlike(why, known)
        self.close_code = None if why[0] is None else int(why[0].code)
        return self.close_code

    def _ends(self) -> tuple[ConnectionClosed, ConnectionClosed]:
        return self.arena.close_exc, self.library.close_exc

    def _compare(self, events: list[Any]) -> None:
        sent, self.arena.output = self.arena.output, []
        library = self.library
        self._unlike(
            (events, sent, self.arena.is_open, self.arena.is_close_expected),
            (library.events_received(), library.data_to_send(), library.state is State.OPEN, library.close_expected()),
        )
        self.frames += len(events)

    def _unlike(self, arena: tuple[Any, ...], library: tuple[Any, ...]) -> None:
        if arena != library:
            course = "\n".join(map(_shown, self._course))
            unlike = [
                f"{one!r:.500}, not {other!r:.500}" for one, other in zip(arena, library, strict=True) if one != other
            ]
            raise Difference("\n".join([f"after\n{course}\nthe arena's way came to", *unlike]))


def open_protocol() -> ServerProtocol:
    """The library's protocol behind a handshake."""
    return ServerProtocol(state=State.OPEN, max_size=MAX_CLIENT_FRAME_BYTES)


def _shown(step: bytes | Act) -> str:
    return f"{len(step)} bytes {step[:200].hex()}" if isinstance(step, bytes) else step.__name__


def both_ways(chance: random.Random, count: int) -> tuple[TwoWays, int | None]:
    """So many frames on both ways in pieces, to the end of the stream; and the code that a close was sent with."""
    ways = TwoWays()
    asked = chance.choice([0.5, 1.0, 1.0, 1.0])
    for piece in cut(drawn(chance, count), chance):
        ways.feed(piece, ask=chance.random() < asked)
        if chance.random() < 0.01 and ways.arena.is_open:
            ways.do(chance.choice([ping, leave]))
    return ways, ways.end()


def cut_everywhere(frames: list[bytes]) -> Iterator[TwoWays]:
    """The same frames on both ways, the first in one piece, the others cut once, anywhere."""
    data = b"".join(frames[1:])
    for at in range(len(data)):
        ways = TwoWays()
        for piece in filter(None, (frames[0], data[:at], data[at:])):
            ways.feed(piece)
        ways.end()
        yield ways


Act = Callable[[FastProtocol | ServerProtocol], None]
"""What a server does with an open connection."""


def ping(protocol: FastProtocol | ServerProtocol) -> None:
    protocol.send_ping(b"ping")


def leave(protocol: FastProtocol | ServerProtocol) -> None:
    protocol.send_close(1001, "going")


def end(protocol: FastProtocol | ServerProtocol) -> None:
    protocol.receive_eof()


KINDS: dict[str, bytes] = {
    "a move": MOVE,
    "an empty message": written(BINARY, mask=b"mask"),
    "text": written(TEXT, b"{}"),
    "126 bytes": written(BINARY, b"x" * 126),
    "a length of two bytes": written(BINARY, b"move", wide=2),
    "a length of eight bytes": written(BINARY, b"move", wide=8),
    "a beginning": written(BINARY, b"mo", fin=False),
    "an empty beginning of text": written(TEXT, fin=False),
    "a part": written(CONT, b"v", fin=False),
    "an end": written(CONT, b"e"),
    "a ping": written(PING, b"there?"),
    "a pong": written(PONG),
    "a close": closing(1000, b"bye"),
    "a close without a code": written(CLOSE),
    "a close with half a code": written(CLOSE, b"\x03"),
    "a close with a code that none may send": closing(1006),
    "a close whose reason is no text": closing(1000, b"\xff"),
    "no mask": written(BINARY, b"move", mask=NO_MASK),
    "a reserved bit": written(BINARY, b"move", rsv=4),
    "a reserved opcode": written(3, b"move"),
    "a ping in parts": written(PING, fin=False),
    "a long ping": written(PING, b"x" * 126),
    "a length beyond all": written(BINARY, says=2**63),
    "too much": written(BINARY, b"x", says=MAX_CLIENT_FRAME_BYTES + 1),
}


def framed_otherwise() -> Iterator[codec.Frame]:
    """What the arena frames otherwise than the library, of all sizes around those where a header changes."""
    for size in (*range(131), *range(65530, 65541)):
        for frame in (bytes(size), b"\xff" * size, "x" * size, "é" * (size // 2) + "x" * (size % 2)):
            data, opcode = (frame, BINARY) if isinstance(frame, bytes) else (frame.encode(), TEXT)
            if make_frame(frame) != Frame(opcode, data).serialize(mask=False):
                yield frame


class Packed(bytes):
    """What stands in a message as it is, msgpack or not."""


Pairs = tuple[tuple[Any, Any], ...]
"""A map as it is packed, in which a key may come twice."""
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    *(0, 1, -1, -32, -33, 127, 128, 255, 256, 65535, 65536, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, -(2**63)),
    *(0.0, -0.0, 0.5, 1.0, 1e308, math.inf, -math.inf, math.nan),
    *("", "a", "m-1", "M-1", "m-1\n", "é", "\x00", "\U0001f3b2", "x" * 31, "x" * 32, "x" * 40, "x" * 41, "x" * 150),
    *("type", "move", "ready", "resign", "0" * 32, "0" * 31 + "g", "A" * 32, "0" * 32 + "\n"),
    *(b"", b"a", b"move", b"type"),
    *((), [], [1, "a"], [1, True], [1, None], [1, 0.5], [[1]], [()], [[[[[[[[1]]]]]]]], (("a", ()),), (("a", [1]),)),
    *((("a", 1), ("a", 2)), ((1, 1),), ((b"a", 1),), ((None, 1),), (("", 0.5),), (("a", math.nan),)),
    *map(Packed, (b"\xc7\x00\x05", b"\xc7\x00\xff", b"\xd4\x05a", b"\xd6\xff\x00\x00\x00\x01", b"\xd7\xff" + bytes(8))),
    *map(Packed, (b"\xa1\xff", b"\xa3\xed\xa0\x80", b"\xa2\xc3", b"\xd9\xff", b"\xc1", b"\xca\x7f\xc0\x00\x00")),
    *map(Packed, (b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xdc\x04\x01", b"")),
    *map(Packed, (b"\x91" * 9 + b"\x01", b"\x91" * 100 + b"\x01", b"\x81\xa1a" * 30 + b"\x01")),
)
FIELDS = ("type", "match", "ply", "move", "info", "nonce", "id", "x", "")
_TAKE = (("heap", 1), ("take", 2))
MOVES: tuple[Pairs, ...] = (_TAKE, (), (("do", "draft"), ("units", [4, 2])), (("a", True), ("b", None), ("c", "d")))
INFOS: tuple[Pairs, ...] = ((), (("value", -1.0), ("depth", 3), ("nodes", 2**40), ("note", "lost")), (("value", None),))


def oddly_packed(chance: random.Random) -> bytes:
    """A small `move` or `ready`, of which often something is odd: an entry, its key, their order, how it is packed."""
    entries: list[tuple[Any, Any]] = [("match", "m-1")]
    if chance.random() < 0.7:
        entries += [("ply", chance.randrange(300)), ("move", chance.choice(MOVES))]
        entries += [("info", chance.choice(INFOS))] * (chance.random() < 0.5)
        entries.insert(0, ("type", "move"))
    else:
        entries += [("nonce", "0123456789abcdef" * 2)] * (chance.random() < 0.5)
        entries.insert(0, ("type", "ready"))
    for _ in range(chance.choice([0, 1, 1, 2])):
        _bend(entries, chance)
    widths = chance if chance.random() < 0.3 else None
    data = _packed(tuple(entries), widths)
    if chance.random() < 0.06:
        end = chance.randrange(len(data))
        data = chance.choice([data[:end], data + b"\x00", data + data, data[:end] + b"\xc0" + data[end + 1 :]])
    return data


def _bend(entries: list[tuple[Any, Any]], chance: random.Random) -> None:
    """Make one thing in a message odd."""
    at = chance.randrange(len(entries) + 1)
    key, value = entries[min(at, len(entries) - 1)] if entries else ("type", "move")
    odd = chance.choice(ODD)
    match chance.randrange(8):
        case 0:
            entries.insert(at, (chance.choice(FIELDS), odd))
        case 1:
            entries.insert(at, (odd, value))
        case 2:
            entries.insert(chance.randrange(len(entries) + 1), (key, value))
        case 3:
            chance.shuffle(entries)
        case 4:
            del entries[at : at + 1]
        case 5 if isinstance(value, tuple):
            inner = list(value)
            inner.insert(chance.randrange(len(inner) + 1), chance.choice([("a", odd), (odd, 1), ("take", odd)]))
            entries[at : at + 1] = [(key, tuple(inner))]
        case _:
            entries[at : at + 1] = [(key, odd)]


def _packed(value: Any, widths: random.Random | None) -> bytes:
    """A value in msgpack, packed no wider than it has to be, or in widths that are drawn."""

    def headed(size: int, least: bytes, *forms: tuple[int, str]) -> bytes:
        fitting = [least] if least else []
        fitting += [struct.pack(">B" + form, code, size) for code, form in forms if _fits(size, form)]
        return fitting[0] if widths is None else widths.choice(fitting)

    match value:
        case Packed():
            return bytes(value)
        case None:
            return b"\xc0"
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int():
            fix = struct.pack("b" if value < 0 else "B", value) if -32 <= value < 128 else b""
            unsigned, signed = ((0xCC + n, "BHIQ"[n]) for n in range(4)), ((0xD0 + n, "bhiq"[n]) for n in range(4))
            return headed(value, fix, *unsigned, *signed)
        case float():
            single = value in (0.0, 0.5, 1.0) or not math.isfinite(value)
            return struct.pack(">Bf", 0xCA, value) if widths and single else struct.pack(">Bd", 0xCB, value)
        case str():
            data = value.encode()
            fix = bytes((0xA0 | len(data),)) if len(data) < 32 else b""
            return headed(len(data), fix, (0xD9, "B"), (0xDA, "H"), (0xDB, "I")) + data
        case bytes():
            return headed(len(value), b"", (0xC4, "B"), (0xC5, "H"), (0xC6, "I")) + value
        case list():
            fix = bytes((0x90 | len(value),)) if len(value) < 16 else b""
            return headed(len(value), fix, (0xDC, "H"), (0xDD, "I")) + b"".join(_packed(one, widths) for one in value)
        case _:
            fix = bytes((0x80 | len(value),)) if len(value) < 16 else b""
            inner = b"".join(_packed(one, widths) for pair in value for one in pair)
            return headed(len(value), fix, (0xDE, "H"), (0xDF, "I")) + inner


def _fits(number: int, form: str) -> bool:
    try:
        struct.pack(form, number)
    except struct.error:
        return False
    return True


def is_plain(frame: bytes) -> bool:
    """Whether the short decoder takes a frame."""
    return len(frame) <= codec.MAX_FAST_PATH_BYTES and codec._decode_fast(frame) is not None


def decoded_both_ways(frame: bytes) -> tuple[str, str]:
    """What a client's frame in msgpack comes to with the short decoder, and without it."""
    short = _decoded(frame)
    plain = codec._decode_fast
    codec._decode_fast = _never
    try:
        return short, _decoded(frame)
    finally:
        codec._decode_fast = plain


def _never(frame: bytes) -> Move | Ready | None:
    return None


def _decoded(frame: bytes) -> str:
    """A message with all values and their types, or the fault."""
    try:
        message = codec.MSGPACK.decode_client(frame)
    except MalformedMessage as fault:
        return f"{fault}, of {fault.ref!r}"
    kind = kind_of(message)
    return kind.__name__ + repr({name: getattr(message, name) for name in kind.__struct_fields__})


def kind_of(message: FromClient) -> type[FromClient]:
    """What a message is, whichever decoder made it."""
    return next(kind for kind in FromClient.__subclasses__() if isinstance(message, kind))

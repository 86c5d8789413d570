"""The log of a lobby: a line of JSON for its start, then one for each event. A lobby that gets the same events again
returns the same effects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

import msgspec
from msgspec import Struct

from arena.lobby.effects import LobbyEffect
from arena.lobby.events import LobbyEvent
from arena.lobby.lobby import Lobby
from arena.lobby.policy import LobbyPolicy


class LobbyLogStart(Struct, frozen=True):
    """The first line of a log: the digest of the sources of bot-arena, the policy of the lobby, and the same instant by
    two clocks: `at` as a timestamp, `now` by the clock of the entries, in seconds.
    """

    sources: str
    policy: LobbyPolicy
    at: str
    now: float


class LobbyLogEntry(Struct, frozen=True):
    """An event that a lobby received, the time, and the seed of the source of randomness that it got."""

    now: float
    seed: int
    event: LobbyEvent

    def make_rng(self) -> Random:
        return Random(self.seed)  # noqa: S311 - the seed is as unpredictable as its source


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(LobbyLogEntry)
_start_decoder = msgspec.json.Decoder(LobbyLogStart)


def encode_line(content: LobbyLogStart | LobbyLogEntry) -> bytes:
    """Return a line of a log."""
    return _encoder.encode(content) + b"\n"


def decode_start(line: bytes) -> LobbyLogStart:
    """Return the content of a log's first line. Raise `msgspec.MsgspecError`."""
    return _start_decoder.decode(line)


def replay(lines: Iterable[bytes], lobby: Lobby) -> Iterator[tuple[LobbyLogEntry, list[LobbyEffect]]]:
    """Feed the events of a log, the lines after the first, to a new lobby with the same policy. Yield each entry with
    the effects. Raise `msgspec.MsgspecError`.
    """
    for line in lines:
        entry = _decoder.decode(line)
        yield entry, lobby.receive(entry.event, entry.now, entry.make_rng())

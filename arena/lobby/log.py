"""The log of a lobby: its events as lines of JSON. A lobby that gets the same events again returns the same effects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

import msgspec
from msgspec import Struct

from arena.lobby.effects import LobbyEffect
from arena.lobby.events import LobbyEvent
from arena.lobby.lobby import Lobby


class LobbyLogEntry(Struct, frozen=True):
    """An event that a lobby received, the time, and the seed of the source of randomness that it got."""

    now: float
    seed: int
    event: LobbyEvent

    def make_rng(self) -> Random:
        return Random(self.seed)  # noqa: S311 - the seed is as unpredictable as its source


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(LobbyLogEntry)


def encode_entry(entry: LobbyLogEntry) -> bytes:
    """Return an entry as a line."""
    return _encoder.encode(entry) + b"\n"


def replay(lines: Iterable[bytes], lobby: Lobby) -> Iterator[tuple[LobbyLogEntry, list[LobbyEffect]]]:
    """Feed the events of a log to a new lobby with the same policy. Yield each entry with the effects."""
    for line in lines:
        entry = _decoder.decode(line)
        yield entry, lobby.receive(entry.event, entry.now, entry.make_rng())

"""A store with matches that were played: their records verify, their ratings follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from arena.store.finish import StorableMatch, finish_matches, prepare_match
from arena.store.luck_value import MatchLuck
from arena.store.store import Store
from bots.playing.matches import play_all
from databases import filled_store
from protocol.messages import Clock
from referee.footer import UnratedRecord
from referee.record import is_public, write_line
from referee.result import Ratings, Result
from referee_table import Table

CLOCK = Clock(bank_ms=60_000, increment_ms=100)
PLAYED = (("nim", 4), ("tictactoe", 3), ("risk-duel", 1))
"""Of each game so many matches, in this order."""


def stored(file: Path) -> Store:
    """The matches of `PLAYED` between `ann` and `bob`, who play at random, stored and unrated."""
    return filled_store(file, _play)


def _play(store: Store) -> None:
    for game, count in PLAYED:
        for played in play_all(["ann=random", "bob=random"], game, range(count), clock=CLOCK):
            store.write(finish_matches, [prepare_match(played.closed)])


def finished(table: Table) -> StorableMatch:
    """The match of a table as the arena stores it."""
    result = table.match.result("2026-01-01T00:01:00.000Z")
    lines = [line for line in map(write_line, table.lines) if is_public(line)]
    return StorableMatch(result, UnratedRecord(lines, table.match.footer(result, None)))


class _MadeRecord(UnratedRecord):
    def __init__(self, pack: Callable[[Ratings | None], bytes]) -> None:
        self._pack = pack

    def pack(self, ratings: Ratings | None) -> bytes:
        return self._pack(ratings)


def storable(
    result: Result,
    record: bytes | Callable[[Ratings | None], bytes] = b"record",
    luck: MatchLuck | None = None,
    failures: Mapping[int, str] = {},
) -> StorableMatch:
    """A match as the arena stores it, with any bytes as its record, or what a function makes of its ratings."""
    return StorableMatch(result, _MadeRecord(record if callable(record) else lambda _: record), luck, failures)

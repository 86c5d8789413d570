"""A store with matches that were played: their records verify, their ratings follow."""

from __future__ import annotations

from pathlib import Path

from arena.store.finish import StorableMatch, finish_matches
from arena.store.store import Store
from bots.playing.matches import play_all
from protocol.messages import Clock
from referee.record import Footer, is_public, pack_record, write_line
from referee.result import Ratings
from referee_table import Table

CLOCK = Clock(bank_ms=60_000, increment_ms=100)
PLAYED = (("nim", 4), ("tictactoe", 3), ("risk-duel", 1))
"""Of each game so many matches, in this order."""


def stored(file: Path) -> Store:
    """The matches of `PLAYED` between `ann` and `bob`, who play at random, stored and unrated."""
    store = Store.open(file)
    for game, count in PLAYED:
        for played in play_all(["ann=random", "bob=random"], game, range(count), clock=CLOCK):
            closed = played.closed
            store.write(finish_matches, [StorableMatch(closed.result, closed.pack_record)])
    return store


def finished(table: Table) -> StorableMatch:
    """The match of a table as the arena stores it."""
    result = table.match.result("2026-01-01T00:01:00.000Z")
    lines = [line for line in map(write_line, table.lines) if is_public(line)]

    def close(ratings: Ratings | None) -> bytes:
        footer: Footer = table.match.footer(result, ratings)
        return pack_record(lines, footer)

    return StorableMatch(result, close)

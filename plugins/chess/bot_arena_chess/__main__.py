"""`python -m bot_arena_chess pgn`: prints matches as PGN."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from arena.command_groups.options import database_of
from arena.commands.replay import load, read, read_stored_record
from arena.store.result_queries import iter_results
from arena.store.store import Store
from bot_arena_chess.pgn import write_pgn
from bots.client.options import OptionParser
from machine.terminal import say
from protocol.errors import Fault, UsageFault


def main(args: list[str]) -> int:
    """Run the command, and return its exit code."""
    parser = OptionParser(
        prog="python -m bot_arena_chess",
        description="Print matches of chess as PGN: those named, or all of the data folder.",
        allow_abbrev=False,
    )
    parser.add_argument("command", choices=["pgn"])
    parser.add_argument("targets", nargs="*", metavar="ID|FILE", help="a match, or a file of `arena replay export`")
    parser.add_argument("--data", type=Path, help="the data folder [ARENA_DATA; ./arena-data]")
    parser.add_argument("--db", metavar="URL", help="the database [ARENA_DB; DATA/arena.db]")
    try:
        read_args = parser.parse_args(args)
        for game in _games(read_args.targets, database_of(read_args.db, read_args.data)):
            say(game + "\n")
    except Fault as fault:
        say(f"bot_arena_chess: {fault}", err=True)
        return 2 if isinstance(fault, UsageFault) else 1
    return 0


def _games(targets: list[str], database: str) -> Iterator[str]:
    """Yield the named matches, or all of chess whose record the store has, in PGN."""
    for target in targets:
        yield write_pgn(read(*load(target, database)))
    if targets:
        return
    with closing(Store.open(database, create=False)) as store:
        for match in store.iterate(iter_results):
            body = read_stored_record(store, match.match) if match.game == "chess" else None
            if body is not None:
                yield write_pgn(read(match.match, body))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`arena matches`: what was played."""

from __future__ import annotations

import itertools
from contextlib import closing

from arena.commands.match_filters import Selection, iter_matches, selected
from arena.commands.output import print_csv, print_list
from arena.commands.text_tables import columns, table
from arena.store.export_rows import MATCHES, export_matches
from arena.store.match_search import Search
from arena.store.store import Reader
from protocol.errors import UsageFault
from referee.result import Result

SHOWN = 50
"""How many matches a table shows unless told otherwise."""


def matches(where: str, chosen: Selection, limit: int | None, *, to_json: bool, to_csv: bool) -> None:
    """Print matches, newest first."""
    if limit is not None and limit < 1:
        raise UsageFault(f"--limit is {limit}: it is 1 or more")
    if to_json and to_csv:
        raise UsageFault("--json and --csv: choose one of them")
    with closing(Reader.open(where)) as reader:
        search = selected(reader, chosen)
        if to_json:
            print_list(iter_matches(reader, search, limit))
            return
        if to_csv:
            rows = (row for batch in reader.iterate(export_matches, search, newest_first=True) for row in batch.matches)
            print_csv(MATCHES, itertools.islice(rows, limit))
            return
        found = list(iter_matches(reader, search, SHOWN if limit is None else limit))
    if found:
        headers = ("match", "game", "best first", "reason", "plies", "finished")
        print(table(headers, [_match(result) for result in found], elastic=2, left=(0, 1, 3), width=columns()))
    else:
        print("no matches yet" if search == Search() else "no match fits")


def _match(result: Result) -> tuple[object, ...]:
    ranked = sorted(result.seats, key=lambda seat: seat.rank)
    names = ranked[0].bot
    for better, worse in itertools.pairwise(ranked):
        names += (" = " if better.rank == worse.rank else " > ") + worse.bot
    reason = result.reason if result.annulled is None else f"{result.reason}, annulled"
    return result.match, result.game, names, reason, result.plies, result.finished[5:16].replace("T", " ")

"""`arena matches`: lists matches. Other commands use its options to select matches, or to name one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing

from msgspec import Struct, convert
from msgspec.structs import replace

from arena.commands.output import format_minute, format_table, print_csv, print_list, terminal_columns
from arena.store.export_rows import MATCH_COLUMNS, export_matches
from arena.store.match_search import Search, parse_time_bound, search_matches
from arena.store.paging import MAX_PAGE_ROWS
from arena.store.registry import is_known_bot
from arena.store.result_queries import DRAWN, LOST, WON, check_game
from arena.store.store import Reader
from arena.store.tournaments import tournament_exists, tournaments_page
from machine.terminal import say
from protocol.display import list_choices, short_repr
from protocol.errors import UsageFault
from protocol.reasons import DROP_OUT_REASONS, NATURAL_ENDINGS, VOID
from referee.result import Result

LATEST_WORD = "latest"
"""The word that users write in place of the newest match's id."""
MATCH_END_REASONS = (*NATURAL_ENDINGS, *DROP_OUT_REASONS, VOID)
"""The reasons why a match ended that `arena matches --reason` accepts."""
DEFAULT_ROWS = 50
"""Default number of matches that `arena matches` prints as a table."""


class Selection(Struct, frozen=True, kw_only=True):
    """The options that select matches, named like the fields of `Search`. `Search` has a field `outcome` in place of
    `won`, `lost` and `drawn`.
    """

    bot: str | None = None
    opponent: str | None = None
    game: str | None = None
    won: bool = False
    lost: bool = False
    drawn: bool = False
    reason: str | None = None
    since: str | None = None
    until: str | None = None
    tournament: str | None = None


def matches(where: str, selection: Selection, limit: int | None, *, to_json: bool, to_csv: bool) -> None:
    """Print matches, newest first."""
    if limit is not None and limit < 1:
        raise UsageFault(f"--limit is {limit}: it is 1 or more")
    if to_json and to_csv:
        raise UsageFault("--json and --csv: choose one of them")
    with closing(Reader.open(where)) as reader:
        search = search_of(reader, selection)
        if to_json:
            print_list(iter_matches(reader, search, limit))
            return
        if to_csv:
            rows = (row for batch in reader.iterate(export_matches, search, newest_first=True) for row in batch.matches)
            print_csv(MATCH_COLUMNS, itertools.islice(rows, limit))
            return
        found = list(iter_matches(reader, search, DEFAULT_ROWS if limit is None else limit))
    if found:
        headers = ("match", "game", "best first", "reason", "plies", "finished")
        say(
            format_table(
                headers,
                [_match(result) for result in found],
                wrapped_column=2,
                left_columns=(0, 1, 3),
                width=terminal_columns(),
            )
        )
    else:
        say("no matches yet" if search == Search() else "no match fits")


def _match(result: Result) -> tuple[object, ...]:
    ranked = sorted(result.seats, key=lambda seat: seat.rank)
    names = ranked[0].bot
    for better, worse in itertools.pairwise(ranked):
        names += (" = " if better.rank == worse.rank else " > ") + worse.bot
    reason = result.reason if result.annulled is None else f"{result.reason}, annulled"
    return result.match, result.game, names, reason, result.plies, format_minute(result.finished)[5:]


def search_of(reader: Reader, selection: Selection) -> Search:
    """Convert options to a search of the store. Raise `UsageFault` if they are invalid or name an unknown bot."""
    if selection.game is not None:
        reader.read(check_game, selection.game)
    search = replace(convert(selection, Search, from_attributes=True), outcome=_outcome(selection))
    if search.opponent is not None and search.bot is None:
        raise UsageFault(f"--opponent {short_repr(search.opponent)} needs --bot, the bot whose opponent it is")
    if search.reason not in (None, *MATCH_END_REASONS):
        raise UsageFault(f"--reason is {short_repr(search.reason)}: it is {list_choices(MATCH_END_REASONS)}")
    bounds = [
        parse_time_bound(said, f"--{name}", days=days)
        for name, said, days in (("since", search.since, 0), ("until", search.until, 1))
        if said is not None
    ]
    if len(bounds) == 2 and bounds[0] >= bounds[1]:
        raise UsageFault(f"--until {search.until} is before --since {search.since}")
    for name in (search.bot, search.opponent):
        if name is not None and not reader.read(is_known_bot, name):
            raise UsageFault(f"there is no bot called {name}: `arena bot list` names them")
    if search.tournament is not None and not reader.read(tournament_exists, search.tournament):
        known = [row.tournament for row in reader.read(tournaments_page, limit=8).rows]
        latest = f"the latest are {', '.join(known)}" if known else "there is none yet"
        raise UsageFault(f"there is no tournament {short_repr(search.tournament)}: {latest}")
    return search


def iter_matches(reader: Reader, search: Search, limit: int | None = None) -> Iterator[Result]:
    """Yield the results of a search, newest first; with `limit`, at most that many. They are read page by page."""
    after = None
    left = limit
    while left is None or left > 0:
        rows = MAX_PAGE_ROWS if left is None else min(left, MAX_PAGE_ROWS)
        page = reader.read(search_matches, search, after=after, limit=rows)
        yield from page.rows
        after = page.next
        if after is None:
            break
        left = None if left is None else left - len(page.rows)


def resolve_match_id(where: str, target: str) -> str:
    """Return a match's id: that of the newest match for `LATEST_WORD`. Raise `UsageFault` if there is no match yet."""
    if target != LATEST_WORD:
        return target
    with closing(Reader.open(where)) as reader:
        for newest in iter_matches(reader, Search(), limit=1):
            return newest.match
    raise UsageFault(f"there is no match in {where} yet")


def _outcome(selection: Selection) -> str | None:
    flags = {WON: selection.won, LOST: selection.lost, DRAWN: selection.drawn}
    given = [name for name, there in flags.items() if there]
    if not given:
        return None
    if len(given) > 1:
        raise UsageFault(f"{' and '.join(f'--{name}' for name in given)}: no match is both")
    if selection.bot is None:
        raise UsageFault(f"--{given[0]} goes with --bot: who {given[0] if given[0] != DRAWN else 'drew'}?")
    return given[0]

"""`arena matches`: what was played."""

from __future__ import annotations

import itertools
from contextlib import closing

from arena.commands.documents import print_list
from arena.commands.tables import columns, table
from arena.store.store import Store
from protocol.errors import UsageFault
from protocol.games import game_class
from referee.result import Result

SHOWN = 50
"""How many matches a table shows unless told otherwise."""


def matches(where: str, bot: str | None, game: str | None, limit: int | None, *, to_json: bool) -> None:
    """Print matches, newest first."""
    if game is not None:
        game_class(game)
    if limit is not None and limit < 1:
        raise UsageFault(f"--limit is {limit}: it is 1 or more")
    with closing(Store.open(where, create=False)) as store:
        if bot is not None and not store.seen(bot):
            raise UsageFault(f"there is no bot called {bot}: `arena bot list` names them")
        if to_json:
            print_list(store.newest(bot, game, limit=limit))
            return
        found = store.matches(bot, game, limit=limit or SHOWN)
    if not found:
        print("no matches yet")
    else:
        headers = ("match", "game", "best first", "reason", "plies", "finished")
        print(table(headers, [_match(result) for result in found], elastic=2, left=(0, 1, 3), width=columns()))


def _match(result: Result) -> tuple[object, ...]:
    ranked = sorted(result.seats, key=lambda seat: seat.rank)
    names = ranked[0].bot
    for better, worse in itertools.pairwise(ranked):
        names += (" = " if better.rank == worse.rank else " > ") + worse.bot
    reason = result.reason if result.annulled is None else f"{result.reason}, annulled"
    return result.match, result.game, names, reason, result.plies, result.finished[5:16].replace("T", " ")

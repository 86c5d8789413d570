"""`arena leaderboard`, `matches`, `bot` and `db`: what is in the store, who may come in, and whether it all adds up."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from arena.commands.tables import table
from arena.referee.result import Result
from arena.store import database
from arena.store.lock import lock
from arena.store.reading import LeaderboardRow
from arena.store.store import Store
from arena.store.tokens import hash_token, new_token
from protocol.errors import ArenaFault, UsageFault
from protocol.games import game_class
from protocol.messages import NAME_PATTERN

SHOWN = 50
"""How many matches a table shows unless told otherwise."""


class Unsound(ArenaFault):
    """The database does not add up."""


@contextlib.contextmanager
def opened(where: str, *, create: bool = False, checkpoint: bool = True) -> Iterator[Store]:
    """The store, closed afterwards."""
    store = Store.open(where, create=create, checkpoint=checkpoint)
    try:
        yield store
    finally:
        store.close()


def leaderboard(where: str, game: str | None, *, to_json: bool) -> None:
    """Print the leaderboard of a game, or of every game with rated matches."""
    if game is not None:
        game_class(game)
    with opened(where) as store:
        boards = [(name, store.leaderboard(name)) for name in ([game] if game else store.games())]
    if to_json:
        _print_json([{"game": name, "rows": rows} for name, rows in boards])
    elif not boards:
        print("no rated matches yet")
    else:
        print("\n\n".join(_board(name, rows) for name, rows in boards))


def _board(game: str, rows: list[LeaderboardRow]) -> str:
    headers = ("#", "bot", "score", "mu", "sigma", "played", "won", "drawn", "lost", "")
    cells = [
        (
            place,
            row.bot,
            *(f"{number:.2f}" for number in (row.score, row.mu, row.sigma)),
            *(row.played, row.wins, row.draws, row.losses),
            "*" if row.few else "",
        )
        for place, row in enumerate(rows, 1)
    ]
    lines = [f"{game}, by score = mu - 3 sigma", table(headers, cells, elastic=1)]
    if any(row.few for row in rows):
        lines.append("* too few matches to say much")
    return "\n".join(lines)


def matches(where: str, bot: str | None, game: str | None, limit: int | None, *, to_json: bool) -> None:
    """Print matches, newest first."""
    if game is not None:
        game_class(game)
    if limit is not None and limit < 1:
        raise UsageFault(f"--limit is {limit}: it is 1 or more")
    with opened(where) as store:
        if bot is not None and not store.seen(bot):
            raise UsageFault(f"there is no bot called {bot}: `arena bot list` names them")
        found = store.matches(bot, game, limit=limit if limit or to_json else SHOWN)
    if to_json:
        _print_json(found)
    elif not found:
        print("no matches yet")
    else:
        headers = ("match", "game", "best first", "reason", "plies", "finished")
        print(table(headers, [_match(result) for result in found], elastic=2, left=(0, 1, 3)))


def _match(result: Result) -> tuple[object, ...]:
    ranked = sorted(result.seats, key=lambda seat: seat.rank)
    names = ranked[0].bot
    for better, worse in itertools.pairwise(ranked):
        names += (" = " if better.rank == worse.rank else " > ") + worse.bot
    return result.match, result.game, names, result.reason, result.plies, result.finished[5:16].replace("T", " ")


def add_bot(where: str, name: str) -> None:
    """Register a bot and print its token, this once."""
    if not re.fullmatch(NAME_PATTERN, name):
        raise UsageFault(
            f"{name!r} is no name for a bot: 1 to 32 letters, digits, dots, dashes and underlines, "
            "the first a letter or digit"
        )
    token = new_token()
    with opened(where, create=True, checkpoint=False) as store:
        store.add_bot(name, hash_token(token))
    print(token)


def rotate_bot(where: str, name: str) -> None:
    """Give a bot a new token and print it, this once."""
    token = new_token()
    with opened(where, checkpoint=False) as store:
        store.rotate(name, hash_token(token))
    print(token)


def revoke_bot(where: str, name: str) -> None:
    """Let a bot in no more."""
    with opened(where, checkpoint=False) as store:
        store.revoke(name)
    print(f"{name} may not come in any more; `arena bot rotate {name}` gives it a new token")


def list_bots(where: str, *, to_json: bool) -> None:
    """Print who is known, and who may come in."""
    with opened(where) as store:
        bots = store.bots()
    rows = [
        (bot.name, "revoked" if bot.revoked else "yes" if bot.token_hash else "none", bot.created[:16]) for bot in bots
    ]
    if to_json:
        _print_json([dict(zip(("bot", "token", "created"), row, strict=True)) for row in rows])
    elif not rows:
        print("no bots yet")
    else:
        shown = [(name, token, created.replace("T", " ")) for name, token, created in rows]
        print(table(("bot", "token", "since"), shown, elastic=0, left=(1, 2)))


def upgrade(where: str, data: Path) -> None:
    """Bring the database's schema up to date."""
    with _alone(where, data) as file:
        before, after = database.upgrade(file)
    print(f"{file} has schema {after}" + ("" if before == after else f", upgraded from {before}"))


def rebuild_ratings(where: str, data: Path) -> None:
    """Compute all ratings again from the results."""
    with _alone(where, data), opened(where) as store:
        count = store.rebuild_ratings()
    print(f"ratings computed again from the results: {count} rows were different")


def check(where: str) -> None:
    """Report what does not add up. Raises `Unsound` if anything does not."""
    with opened(where) as store:
        complaints = store.check()
        for line in complaints:
            print(line)
        if complaints:
            raise Unsound(f"{store.file} does not add up: {len(complaints)} complaints")
        print(f"{store.file} is sound: the file, its references, and every rating follows from the results")


@contextlib.contextmanager
def _alone(where: str, data: Path) -> Iterator[Path]:
    """The database's file, with nobody else on the data folder. Raises `NoDatabase` or `Locked`."""
    file = database.file_of(where)
    if database.revision_of(file) is None:
        raise database.NoDatabase(f"no arena data in {file}: start `arena serve` or `arena tournament` first")
    with lock(data) if data.is_dir() else contextlib.nullcontext():
        yield file


def _print_json(value: Any) -> None:
    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())

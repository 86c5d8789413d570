"""`arena game add`, `list` and `remove`, and the brought games of other commands.

The command line alone adds code, to a database that it can open: no request over the network does.
"""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path

from msgspec import Struct

from arena.commands.game_check import check_file
from arena.commands.output import format_table, print_list, terminal_columns
from arena.commands.rehearsal import rehearse_game
from arena.operator.requests import COMMAND_LINE_ORIGIN
from arena.store.actions import log_action
from arena.store.database import DatabaseNotFound
from arena.store.games import (
    STORED_GAMES_VARIABLE,
    add_games,
    check_version,
    list_games,
    loads_stored_games,
    match_counts,
    remove_game,
)
from arena.store.store import Reader, Store
from machine.game_discovery import (
    add_family_game,
    add_game_file,
    file_of_game,
    is_from_file,
    is_game_file,
    locate_failures,
    resolve_game,
)
from machine.game_files import use_copy
from machine.terminal import say
from protocol.display import short_repr
from protocol.errors import ArenaFault, UsageFault
from protocol.games import (
    builtin_game_names,
    check_offered,
    game_class,
    game_names,
    game_spec,
    is_known_game,
    offered_game_names,
)
from protocol.games.spec import FAMILY_SEPARATOR

DIGEST_CHARS = 12
"""Number of digits of a digest that a table shows."""
CHECKED_GAMES = 5
"""Number of random games of each preset that a game plays before it is stored."""
MISSING_RULES_ADVICE = "`arena game add FILE.py` adds a game of your own"
"""The advice to an operator whose arena lacks the rules of stored matches."""
BRING_ADVICE = "`arena game add FILE.py` and --game FILE.py bring a game of your own"
"""The advice to a user who names a game that is not known."""


class ListedGame(Struct, frozen=True, kw_only=True):
    """A game in the list of games. `origin` says where it is from. `version` and `digest` are empty for a game that
    does not come from a file.
    """

    game: str
    title: str
    version: str
    digest: str
    origin: str
    offered: bool
    matches: int


def add(file: Path, where: str) -> None:
    """Check the games of a file, store and offer them. Raise `UsageFault` if the file has no game, a name is taken or
    a game breaks the contract.
    """
    with locate_failures():
        names = add_game_file(file)
    for line in (*check_file(file, CHECKED_GAMES).warnings, *filter(None, map(rehearse_game, names))):
        say(f"arena: {line}", err=True)
    with closing(Store.open(where, checkpoint=False)) as store:
        store.write(add_games, [(game_spec(name), use_copy(name)) for name in names])
        store.write(log_action, COMMAND_LINE_ORIGIN, "add_game", names)
    for name in names:
        spec = game_spec(name)
        say(
            f"{name} {spec.version} is stored ({spec.digest[:DIGEST_CHARS]}); a running server has it at its next start"
        )


def store_game(store: Store, game: str) -> None:
    """Store a game that came from a file, and run it from a copy. Do nothing for another game. Raise `UsageFault` if
    the database has other rules under its version.
    """
    if is_from_file(game_spec(game)):
        store.write(add_games, [(game_spec(game), use_copy(game))])


def check_storable(game: str, where: str) -> None:
    """Raise `UsageFault` if `store_game` would refuse a game. A database that is missing or old refuses none."""
    with suppress(ArenaFault), closing(Reader.open(where)) as reader:
        reader.read(check_version, game_spec(game), file_of_game(game).name)


def find_game(word: str, *databases: str) -> str:
    """Return the name of the game that a word on a command line means: a file, which is then run from a copy, or the
    name of a game, maybe of one that a database keeps. A game of a family is then in the lists of games. Raise
    `UsageFault` if there is no such game, and `UnknownGame` if no package has it or the operator removed it.
    """
    game = resolve_game(word)
    if is_game_file(word):
        use_copy(game)
    elif FAMILY_SEPARATOR in game:
        add_family_game(game)
    for where in databases:
        if not is_known_game(game):
            with suppress(DatabaseNotFound):
                Reader.open(where).close()  # it has loaded the games of the database
    if not is_known_game(game):
        known = ", ".join(offered_game_names())
        raise UsageFault(f"there is no game {short_repr(game)}: one of {known}; {BRING_ADVICE}")
    check_offered(game)
    return game


def remove(game: str, where: str) -> None:
    """Offer a game no longer. Raise `UsageFault` if it was not added."""
    with closing(Store.open(where, create=False, checkpoint=False)) as store:
        store.write(remove_game, game)
        store.write(log_action, COMMAND_LINE_ORIGIN, "remove_game", [game])
    say(
        f"{game} is removed: no new matches begin, from the next start of a running server on; matches under way are "
        "played to their end, and ratings and records stay"
    )


def show_list(where: str, *, to_json: bool) -> None:
    """Print all games: those of this version, of installed packages, and those that the database keeps."""
    rows = _list_rows(where)
    if to_json:
        print_list(rows)
        return
    table = [
        (row.game, row.title, row.version, row.digest[:DIGEST_CHARS], row.origin, row.matches or "") for row in rows
    ]
    headers = ("game", "title", "version", "digest", "from", "matches")
    say(format_table(headers, table, wrapped_column=1, left_columns=(0, 2, 3, 4), width=terminal_columns()))


def _missing_title() -> str:
    """Return what the list has in place of the title of a stored game whose rules are not loaded."""
    return "can't be loaded" if loads_stored_games() else f"not loaded, by {STORED_GAMES_VARIABLE}=0"


def _list_rows(where: str) -> list[ListedGame]:
    try:
        with closing(Reader.open(where)) as reader:
            stored, counts = {one.game: one for one in reader.read(list_games)}, reader.read(match_counts)
    except DatabaseNotFound:
        stored, counts = {}, {}
    rows = []
    for game in dict.fromkeys((*game_names(), *stored)):
        kept = stored.get(game)
        spec = game_spec(game) if is_known_game(game) else None
        if kept is not None:
            origin = kept.file if kept.offered else f"{kept.file}, removed"
            version, digest, offered = kept.version, kept.digest, kept.offered
        else:
            assert spec is not None
            version, digest, offered = spec.version, spec.digest, True
            origin = "built in" if game in builtin_game_names() else spec.room.partition(".")[0]
            if is_from_file(spec):
                origin = f"{file_of_game(game).name}, not stored"
        title = _missing_title() if spec is None else game_class(game).title
        rows.append(
            ListedGame(
                game=game,
                title=title,
                version=version,
                digest=digest,
                origin=origin,
                offered=offered,
                matches=counts.get(game, 0),
            )
        )
    return rows

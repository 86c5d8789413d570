"""The words of who runs an arena: `arena bot`, `match`, `season` and `db`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli.options import Data, Database, Json, database_of, group

bot_app = group("bot", "Register bots and their tokens.")
match_app = group("match", "Decide which matches count.")
season_app = group("season", "Begin ratings anew.")
db_app = group("db", "Look after the database.")
GROUPS = (bot_app, match_app, season_app, db_app)

BotName = Annotated[str, typer.Argument(metavar="NAME")]
BotNames = Annotated[list[str], typer.Argument(metavar="NAME...")]


def run_status(
    watch: Annotated[bool, typer.Option("--watch", help="Redraw it every second, until Ctrl-C.")] = False,
    to_json: Json = False,
    data: Data = None,
) -> None:
    """What goes on at the running server: bots and their seeks, matches and clocks, what failed lately."""
    from arena.commands.config import data_folder
    from arena.commands.status import status

    status(data_folder(data), watch=watch, to_json=to_json)


def run_watch(
    match: Annotated[str | None, typer.Argument(metavar="[MATCH]", help="Its id [the newest].")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with the next match.")] = False,
    url: Annotated[str | None, typer.Option(help="An arena elsewhere [that of the data folder].")] = None,
    data: Data = None,
) -> None:
    """Show a match live, until it is over."""
    from arena.commands.config import data_folder
    from arena.commands.watch import watch

    watch(data_folder(data), url, match, follow=follow)


@bot_app.command("add")
def bot_add(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...")] = None,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="CSV with a column name; others travel along.")
    ] = None,
    tokens_to: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the tokens go: CSV, new.")] = None,
    db: Database = None,
    data: Data = None,
) -> None:
    """Register bots, all or none, and give their tokens, this once."""
    from arena.commands.bot_add import add_bots

    add_bots(database_of(db, data), names or (), source, tokens_to)


@bot_app.command("list")
def bot_list(to_json: Json = False, db: Database = None, data: Data = None) -> None:
    """The bots known, whether they have a token, and who is online."""
    from arena.commands.bots import list_bots
    from arena.commands.config import data_folder

    list_bots(database_of(db, data), data_folder(data), to_json=to_json)


@bot_app.command("show")
def bot_show(name: BotName, to_json: Json = False, db: Database = None, data: Data = None) -> None:
    """A bot: where it stands, its versions side by side, its latest matches."""
    from arena.commands.bot_record import show_bot

    show_bot(database_of(db, data), name, to_json=to_json)


@bot_app.command("rotate")
def bot_rotate(name: BotName, db: Database = None, data: Data = None) -> None:
    """Give a bot a new token and print it, this once; a connection with the old one ends."""
    from arena.commands.bots import rotate_bot
    from arena.commands.config import data_folder

    rotate_bot(database_of(db, data), data_folder(data), name)


@bot_app.command("revoke")
def bot_revoke(names: BotNames, db: Database = None, data: Data = None) -> None:
    """Let bots in no more, until rotate, and end their connections."""
    from arena.commands.bots import revoke_bots
    from arena.commands.config import data_folder

    revoke_bots(database_of(db, data), data_folder(data), names)


@bot_app.command("approve")
def bot_approve(
    names: BotNames,
    off: Annotated[bool, typer.Option("--off", help="Take it back.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Approve bots, whose matches are rated under --rated approved."""
    from arena.commands.bots import approve_bots
    from arena.commands.config import data_folder

    approve_bots(database_of(db, data), data_folder(data), names, approved=not off)


@db_app.command("upgrade")
def db_upgrade(db: Database = None, data: Data = None) -> None:
    """Bring the schema up to date."""
    from arena.commands.config import data_folder
    from arena.commands.db import upgrade

    upgrade(database_of(db, data), data_folder(data))


@db_app.command("rebuild-ratings")
def db_rebuild_ratings(db: Database = None, data: Data = None) -> None:
    """Compute all ratings again from the results."""
    from arena.commands.config import data_folder
    from arena.commands.db import rebuild_ratings

    rebuild_ratings(database_of(db, data), data_folder(data))


@db_app.command("backup")
def db_backup(to: Annotated[Path, typer.Argument(metavar="FILE")], db: Database = None, data: Data = None) -> None:
    """Copy the database to a new file, also while a server runs."""
    from arena.commands.db import backup

    backup(database_of(db, data), to)


@db_app.command("check")
def db_check(
    quick: Annotated[bool, typer.Option("--quick", help="Referee no match again.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Whether all adds up: the file, its rows, every result with its record, the ratings."""
    from arena.commands.db import check

    check(database_of(db, data), quick=quick)


@match_app.command("annul")
def match_annul(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...")] = None,
    bot: Annotated[str | None, typer.Option(metavar="NAME", help="All of this bot's.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="DATE", help="Of those, such as ended since: 2026-01-31.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Have them count again.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Have matches count for no rating; they are kept, and marked."""
    from arena.commands.config import data_folder
    from arena.commands.ladder import annul

    annul(database_of(db, data), data_folder(data), ids or (), bot, since, undo=undo)


@season_app.command("start")
def season_start(name: Annotated[str, typer.Argument(metavar="NAME")], db: Database = None, data: Data = None) -> None:
    """Begin ratings anew; earlier ladders, records and tokens stay."""
    from arena.commands.config import data_folder
    from arena.commands.ladder import start_season

    start_season(database_of(db, data), data_folder(data), name)


@season_app.command("list")
def season_list(to_json: Json = False, db: Database = None, data: Data = None) -> None:
    """The seasons there were; the last one goes on."""
    from arena.commands.ladder import list_seasons

    list_seasons(database_of(db, data), to_json=to_json)

"""The command line of `arena db`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from arena.command_groups.group import group
from arena.command_groups.option_sets import option_of, with_options
from arena.command_groups.options import Data, Database, database_of
from arena.commands.settings import RETENTION_SETTINGS, SETTINGS, data_folder
from protocol.errors import UsageFault

app = group("db", "Maintain the database: upgrade, back up, check, thin.")


@app.command("upgrade")
def db_upgrade(
    backup: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Before an upgrade, copy the database to this file.")
    ] = None,
    db: Database = None,
    data: Data = None,
) -> None:
    """Upgrade the database to this version's schema."""
    from arena.commands.db import upgrade

    upgrade(database_of(db, data), data_folder(data), backup)


@app.command("rebuild-ratings")
def db_rebuild_ratings(db: Database = None, data: Data = None) -> None:
    """Recompute all ratings, and restore missing log entries."""
    from arena.commands.db import rebuild_ratings

    rebuild_ratings(database_of(db, data), data_folder(data))


@app.command("backup")
def db_backup(to: Annotated[Path, typer.Argument(metavar="FILE")], db: Database = None, data: Data = None) -> None:
    """Back up the database to a new file.

    A server may be running.
    """
    from arena.commands.db import backup

    backup(database_of(db, data), to)


@app.command("copy")
def db_copy(
    source: Annotated[str, typer.Argument(metavar="FROM")],
    to: Annotated[str, typer.Argument(metavar="TO")],
) -> None:
    """Copy an arena to another database.

    Each is a file, postgresql://…, or @FILE, a file with such a URL.
    """
    from arena.commands.db import copy
    from machine.arguments import read_text_or_file

    copy(read_text_or_file(source, "FROM"), read_text_or_file(to, "TO"))


@app.command("thin")
@with_options({name: option_of(name, SETTINGS[name]) for name in RETENTION_SETTINGS})
def db_thin(
    *,
    words: dict[str, Any],
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The server's TOML file, which may have these settings.")
    ] = None,
    older: Annotated[
        str | None,
        typer.Option(
            metavar="DAYS",
            help="Instead move to files what is older, like 90d or 12w: unrated matches, and those of built-in bots.",
        ),
    ] = None,
    rated: Annotated[
        bool, typer.Option("--rated", help="With --older: also move records of all rated matches.")
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="With --older: folder of the files [archive, in the data folder]."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print how much would be removed or moved.")] = False,
    vacuum: Annotated[
        bool, typer.Option("--vacuum", help="Shrink the file too; needs a stopped server and as much free disk.")
    ] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Remove or move records of old matches; results stay.

    A server may be running.
    """
    from arena.commands.config import read_settings, retention_of
    from arena.commands.db import move, thin
    from machine.arguments import read_days

    where, folder = database_of(db, data), data_folder(data)
    if older is None:
        if rated or to is not None:
            raise UsageFault("--rated and --to say what --older moves, and where to: --older is missing")
        thin(where, folder, retention_of(read_settings(words, config)), vacuum=vacuum, dry_run=dry_run)
        return
    if any(word is not None for word in words.values()):
        raise UsageFault("--older moves records to files, --keep-… and --max-… remove them: one after the other")
    move(where, folder, read_days(older, "--older"), to, rated=rated, vacuum=vacuum, dry_run=dry_run)


@app.command("log-key")
def db_log_key(
    new: Annotated[bool, typer.Option("--new", help="Replace the key by a new one.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Print the public key that signs the transparency log."""
    from arena.commands.db import show_log_key

    show_log_key(database_of(db, data), data_folder(data), new=new)


@app.command("check")
def db_check(
    quick: Annotated[bool, typer.Option("--quick", help="Do not referee matches again.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Check the database.

    It checks the file, its rows, every result with its record, and the ratings.
    """
    from arena.commands.db import check

    check(database_of(db, data), quick=quick)

"""The command line of `arena bot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.command_groups.group import group
from arena.command_groups.options import BotName, BotNames, Data, Database, Json, database_of
from arena.commands.settings import data_folder

app = group("bot", "Register bots and manage their tokens.")


@app.command("add")
def bot_add(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...")] = None,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="CSV with a column name; other columns are copied.")
    ] = None,
    tokens_to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the tokens to this new CSV file.")
    ] = None,
    display: Annotated[str | None, typer.Option(metavar="TEXT", help="A display name for people, like Chloé.")] = None,
    ascii_names: Annotated[
        bool, typer.Option("--ascii-names", help="Register Chloé as Chloe, with the display name Chloé.")
    ] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Register bots, all or none, and give their tokens.

    The tokens are shown only this once.
    """
    from arena.commands.bot_add import add_bots

    where = database_of(db, data)
    add_bots(where, data_folder(data), names or (), source, tokens_to, display=display, ascii_names=ascii_names)


@app.command("list")
def bot_list(to_json: Json = False, db: Database = None, data: Data = None) -> None:
    """List the bots, whether they have a token, and who is online."""
    from arena.commands.bots import list_bots

    list_bots(database_of(db, data), data_folder(data), to_json=to_json)


@app.command("show")
def bot_show(name: BotName, to_json: Json = False, db: Database = None, data: Data = None) -> None:
    """Show a bot: its standings, versions and latest matches."""
    from arena.commands.bot_record import show_bot

    show_bot(database_of(db, data), name, to_json=to_json)


@app.command("rotate")
def bot_rotate(name: BotName, db: Database = None, data: Data = None) -> None:
    """Give a bot a new token and print it.

    It is shown only this once. A connection that uses the old one is closed.
    """
    from arena.commands.bots import rotate_bot

    rotate_bot(database_of(db, data), data_folder(data), name)


@app.command("revoke")
def bot_revoke(names: BotNames, db: Database = None, data: Data = None) -> None:
    """Reject bots until `rotate`, and close their connections."""
    from arena.commands.bots import revoke_bots

    revoke_bots(database_of(db, data), data_folder(data), names)


@app.command("rename")
def bot_rename(
    name: BotName, new: Annotated[str, typer.Argument(metavar="NEW")], db: Database = None, data: Data = None
) -> None:
    """Rename a bot; it keeps its token, results and ratings."""
    from arena.commands.bots import rename_bot

    rename_bot(database_of(db, data), data_folder(data), name, new)


@app.command("display")
def bot_display(
    name: BotName,
    display: Annotated[str | None, typer.Argument(metavar="[TEXT]")] = None,
    off: Annotated[bool, typer.Option("--off", help="Remove the display name.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Set a display name, like Chloé for chloe."""
    from arena.commands.bots import set_display

    set_display(database_of(db, data), data_folder(data), name, display, off=off)


@app.command("delete")
def bot_delete(
    name: BotName,
    records: Annotated[bool, typer.Option("--records", help="Remove the records of its matches too.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Erase a bot's name for good; its results stay.

    They are kept under a placeholder.
    """
    from arena.commands.bots import delete_bot

    delete_bot(database_of(db, data), data_folder(data), name, records=records)


@app.command("sources")
def bot_sources(
    to: Annotated[Path, typer.Option(metavar="FILE.zip", help="Write the archive to this file.")],
    tournament: Annotated[
        str | None, typer.Option(metavar="ID", help="The programs that entered this tournament [the active ones].")
    ] = None,
    db: Database = None,
    data: Data = None,
) -> None:
    """Write the programs of all hosted bots into one archive.

    Each is in a folder with the name of its bot, as programs that look for copied code expect it.
    """
    from arena.commands.publish import write_sources

    write_sources(database_of(db, data), to, tournament)


@app.command("approve")
def bot_approve(
    names: BotNames,
    off: Annotated[bool, typer.Option("--off", help="Withdraw the approval.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Approve bots for rated matches.

    Under --rated approved, only matches between approved bots are rated.
    """
    from arena.commands.bots import approve_bots

    approve_bots(database_of(db, data), data_folder(data), names, approved=not off)


@app.command("person")
def bot_person(
    names: BotNames,
    off: Annotated[bool, typer.Option("--off", help="Mark them as bots.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Mark names as people, who are rated among people.

    The pages and `human` do so by themselves.
    """
    from arena.commands.bots import set_people

    set_people(database_of(db, data), data_folder(data), names, person=not off)

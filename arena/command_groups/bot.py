"""The command line of `arena bot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.command_groups.group import group
from arena.command_groups.options import BotName, BotNames, Data, Database, Json, database_of
from arena.commands.settings import data_folder

app = group("bot", "Register bots and their tokens.")


@app.command("add")
def bot_add(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...")] = None,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="CSV with a column name; others travel along.")
    ] = None,
    tokens_to: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the tokens go: CSV, new.")] = None,
    display: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What people read beside the name, as in Chloé.")
    ] = None,
    ascii_names: Annotated[
        bool, typer.Option("--ascii-names", help="Chloé is registered as Chloe, with Chloé as display name.")
    ] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Register bots, all or none, and give their tokens, this once."""
    from arena.commands.bot_add import add_bots

    where = database_of(db, data)
    add_bots(where, data_folder(data), names or (), source, tokens_to, display=display, ascii_names=ascii_names)


@app.command("list")
def bot_list(to_json: Json = False, db: Database = None, data: Data = None) -> None:
    """List the bots, whether each has a token, and which are online."""
    from arena.commands.bots import list_bots

    list_bots(database_of(db, data), data_folder(data), to_json=to_json)


@app.command("show")
def bot_show(name: BotName, to_json: Json = False, db: Database = None, data: Data = None) -> None:
    """Show a bot: its ranks, its versions side by side, its latest matches."""
    from arena.commands.bot_record import show_bot

    show_bot(database_of(db, data), name, to_json=to_json)


@app.command("rotate")
def bot_rotate(name: BotName, db: Database = None, data: Data = None) -> None:
    """Give a bot a new token and print it, this once; a connection with the old one ends."""
    from arena.commands.bots import rotate_bot

    rotate_bot(database_of(db, data), data_folder(data), name)


@app.command("revoke")
def bot_revoke(names: BotNames, db: Database = None, data: Data = None) -> None:
    """Let bots in no more, until rotate, and end their connections."""
    from arena.commands.bots import revoke_bots

    revoke_bots(database_of(db, data), data_folder(data), names)


@app.command("rename")
def bot_rename(
    name: BotName, new: Annotated[str, typer.Argument(metavar="NEW")], db: Database = None, data: Data = None
) -> None:
    """Call a bot otherwise; it keeps its token, its results and its ratings."""
    from arena.commands.bots import rename_bot

    rename_bot(database_of(db, data), data_folder(data), name, new)


@app.command("display")
def bot_display(
    name: BotName,
    display: Annotated[str | None, typer.Argument(metavar="[TEXT]")] = None,
    off: Annotated[bool, typer.Option("--off", help="None but the name.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Have people read another name beside a bot's, as in Chloé beside chloe."""
    from arena.commands.bots import set_display

    set_display(database_of(db, data), data_folder(data), name, display, off=off)


@app.command("delete")
def bot_delete(
    name: BotName,
    records: Annotated[bool, typer.Option("--records", help="The records of its matches, too.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Forget who a bot was, for good; its results stay, under a name that says nothing."""
    from arena.commands.bots import delete_bot

    delete_bot(database_of(db, data), data_folder(data), name, records=records)


@app.command("approve")
def bot_approve(
    names: BotNames,
    off: Annotated[bool, typer.Option("--off", help="Take it back.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Approve bots, whose matches are rated under --rated approved."""
    from arena.commands.bots import approve_bots

    approve_bots(database_of(db, data), data_folder(data), names, approved=not off)


@app.command("person")
def bot_person(
    names: BotNames,
    off: Annotated[bool, typer.Option("--off", help="They are bots.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Note that names are people's, who are rated among people; the pages and `human` say it by themselves."""
    from arena.commands.bots import set_people

    set_people(database_of(db, data), data_folder(data), names, person=not off)

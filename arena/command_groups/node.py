"""The command line of `arena node`."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.command_groups.group import group
from arena.command_groups.options import Data, Database, Json, database_of

app = group("node", "Manage servers that share a database.")


@app.command("list")
def node_list(db: Database = None, data: Data = None, json: Json = False) -> None:
    """List the nodes and what they do."""
    from arena.commands.nodes import show_nodes

    show_nodes(database_of(db, data), json=json)


@app.command("drain")
def node_drain(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    undo: Annotated[bool, typer.Option("--undo", help="Let it take new matches again.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until its matches are over.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Let a node take no new matches until it is restarted."""
    from arena.commands.nodes import drain

    drain(database_of(db, data), name, undo=undo, wait=wait)


@app.command("lost")
def node_lost(name: Annotated[str, typer.Argument(metavar="NAME")], db: Database = None, data: Data = None) -> None:
    """Void the matches of a node whose data folder is lost for good.

    The node is no longer listed.
    """
    from arena.commands.nodes import declare_lost

    declare_lost(database_of(db, data), name)

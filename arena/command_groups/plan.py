"""The command line of `arena plan`."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.command_groups.group import group
from arena.command_groups.options import Data, Database, Json, Preset, Sets, ToPlay, database_of
from protocol.errors import UsageFault

app = group("plan", "Plan tournaments of hosted bots.")


@app.command("add")
def plan_add(
    title: Annotated[str, typer.Argument(metavar="TITLE")],
    closes: Annotated[str, typer.Option(metavar="TIME", help="The deadline; later versions do not count.")],
    game: ToPlay = None,
    starts: Annotated[str | None, typer.Option(metavar="TIME", help="When it begins [at the deadline].")] = None,
    nightly: Annotated[bool, typer.Option("--nightly", help="Repeat it each day at these times.")] = False,
    bots: Annotated[
        list[str] | None, typer.Option("--bot", metavar="NAME", help="Only this hosted bot enters [all of the game].")
    ] = None,
    late: Annotated[
        bool, typer.Option("--late", help="Let bots enter that were handed in after the deadline, marked as late.")
    ] = False,
    online: Annotated[
        bool, typer.Option("--online", help="Only bots enter that are online when entries close.")
    ] = False,
    opponents: Annotated[
        list[str] | None, typer.Option("--with", metavar="BOT", help="A built-in bot enters too: random, x=alphabeta.")
    ] = None,
    preset: Preset = None,
    sets: Sets = None,
    form: Annotated[str, typer.Option("--format", help="round-robin, gauntlet or swiss.")] = "round-robin",
    rounds: Annotated[int, typer.Option(help="Rounds; in each, all meet once (swiss: one match each).")] = 1,
    paired: Annotated[bool, typer.Option("--paired", help="Play every start twice, with the seats swapped.")] = False,
    clock: Annotated[str, typer.Option("--clock", help="Seconds of a match + increment of a move.")] = "10+0.1",
    jobs: Annotated[int, typer.Option(help="Matches at a time on the server's machine.")] = 1,
    on_runners: Annotated[
        bool | None,
        typer.Option("--on-runners/--on-server", help="Who plays: runners, or the server [runners if there are any]."),
    ] = None,
    db: Database = None,
    data: Data = None,
) -> None:
    """Plan a tournament of hosted bots.

    A server that hosts bots plays it at its time, with the versions that were active at the deadline.
    """
    from arena.commands.brought_games import find_game
    from arena.commands.plans import PlanOptions, add
    from arena.commands.settings import data_folder
    from arena.store.planned import PlannedTerms

    if game is None:
        raise UsageFault("--game is missing: name the game of the tournament")
    where = database_of(db, data)
    options = PlanOptions(
        title=title,
        closes=closes,
        starts=starts,
        nightly=nightly,
        preset=preset,
        sets=sets or (),
        terms=PlannedTerms(
            game=find_game(game, where),
            format=form,
            rounds=rounds,
            paired=paired,
            clock=clock,
            bots=bots or [],
            late=late,
            online=online,
            opponents=opponents or [],
            jobs=jobs,
            on_runners=on_runners,
        ),
    )
    add(options, where, data_folder(data))


@app.command("list")
def plan_list(to_json: Json = False, db: Database = None, data: Data = None) -> None:
    """List the planned tournaments, and what became of them."""
    from arena.commands.plans import show

    show(database_of(db, data), to_json=to_json)


@app.command("show")
def plan_show(
    number: Annotated[int, typer.Argument(metavar="PLAN")],
    to_json: Json = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Show a planned tournament, and what was handed in for it.

    The table says which version of each bot enters, what failed its check, and what is late.
    """
    from arena.commands.plans import show_one

    show_one(number, database_of(db, data), to_json=to_json)


@app.command("remove")
def plan_remove(number: Annotated[int, typer.Argument(metavar="PLAN")], db: Database = None, data: Data = None) -> None:
    """Remove a planned tournament that waits, or stop one that is played.

    If one that waits is repeated each night, this ends the series. Matches
    of one that is stopped are kept.
    """
    from arena.commands.plans import remove

    remove(number, database_of(db, data))

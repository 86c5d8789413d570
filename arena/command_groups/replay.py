"""The command line of `arena replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.command_groups.group import group
from arena.command_groups.options import Data, Database, Game, Json, LuckBy, Target, database_of
from machine.output_file import text_to_stderr
from protocol.errors import UsageFault

app = group("replay", "Show, verify, grade and export match records.")


@app.command("show")
def replay_show(
    target: Target,
    boards: Annotated[bool, typer.Option("--boards", help="Show the board after every ply.")] = False,
    step: Annotated[bool, typer.Option("--step", help="Show board by board: Enter next, b back, q quit.")] = False,
    play: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Show board by board, each for this time.")
    ] = None,
    value: LuckBy = None,
    to_json: Json = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Print a match."""
    from arena.commands.replay import show

    show(target, database_of(db, data), boards=boards, to_json=to_json, step=step, play=play, value=value)


@app.command("verify")
def replay_verify(
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="[ID|FILE]...", help="latest: the newest; none given: all matches.")
    ] = None,
    digest: Annotated[
        str | None, typer.Option(metavar="HEX", help="Compare the record with this digest, from `end`.")
    ] = None,
    log: Annotated[
        str | None, typer.Option(metavar="URL|FILE", help="Compare with the log of an arena, or with a proof.")
    ] = None,
    key: Annotated[str | None, typer.Option(metavar="HEX", help="The public key that signs that log.")] = None,
    head: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The log's last head, which it must continue; updated."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail if a record can't be compared with anything, or can't be refereed.")
    ] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Verify matches: referee their records again.

    The digests are compared with the database, a given digest, or a log.
    """
    from arena.commands.record_checks import ExpectedDigest
    from arena.commands.replay import verify

    expected = ExpectedDigest(digest=digest, log=log, key=key, head=head)
    verify(targets or (), database_of(db, data), expected, strict=strict)


@app.command("grade")
def replay_grade(
    target: Annotated[str | None, typer.Argument(metavar="ID|FILE", help="A match; latest: the newest.")] = None,
    bot: Annotated[str | None, typer.Option(metavar="NAME", help="Grade this bot's moves by kind of position.")] = None,
    game: Game = None,
    limit: Annotated[int | None, typer.Option(help="With --bot: this many of its newest matches [20].")] = None,
    sims: Annotated[int | None, typer.Option(help="Simulations per move in games not solved [2000].")] = None,
    worst: Annotated[int | None, typer.Option(help="Only this many moves, those that gave away most.")] = None,
    value: LuckBy = None,
    to_json: Json = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Show what each move of a match gave away.

    With --bot: a bot's moves by kind of position.
    """
    from arena.commands.grade import grade, grade_bot

    if (target is None) == (bot is None):
        raise UsageFault("grade a match, by its ID or FILE, or the matches of a bot, by --bot NAME: one of them")
    if target is not None:
        if limit is not None or game is not None:
            raise UsageFault("--game and --limit are for --bot NAME")
        grade(target, database_of(db, data), to_json=to_json, value=value, sims=sims, worst=worst)
    elif bot is not None:
        grade_bot(database_of(db, data), bot, game, limit, to_json=to_json, sims=sims, worst=worst)


@app.command("rerun")
def replay_rerun(
    *,
    target: Annotated[str | None, typer.Argument(metavar="ID|FILE", help="A match; latest: the newest.")] = None,
    bot: Annotated[str, typer.Option(metavar="BOT", help="The new bot: FILE.py, FILE.py:CLASS or BOT:KEY=VALUE,…")],
    every: Annotated[
        str | None, typer.Option("--all", metavar="NAME", help="Replay all matches of this bot, in its seat.")
    ] = None,
    game: Game = None,
    won: Annotated[bool, typer.Option("--won", help="With --all: only those that it won.")] = False,
    lost: Annotated[bool, typer.Option("--lost", help="With --all: only those that it lost.")] = False,
    drawn: Annotated[bool, typer.Option("--drawn", help="With --all: only those that it drew.")] = False,
    tournament: Annotated[
        str | None, typer.Option(metavar="ID", help="With --all: only those of this tournament.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="With --all: this many of the newest.")] = None,
    seat: Annotated[
        str | None, typer.Option(metavar="N|NAME", help="The seat to take [of the same name, else the loser's].")
    ] = None,
    old: Annotated[str | None, typer.Option(metavar="BOT", help="The program of the bot that sat there.")] = None,
    opponent: Annotated[
        list[str] | None, typer.Option(metavar="NAME=BOT", help="The program of another bot of the match.")
    ] = None,
    stand_in: Annotated[
        str | None, typer.Option(metavar="BOT", help="Substitute for unknown programs [uct, alphabeta].")
    ] = None,
    continuations: Annotated[int, typer.Option(help="Continuations from the first difference.")] = 100,
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same continuations.")] = None,
    jobs: Annotated[int, typer.Option(help="Worker processes.")] = 1,
    value: LuckBy = None,
    to_json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the results to this file, or -.")
    ] = None,
    db: Database = None,
    data: Data = None,
) -> None:
    """Replay a match with a new bot in a seat.

    This shows where it first moves differently, and what that was worth.
    """
    from arena.commands.matches import Selection
    from arena.commands.rerun import RerunOptions, run

    with text_to_stderr(to_json):
        run(
            RerunOptions(
                database=database_of(db, data),
                target=target,
                bot=bot,
                selection=Selection(bot=every, game=game, won=won, lost=lost, drawn=drawn, tournament=tournament),
                limit=limit,
                seat=seat,
                old=old,
                opponents=opponent or (),
                stand_in=stand_in,
                continuations=continuations,
                seed=seed,
                jobs=jobs,
                value=value,
                to_json=to_json,
            )
        )


@app.command("export")
def replay_export(
    target: Target,
    to: Annotated[Path, typer.Option(metavar="FILE", help="The file: .jsonl, .jsonl.gz, .json or .html.")],
    db: Database = None,
    data: Data = None,
) -> None:
    """Write a match's record to a file."""
    from arena.commands.replay import export

    export(target, to, database_of(db, data))

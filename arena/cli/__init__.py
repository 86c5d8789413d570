"""The `arena` command: its words only. What a command does is in arena/commands, loaded when it is called."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.cli.admin import GROUPS, run_status, run_watch
from arena.cli.export import run_export, run_matches
from arena.cli.options import Csv, Data, Database, Json, database_of, group
from arena.cli.play import run_test, run_tournament
from arena.commands.settings import SETTINGS, Described
from machine import command_line
from protocol import VERSION

RENAMED = {
    "serve --away": "--reconnect-timeout",
    "serve --pace": "--max-matches-per-hour",
    "tournament --hello-within": "--connect-timeout",
}
"""Options that were called otherwise, with their commands."""

app = group("arena", "A networked referee for games between programs.")
replay_app = group("replay", "Show, verify, grade and export match records.")
for _group in (replay_app, *GROUPS):
    app.add_typer(_group)

Game = Annotated[str | None, typer.Option(help="Only this game.")]
LuckBy = Annotated[str | None, typer.Option("--value", metavar="NAME", help="What luck is measured by [the best].")]
Target = Annotated[str, typer.Argument(metavar="ID|FILE", help="A match; latest: the newest there is.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"bot-arena {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _serve(**given: Any) -> None:
    """Serve until stopped. Every option may also come as ARENA_… from the environment."""
    from arena.commands.config import settings
    from arena.commands.serve import run

    config = given.pop("config")
    run(settings({key: ",".join(value) if isinstance(value, list) else value for key, value in given.items()}, config))


def _option_of(name: str, described: Described) -> inspect.Parameter:
    """A setting of the server as an option of the command line, where it may be left out."""
    kind, setting = described
    option = typer.Option(*setting.flags, metavar=setting.metavar, help=setting.help)
    of: Any = list[str] if setting.many else kind
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[of | None, option]
    )


_config = inspect.Parameter(
    "config",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[Path | None, typer.Option(help="A TOML file with any of these.")],
)
_parameters = [*(_option_of(name, described) for name, described in SETTINGS.items()), _config]
_serve.__signature__ = inspect.Signature(_parameters)  # type: ignore[attr-defined]
_serve.__annotations__ = {parameter.name: parameter.annotation for parameter in _parameters}
app.command("serve")(_serve)


@app.command()
def web(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--web-port", help="The port to listen on; 0: any free one.")] = 8080,
    db: Database = None,
    data: Data = None,
) -> None:
    """Look at the data of a tournament, or of a server that does not run, in a browser."""
    from arena.commands.web import web as command

    command(database_of(db, data), host, port)


app.command("tournament")(run_tournament)
app.command("test")(run_test)


@app.command()
def doctor(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="What starts the bot.")],
    game: Annotated[str | None, typer.Option(help="The game to play, where the bot does not seek another.")] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="CASE", help="Only this case of the course.")] = None,
    log: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the bot's output goes.")] = None,
    to_json: Json = False,
) -> None:
    """Show how a bot copes with network faults; exit code 1 if it does not."""
    from arena.commands import doctor as doctors

    doctors.examine(command, game, only or (), log, to_json=to_json)


@app.command()
def leaderboard(
    game: Game = None,
    season: Annotated[str | None, typer.Option(metavar="NAME", help="That season's [the one that goes on].")] = None,
    to_json: Json = False,
    to_csv: Csv = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Who stands where, by mu - 3 sigma."""
    from arena.commands import leaderboard as command

    command.leaderboard(database_of(db, data), game, season, to_json=to_json, to_csv=to_csv)


app.command("status")(run_status)
app.command("watch")(run_watch)
app.command("matches")(run_matches)
app.command("export")(run_export)


@replay_app.command("show")
def replay_show(
    target: Target,
    boards: Annotated[bool, typer.Option("--boards", help="The board after every ply.")] = False,
    step: Annotated[bool, typer.Option("--step", help="Board by board: Enter next, b back, q quit.")] = False,
    play: Annotated[float | None, typer.Option(metavar="SECONDS", help="Board by board, each for so long.")] = None,
    value: LuckBy = None,
    to_json: Json = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Print a match."""
    from arena.commands.replay import show

    show(target, database_of(db, data), boards=boards, to_json=to_json, step=step, play=play, value=value)


@replay_app.command("verify")
def replay_verify(
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="[ID|FILE]...", help="latest: the newest; none: all there are.")
    ] = None,
    db: Database = None,
    data: Data = None,
) -> None:
    """Referee matches again from their records."""
    from arena.commands.replay import verify

    verify(targets or (), database_of(db, data))


@replay_app.command("grade")
def replay_grade(
    target: Annotated[str | None, typer.Argument(metavar="ID|FILE", help="A match; latest: the newest.")] = None,
    bot: Annotated[str | None, typer.Option(metavar="NAME", help="What this bot's moves cost, by position.")] = None,
    game: Game = None,
    limit: Annotated[int | None, typer.Option(help="Of a bot: so many of its newest matches [20].")] = None,
    sims: Annotated[int | None, typer.Option(help="Simulations a move where it is not solved [2000].")] = None,
    value: LuckBy = None,
    to_json: Json = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Tell what each move of a match gave away, or those of a bot by kind of position."""
    from arena.commands.grade import grade, grade_bot
    from protocol.errors import UsageFault

    if (target is None) == (bot is None):
        raise UsageFault("grade a match, by its ID or FILE, or the matches of a bot, by --bot NAME: one of them")
    if target is not None:
        if limit is not None or game is not None:
            raise UsageFault("--game and --limit are for --bot NAME")
        grade(target, database_of(db, data), to_json=to_json, value=value, sims=sims)
    elif bot is not None:
        grade_bot(database_of(db, data), bot, game, limit, to_json=to_json, sims=sims)


@replay_app.command("export")
def replay_export(
    target: Target,
    to: Annotated[Path, typer.Option(metavar="FILE", help="Its name ends in .jsonl, .jsonl.gz, .json or .html.")],
    db: Database = None,
    data: Data = None,
) -> None:
    """Write a match's record to a file."""
    from arena.commands.replay import export

    export(target, to, database_of(db, data))


def main() -> None:
    """Run the command."""
    command_line.run(app, "arena", renamed=RENAMED)

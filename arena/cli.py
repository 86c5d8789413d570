"""The options of the `arena` command line. The code of each command in arena/commands is loaded when it runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.command_groups import bot, db, replay
from arena.command_groups.group import group
from arena.command_groups.option_sets import option_of, parameters_of, with_options
from arena.command_groups.options import (
    BOTS,
    Csv,
    Data,
    Database,
    Game,
    Json,
    Sets,
    ToPlay,
    database_of,
)
from arena.commands.settings import SETTINGS, data_folder
from machine import command_line
from machine.output_file import text_to_stderr
from machine.terminal import say
from protocol import VERSION
from protocol.errors import UsageFault

RENAMED_OPTIONS = {
    "serve --away": "--reconnect-timeout",
    "serve --pace": "--max-matches-per-hour",
    "tournament --hello-within": "--connect-timeout",
}
"""Old names of options, by command and option, with the new ones."""

app = group("arena", "A networked referee for games between programs.")
match_app = group("match", "Decide which matches count, and mend their records.")
season_app = group("season", "Begin ratings anew.")
node_app = group("node", "Look after the servers that share a database.")
for _named in (replay.app, bot.app, match_app, season_app, db.app, node_app):
    app.add_typer(_named)


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"bot-arena {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


_SERVE_OPTIONS = {name: option_of(name, described) for name, described in SETTINGS.items()}
ConfigFile = Annotated[Path | None, typer.Option(help="A TOML file with any of these [ARENA_CONFIG_FILE].")]


def _join_lists(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options as settings: repeated ones become a list separated by commas."""
    return {key: ",".join(value) if isinstance(value, list) else value for key, value in words.items()}


@app.command()
@with_options(_SERVE_OPTIONS)
def serve(*, words: dict[str, Any], config: ConfigFile = None) -> None:
    """Serve until stopped. Every option may also come as ARENA_… from the environment."""
    from arena.commands.config import read_settings
    from arena.commands.serve import run
    from arena.commands.serve_nodes import run_nodes

    found = read_settings(_join_lists(words), config)
    (run if found.nodes == 1 else run_nodes)(found)


@app.command("config")
@with_options(_SERVE_OPTIONS)
def show_config(*, words: dict[str, Any], config: ConfigFile = None, to_json: Json = False) -> None:
    """What `arena serve` with the same options would go by, and where each setting is from."""
    from arena.commands.config import read_effective_settings, show
    from arena.commands.serve import check_references

    found = read_effective_settings(_join_lists(words), config)
    check_references(found.settings)
    show(found, to_json=to_json)


@app.command()
def web(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--web-port", help="The port to listen on; 0: any free one.")] = 8080,
    db: Database = None,
    data: Data = None,
) -> None:
    """Show the data of a tournament, even a running one, or of a stopped server, in a browser."""
    from arena.commands.web import web as command

    command(database_of(db, data), host, port)


def _tournament_options(
    *,
    clock: Annotated[str, typer.Option("--clock", help="Seconds and increment.")] = "10+0.1",
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same matches.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Workers, each with a match at a time.")] = None,
    dask: Annotated[str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler instead of --jobs.")] = None,
    in_process: Annotated[bool, typer.Option("--in-process", help="Bots of the library within the workers.")] = False,
    db: Database = None,
    data: Data = None,
    to_json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the results there, or -.")
    ] = None,
    pass_env: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A variable that bots get too.")] = None,
    sandbox: Annotated[str, typer.Option("--sandbox", help="Where your own bots run: none, users or bwrap.")] = "none",
    read: Annotated[
        list[Path] | None, typer.Option("--read", metavar="PATH", help="What bots may read in a sandbox.")
    ] = None,
    memory: Annotated[int, typer.Option(metavar="MIB", help="Memory of each process in a sandbox.")] = 2048,
) -> None:
    """Declare the options of every command that plays matches of local bots."""


@app.command()
@with_options(parameters_of(_tournament_options))
def tournament(
    *,
    bots: Annotated[list[str] | None, typer.Argument(metavar="BOT...", help=BOTS)] = None,
    entrants: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Who plays, too: CSV or TOML with name and command, or bot.")
    ] = None,
    game: ToPlay = None,
    sets: Sets = None,
    form: Annotated[str, typer.Option("--format", help="round-robin, gauntlet or swiss.")] = "round-robin",
    rounds: Annotated[int, typer.Option(help="How often everyone meets; of a swiss: the rounds.")] = 1,
    paired: Annotated[bool, typer.Option("--paired", help="Every start twice, with the seats swapped.")] = False,
    strict: Annotated[
        bool | None, typer.Option("--strict/--no-strict", help="Stop when a bot fails for good [of two bots only].")
    ] = None,
    connect_timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Connect timeout of a bot.")] = 180.0,
    raw: Annotated[bool, typer.Option("--raw", help="Rank by results as they are, luck and all.")] = False,
    at: Annotated[
        str | None, typer.Option(metavar="URL|FOLDER", help="Among the bots of a running server, by their names.")
    ] = None,
    operator_token: Annotated[
        str | None, typer.Option(envvar="ARENA_OPERATOR_TOKEN", help="Of the server at a URL.")
    ] = None,
    words: dict[str, Any],
) -> None:
    """Play a tournament of local bots, or what is missing of it."""
    given = locals() | words
    from arena.commands.name_list import read_entrants
    from arena.commands.tournament import run
    from arena.commands.tournament_options import TournamentOptions

    del given["words"], given["entrants"]
    if not bots and entrants is None:
        raise UsageFault("who plays? Name the bots, or a file of them with --entrants")
    given["bots"] = [*(bots or ()), *([] if entrants is None else read_entrants(entrants))]
    with text_to_stderr(words["to_json"]):
        run(TournamentOptions(**_convert_options(given)))


@app.command("try")
def try_bots(
    *,
    bots: Annotated[
        list[str], typer.Argument(metavar="BOT...", help="In seat order: NAME, FILE.py[:CLASS] or NAME=BOT.")
    ],
    game: ToPlay = None,
    preset: Annotated[str | None, typer.Option(metavar="NAME", help="A preset of the game.")] = None,
    sets: Sets = None,
    clock: Annotated[str, typer.Option("--clock", help="Seconds and increment.")] = "10+0.1",
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same dice.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Play again at every save of a bot's file.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show how it ended, and no board.")] = False,
    moves_per_second: Annotated[
        float | None, typer.Option(help="How fast it is shown [4; not at a terminal: as fast as it goes].")
    ] = None,
) -> None:
    """Play one match of bots in this process, and show it as it goes: without a server, and nothing is kept."""
    given = locals()
    from arena.commands.try_bots import TryOptions, run

    run(TryOptions(**{**given, "game": _require_game(game), "sets": sets or ()}))


@app.command("test")
@with_options(parameters_of(_tournament_options))
def sprt(
    *,
    bots: Annotated[list[str], typer.Argument(metavar="A B...", help=BOTS)],
    game: ToPlay = None,
    sets: Sets = None,
    h0: Annotated[float | None, typer.Option(help="Null hypothesis: A's advantage [0].")] = None,
    h1: Annotated[float | None, typer.Option(help="Alternative: A's advantage [0.02], a score above one half.")] = None,
    unit: Annotated[str, typer.Option(help="Of both: score, elo or nelo.")] = "score",
    alpha: Annotated[float, typer.Option(help="How often to be wrong where A is no better.")] = 0.05,
    beta: Annotated[float, typer.Option(help="How often to be wrong where it is.")] = 0.05,
    raw: Annotated[bool, typer.Option("--raw", help="Of results as they are, luck and all.")] = False,
    value: Annotated[str | None, typer.Option(help="What luck is measured by [the best there is].")] = None,
    pairs: Annotated[
        int | None, typer.Option(help="Exactly so many, whatever they show; --plan: to look at [50], 32 or more.")
    ] = None,
    most: Annotated[int | None, typer.Option(help="At most so many pairs [10000].")] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what the test will take, by other pairs than its own.")
    ] = False,
    pilot: Annotated[Path | None, typer.Option(metavar="FILE", help="Of a plan: pairs that --json wrote.")] = None,
    seats: Annotated[int | None, typer.Option(help="Seats of A, where more than two sit in a match [1].")] = None,
    words: dict[str, Any],
) -> None:
    """Play two bots in pairs of matches until it is clear whether A is better than B, or than each of several."""
    given = locals() | words
    from arena.commands.sprt import SprtOptions, run
    from arena.commands.sprt_plan import run_plan

    del given["words"]
    options = SprtOptions(**_convert_options(given), any_folder=words["data"] is None)
    with text_to_stderr(words["to_json"]):
        (run_plan if plan else run)(options)


@app.command(context_settings={"ignore_unknown_options": True})  # a count below 0 is no option
def llr(
    *,
    counts: Annotated[
        list[int], typer.Argument(metavar="COUNT...", help="Five, of pairs by their points; three, of losses to wins.")
    ],
    h0: Annotated[float | None, typer.Option(help="Null hypothesis: the first's advantage [0].")] = None,
    h1: Annotated[float | None, typer.Option(help="Alternative: the first's advantage [0.02].")] = None,
    unit: Annotated[str, typer.Option(help="Of both: score, elo or nelo.")] = "score",
    alpha: Annotated[float, typer.Option(help="How often to be wrong where the first is no better.")] = 0.05,
    beta: Annotated[float, typer.Option(help="How often to be wrong where it is.")] = 0.05,
    to_json: Json = False,
) -> None:
    """What counts of results say: the log likelihood ratio of two hypotheses, score and Elo, with no match at hand."""
    from arena.commands.llr import run

    run(counts, h0, h1, unit, alpha, beta, to_json=to_json)


def _convert_options(given: dict[str, Any]) -> dict[str, Any]:
    """Convert a command's arguments for its options class. Raise `UsageFault` if no game is named."""
    given["game"] = _require_game(given["game"])
    lists = {name: given[name] or () for name in ("sets", "pass_env", "read")}
    return {**given, **lists, "data": data_folder(given["data"])}


def _require_game(game: str | None) -> str:
    """Return the game, or raise `UsageFault` if none is named."""
    from protocol.games import NAMES

    if game is None:
        raise UsageFault(f"--game is missing: one of {', '.join(NAMES)}")
    return game


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
    people: Annotated[bool, typer.Option("--people", help="Where people play, with the bots they met.")] = False,
    to_json: Json = False,
    to_csv: Csv = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Who stands where: by mu - 3 sigma, or by what bots are paid."""
    from arena.commands import leaderboard as command

    command.leaderboard(database_of(db, data), game, season, people=people, to_json=to_json, to_csv=to_csv)


@app.command()
def status(
    watch: Annotated[bool, typer.Option("--watch", help="Redraw it every second, until Ctrl-C.")] = False,
    to_json: Json = False,
    data: Data = None,
) -> None:
    """What goes on at the running server: bots and their seeks, matches and clocks, what failed lately."""
    from arena.commands import status as command

    command.status(data_folder(data), watch=watch, to_json=to_json)


@app.command()
def drain(
    within: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop by then; what is under way goes on at the next start.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Begin matches again.")] = False,
    data: Data = None,
) -> None:
    """Have the running server begin no match any more, and stop when those under way are over."""
    from arena.commands import drain as command

    command.drain(data_folder(data), within, undo=undo)


@app.command()
def watch(
    match: Annotated[str | None, typer.Argument(metavar="[MATCH]", help="Its id [the newest].")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with the next match.")] = False,
    url: Annotated[str | None, typer.Option(help="An arena elsewhere [that of the data folder].")] = None,
    data: Data = None,
) -> None:
    """Show a match live, until it is over."""
    from arena.commands import watch as command

    command.watch(data_folder(data), url, match, follow=follow)


def _match_filter_options(
    *,
    bot: Annotated[str | None, typer.Option(metavar="NAME", help="Only this bot's.")] = None,
    opponent: Annotated[str | None, typer.Option(metavar="NAME", help="Only against this one.")] = None,
    game: Annotated[str | None, typer.Option(help="Only of this game.")] = None,
    won: Annotated[bool, typer.Option("--won", help="Only those that the bot won.")] = False,
    lost: Annotated[bool, typer.Option("--lost", help="Only those that it lost.")] = False,
    drawn: Annotated[bool, typer.Option("--drawn", help="Only those that it drew.")] = False,
    reason: Annotated[
        str | None, typer.Option(metavar="WORD", help="Only such as ended so, for the bot if one is named: timeout.")
    ] = None,
    since: Annotated[str | None, typer.Option(metavar="DATE", help="Only such as ended since: 2026-01-31.")] = None,
    until: Annotated[
        str | None, typer.Option(metavar="DATE", help="Only such as ended until then, or on that day.")
    ] = None,
    tournament: Annotated[str | None, typer.Option(metavar="ID", help="Only of this tournament.")] = None,
) -> None:
    """Declare the options that select matches, with the field names of `Selection`."""


@app.command()
@with_options(parameters_of(_match_filter_options))
def matches(
    *,
    words: dict[str, Any],
    limit: Annotated[int | None, typer.Option(help="How many [50; with --json or --csv all].")] = None,
    to_json: Json = False,
    to_csv: Csv = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """The matches played, newest first."""
    from arena.commands import matches as command

    command.matches(database_of(db, data), command.Selection(**words), limit, to_json=to_json, to_csv=to_csv)


@app.command()
@with_options(parameters_of(_match_filter_options))
def export(
    *,
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="A new folder.")],
    form: Annotated[str, typer.Option("--format", help="csv or parquet.")] = "csv",
    plies: Annotated[bool, typer.Option("--plies/--no-plies", help="Every move too, or only matches.")] = True,
    words: dict[str, Any],
    db: Database = None,
    data: Data = None,
) -> None:
    """Write matches, their seats and their plies as tables for pandas, polars or a spreadsheet."""
    from arena.commands import export as command
    from arena.commands.matches import Selection

    command.export(database_of(db, data), to, form, Selection(**words), plies=plies)


@node_app.command("list")
def node_list(db: Database = None, data: Data = None, json: Json = False) -> None:
    """Which there are, and what goes on there."""
    from arena.commands.nodes import show_nodes

    show_nodes(database_of(db, data), json=json)


@node_app.command("drain")
def node_drain(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    undo: Annotated[bool, typer.Option("--undo", help="Have it take new matches again.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Return when no match is under way there.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Have a node take no new matches, until it is started again."""
    from arena.commands.nodes import drain

    drain(database_of(db, data), name, undo=undo, wait=wait)


@node_app.command("lost")
def node_lost(name: Annotated[str, typer.Argument(metavar="NAME")], db: Database = None, data: Data = None) -> None:
    """Call off the matches of a node whose data folder is gone for good, and list it no more."""
    from arena.commands.nodes import declare_lost

    declare_lost(database_of(db, data), name)


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
    from arena.commands.ladder import annul

    annul(database_of(db, data), data_folder(data), ids or (), bot, since, undo=undo)


@match_app.command("restore")
def match_restore(
    ids: Annotated[list[str], typer.Argument(metavar="ID...")],
    backup: Annotated[Path, typer.Option("--from", metavar="BACKUP", help="A copy that `arena db backup` made.")],
    db: Database = None,
    data: Data = None,
) -> None:
    """Put records back that were removed or are damaged, from a backup."""
    from arena.commands.restore import restore

    restore(database_of(db, data), ids, backup)


@season_app.command("start")
def season_start(name: Annotated[str, typer.Argument(metavar="NAME")], db: Database = None, data: Data = None) -> None:
    """Begin ratings anew; earlier ladders, records and tokens stay."""
    from arena.commands.ladder import start_season

    start_season(database_of(db, data), data_folder(data), name)


@season_app.command("list")
def season_list(to_json: Json = False, db: Database = None, data: Data = None) -> None:
    """The seasons there were; the last one goes on."""
    from arena.commands.ladder import list_seasons

    list_seasons(database_of(db, data), to_json=to_json)


def main() -> None:
    """Run the command."""
    command_line.run(app, "arena", renamed=RENAMED_OPTIONS)

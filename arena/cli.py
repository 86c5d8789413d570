"""The options of the `arena` command line. The code of each command in arena/commands is loaded when it runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.command_groups import bot, db, game, match, node, plan, replay, season
from arena.command_groups.group import group
from arena.command_groups.option_sets import option_of, parameters_of, with_options
from arena.command_groups.options import (
    BOTS_HELP,
    Csv,
    Data,
    Database,
    Game,
    Json,
    Preset,
    Sets,
    ToPlay,
    database_of,
)
from arena.commands.settings import SETTING_GROUPS, SETTINGS, data_folder
from machine import command_line
from machine.help_groups import GroupedCommand
from machine.output_file import text_to_stderr
from machine.terminal import say
from protocol import VERSION
from protocol.errors import UsageFault

PLAYERS_HEADING = "Commands for players"
"""The heading over the commands for players in `arena --help`."""
DEVELOPERS_HEADING = "Commands for developers of bots"
"""The heading over the commands for developers of bots in `arena --help`."""
ORGANISERS_HEADING = "Commands for organisers of courses and tournaments"
"""The heading over the commands for organisers in `arena --help`."""
OPERATORS_HEADING = "Commands for operators of a server"
"""The heading over the commands for operators in `arena --help`."""

app = group(
    "arena",
    "A networked referee for games between programs.",
    (PLAYERS_HEADING, DEVELOPERS_HEADING, ORGANISERS_HEADING, OPERATORS_HEADING),
)
for _named, _users in (
    (replay.app, PLAYERS_HEADING),
    (game.app, DEVELOPERS_HEADING),
    (bot.app, ORGANISERS_HEADING),
    (plan.app, ORGANISERS_HEADING),
    (match.app, ORGANISERS_HEADING),
    (season.app, ORGANISERS_HEADING),
    (db.app, OPERATORS_HEADING),
    (node.app, OPERATORS_HEADING),
):
    app.add_typer(_named, rich_help_panel=_users)


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


_SERVE_OPTIONS = {name: option_of(name, SETTINGS[name]) for names in SETTING_GROUPS.values() for name in names}
"""The command-line options of `arena serve` and `arena config`, by the name of the setting."""
ConfigFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A TOML file with any of these settings [ARENA_CONFIG_FILE].")
]


def _join_lists(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as settings: the values of a repeated option are joined with commas."""
    return {key: ",".join(value) if isinstance(value, list) else value for key, value in words.items()}


@app.command(cls=GroupedCommand, rich_help_panel=OPERATORS_HEADING)
@with_options(_SERVE_OPTIONS)
def serve(*, words: dict[str, Any], config: ConfigFile = None) -> None:
    """Run a server until it is stopped.

    Every option may also be an environment variable, ARENA_…, or a key of the config file.
    """
    from arena.commands.config import read_settings
    from arena.commands.serve import run
    from arena.commands.serve_nodes import run_nodes

    found = read_settings(_join_lists(words), config)
    (run if found.nodes == 1 else run_nodes)(found)


@app.command("config", cls=GroupedCommand, rich_help_panel=OPERATORS_HEADING)
@with_options(_SERVE_OPTIONS)
def show_config(
    *,
    words: dict[str, Any],
    config: ConfigFile = None,
    can_start: Annotated[
        bool, typer.Option("--can-start", hidden=True, help="Also check that a server could start now.")
    ] = False,
    to_json: Json = False,
) -> None:
    """Print the settings of `arena serve`, and their sources."""
    from arena.commands.config import read_effective_settings, show
    from arena.commands.serve import check_references, check_start

    found = read_effective_settings(_join_lists(words), config)
    check_references(found.settings)
    if can_start:
        check_start(found.settings)
    show(found, to_json=to_json)


@app.command(rich_help_panel=ORGANISERS_HEADING)
def web(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--web-port", help="The port to listen on; 0: any free one.")] = 8080,
    db: Database = None,
    data: Data = None,
) -> None:
    """Browse a tournament, or the data of a stopped server.

    The tournament may still be running.
    """
    from arena.commands.web import web as command

    command(database_of(db, data), host, port)


def _tournament_options(
    *,
    clock: Annotated[str, typer.Option("--clock", help="Seconds of a match + increment of a move.")] = "10+0.1",
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same matches.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Workers, each of which plays a match at a time.")] = None,
    dask: Annotated[str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler instead of --jobs.")] = None,
    in_process: Annotated[
        bool, typer.Option("--in-process", help="Run bots of the library within the workers.")
    ] = False,
    db: Database = None,
    data: Data = None,
    to_json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the results to this file, or -.")
    ] = None,
    pass_env: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Pass this environment variable to the bots.")
    ] = None,
    sandbox: Annotated[str, typer.Option("--sandbox", help="Sandbox of your own bots: none, users or bwrap.")] = "none",
    sandbox_read: Annotated[
        list[Path] | None, typer.Option(metavar="PATH", help="A file or folder that bots in a sandbox may also read.")
    ] = None,
    memory: Annotated[int, typer.Option(metavar="MIB", help="Memory of each process in a sandbox.")] = 2048,
) -> None:
    """Declare the options of every command that plays matches of local bots."""


@app.command(rich_help_panel=ORGANISERS_HEADING)
@with_options(parameters_of(_tournament_options))
def tournament(
    *,
    bots: Annotated[list[str] | None, typer.Argument(metavar="BOT...", help=BOTS_HELP)] = None,
    entrants: Annotated[
        Path | None, typer.Option(metavar="FILE", help="More bots: CSV or TOML with name and command, or bot.")
    ] = None,
    game: ToPlay = None,
    preset: Preset = None,
    sets: Sets = None,
    form: Annotated[str, typer.Option("--format", help="round-robin, gauntlet or swiss.")] = "round-robin",
    rounds: Annotated[int, typer.Option(help="Rounds; in each, all meet once (swiss: one match each).")] = 1,
    paired: Annotated[bool, typer.Option("--paired", help="Play every start twice, with the seats swapped.")] = False,
    strict: Annotated[
        bool | None, typer.Option("--strict/--no-strict", help="Stop when a bot fails for good [only with two bots].")
    ] = None,
    connect_timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Time for a bot to connect.")] = 180.0,
    no_luck_adjustment: Annotated[
        bool, typer.Option("--no-luck-adjustment", help="Rank by plain results, without taking luck out.")
    ] = False,
    hosted: Annotated[
        bool, typer.Option("--hosted", help="Play among the hosted bots of an arena, in boxes on this machine.")
    ] = False,
    as_of: Annotated[
        str | None, typer.Option(metavar="TIME", help="With --hosted: the versions that were active then [now].")
    ] = None,
    hosted_bots: Annotated[
        list[str] | None, typer.Option("--bot", metavar="NAME", help="With --hosted: only this bot [all].")
    ] = None,
    late: Annotated[
        bool, typer.Option("--late", help="With --as-of: let bots enter that were handed in later, marked as late.")
    ] = False,
    on_runners: Annotated[
        bool, typer.Option("--on-runners", help="With --hosted: play on the runners of --server, not on this machine.")
    ] = False,
    server: Annotated[
        str | None, typer.Option(metavar="URL|FOLDER", help="Play among the bots connected to this running server.")
    ] = None,
    operator_token: Annotated[
        str | None, typer.Option(envvar="ARENA_OPERATOR_TOKEN", help="Operator token of the server at a URL.")
    ] = None,
    words: dict[str, Any],
) -> None:
    """Play a tournament of local bots, or the rest of it."""
    given = locals() | words
    from arena.commands.hosted_entrants import HostedOptions
    from arena.commands.name_list import read_entrants
    from arena.commands.tournament import run
    from arena.commands.tournament_options import TournamentOptions

    for name in ("words", "entrants", "as_of", "hosted_bots", "late"):
        del given[name]
    if not hosted and (as_of is not None or hosted_bots or late or on_runners):
        raise UsageFault("--as-of, --bot, --late and --on-runners are for hosted bots: add --hosted")
    given["hosted"] = HostedOptions(as_of=as_of, bots=hosted_bots or (), late=late) if hosted else None
    if not bots and entrants is None and not hosted:
        raise UsageFault("who plays? Name the bots, or a file of them with --entrants")
    given["bots"] = [*(bots or ()), *([] if entrants is None else read_entrants(entrants))]
    with text_to_stderr(words["to_json"]):
        run(TournamentOptions(**_convert_options(given)))


@app.command(rich_help_panel=ORGANISERS_HEADING)
def publish(
    tournament: Annotated[str, typer.Argument(metavar="ID", help="The tournament, as below its table.")],
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="Write the files to this new folder.")],
    names: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A CSV with a column name; its columns join the table.")
    ] = None,
    replays: Annotated[bool, typer.Option("--replays", help="Add a file for each match, which replays it.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Write the result of a tournament as a page and a CSV.

    The page is one HTML file that needs no server.
    """
    from arena.commands.publish import publish as command

    command(database_of(db, data), tournament, to, names, replays=replays)


@app.command("try", rich_help_panel=PLAYERS_HEADING)
def try_bots(
    *,
    bots: Annotated[
        list[str], typer.Argument(metavar="BOT...", help="In seat order: NAME, FILE.py[:CLASS] or NAME=BOT.")
    ],
    game: ToPlay = None,
    preset: Preset = None,
    sets: Sets = None,
    clock: Annotated[
        str | None, typer.Option(help="Seconds of a match + increment of a move [10+0.1; if a person plays 600+10].")
    ] = None,
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same dice.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Play again whenever a bot's file is saved.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show the result only, no boards.")] = False,
    moves_per_second: Annotated[
        float | None, typer.Option(help="Speed of the display [4 at a terminal, else unlimited].")
    ] = None,
) -> None:
    """Play and show one match, without a server; nothing is stored."""
    given = locals()
    from arena.commands.try_bots import TryOptions, run

    run(TryOptions(**{**given, "game": _require_option(game), "sets": sets or ()}))


@app.command("test", rich_help_panel=DEVELOPERS_HEADING)
@with_options(parameters_of(_tournament_options))
def sprt(
    *,
    bots: Annotated[list[str], typer.Argument(metavar="A B...", help=BOTS_HELP)],
    game: ToPlay = None,
    preset: Preset = None,
    sets: Sets = None,
    h0: Annotated[float | None, typer.Option(help="Null hypothesis: A's advantage [0].")] = None,
    h1: Annotated[float | None, typer.Option(help="Alternative hypothesis: A's advantage [0.02].")] = None,
    unit: Annotated[str, typer.Option(help="Unit of both hypotheses: score, elo or nelo.")] = "score",
    alpha: Annotated[float, typer.Option(help="Error rate if A is no better (h0 holds).")] = 0.05,
    beta: Annotated[float, typer.Option(help="Error rate if it is better (h1 holds).")] = 0.05,
    no_luck_adjustment: Annotated[
        bool, typer.Option("--no-luck-adjustment", help="Test plain results, without taking luck out.")
    ] = False,
    value: Annotated[str | None, typer.Option(help="Value function that measures luck [the best there is].")] = None,
    pairs: Annotated[
        int | None, typer.Option(help="Play exactly this many pairs; with --plan: in the pilot [50].")
    ] = None,
    max_pairs: Annotated[int | None, typer.Option(help="Stop after this many pairs [10000].")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Forecast the length of the test from pilot matches.")] = False,
    pilot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --plan: use the pairs of this --json file.")
    ] = None,
    seats: Annotated[int | None, typer.Option(help="Seats of A in games for more than two [1].")] = None,
    words: dict[str, Any],
) -> None:
    """Play pairs of matches until it is clear whether A is better.

    A is compared with B, or with each of several bots.
    """
    given = locals() | words
    from arena.commands.sprt import SprtOptions, run
    from arena.commands.sprt_plan import run_plan

    del given["words"]
    options = SprtOptions(**_convert_options(given), any_folder=words["data"] is None)
    with text_to_stderr(words["to_json"]):
        (run_plan if plan else run)(options)


@app.command(
    context_settings={"ignore_unknown_options": True}, rich_help_panel=DEVELOPERS_HEADING
)  # a count below 0 is no option
def llr(
    *,
    counts: Annotated[
        list[int], typer.Argument(metavar="COUNT...", help="Five counts of pairs by points, or losses, draws and wins.")
    ],
    h0: Annotated[float | None, typer.Option(help="Null hypothesis: the first bot's advantage [0].")] = None,
    h1: Annotated[float | None, typer.Option(help="Alternative hypothesis: the first bot's advantage [0.02].")] = None,
    unit: Annotated[str, typer.Option(help="Unit of both hypotheses: score, elo or nelo.")] = "score",
    alpha: Annotated[float, typer.Option(help="Error rate if the first is no better (h0 holds).")] = 0.05,
    beta: Annotated[float, typer.Option(help="Error rate if it is better (h1 holds).")] = 0.05,
    to_json: Json = False,
) -> None:
    """Compute the log likelihood ratio and Elo of counts of results."""
    from arena.commands.llr import run

    run(counts, h0, h1, unit, alpha, beta, to_json=to_json)


def _convert_options(given: dict[str, Any]) -> dict[str, Any]:
    """Return a command's arguments as keyword arguments of its options class. Raise `UsageFault` without a game."""
    from arena.commands.brought_games import find_game

    databases = [database_of(given["db"], given["data"])]
    if (server := given.get("server")) is not None and "://" not in server:
        databases.append(database_of(None, Path(server)))
    given["game"] = find_game(_require_option(given["game"]), *databases)
    lists = {name: given[name] or () for name in ("sets", "pass_env", "sandbox_read")}
    return {**given, **lists, "data": data_folder(given["data"])}


def _require_option(game: str | None) -> str:
    """Return the value of `--game`. Raise `UsageFault` without the option."""
    from protocol.games import offered_game_names

    if game is None:
        raise UsageFault(f"--game is missing: one of {', '.join(offered_game_names())}, or FILE.py")
    return game


@app.command(rich_help_panel=DEVELOPERS_HEADING)
def doctor(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="The command that starts the bot.")],
    game: Annotated[str | None, typer.Option(help="The game, or FILE.py, to play if the bot seeks none.")] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="CASE", help="Run only this case.")] = None,
    log: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the bot's output to this file.")] = None,
    to_json: Json = False,
) -> None:
    """Test how a bot copes with network faults.

    The exit code is 1 if it fails a case.
    """
    from arena.commands import doctor as doctors

    doctors.examine(command, game, only or (), log, to_json=to_json)


@app.command(rich_help_panel=PLAYERS_HEADING)
def leaderboard(
    game: Game = None,
    season: Annotated[str | None, typer.Option(metavar="NAME", help="The season [the current one].")] = None,
    people: Annotated[
        bool, typer.Option("--people", help="The leaderboards of people and the bots they played.")
    ] = False,
    to_json: Json = False,
    to_csv: Csv = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Print the leaderboards, by mu - 3 sigma or by mean payoff."""
    from arena.commands import leaderboard as command

    command.leaderboard(database_of(db, data), game, season, people=people, to_json=to_json, to_csv=to_csv)


@app.command(rich_help_panel=OPERATORS_HEADING)
def status(
    watch: Annotated[bool, typer.Option("--watch", help="Refresh every second until Ctrl-C.")] = False,
    bot: Annotated[
        str | None, typer.Option("--bot", metavar="NAME", help="Say why the seeks of this bot have not become matches.")
    ] = None,
    to_json: Json = False,
    data: Data = None,
) -> None:
    """Show the bots, seeks, matches and failures of a running server."""
    from arena.commands import status as command

    command.status(data_folder(data), bot, watch=watch, to_json=to_json)


@app.command(rich_help_panel=OPERATORS_HEADING)
def pairing(
    bot: Annotated[str, typer.Argument(metavar="BOT", help="The name of the bot.")],
    file: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="The pairing log; by default that of the data folder.")
    ] = None,
    data: Data = None,
) -> None:
    """Say when a bot was paired, and why it waited.

    The log is written by `arena serve --pairing-log`.
    """
    from arena.commands import pairing as command

    command.pairing(bot, file or command.log_file(data_folder(data)))


@app.command(rich_help_panel=OPERATORS_HEADING)
def drain(
    within: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Stop after this time; unfinished matches resume at the next start."),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Start matches again.")] = False,
    data: Data = None,
) -> None:
    """Let the running server finish its matches and stop.

    It starts no new matches meanwhile.
    """
    from arena.commands import drain as command

    command.drain(data_folder(data), within, undo=undo)


@app.command(rich_help_panel=OPERATORS_HEADING)
def runner(
    server: Annotated[str, typer.Option(envvar="ARENA_URL", metavar="URL", help="The arena, wss://host:port.")],
    slots: Annotated[int, typer.Option(help="The number of hosted bots that it runs at a time.")] = 8,
    memory: Annotated[int, typer.Option(metavar="MIB", help="Memory of each process of a hosted bot.")] = 1024,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file with the token of runners [ARENA_OPERATOR_TOKEN].")
    ] = None,
    client_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the hosted bots connect [the same as --server].")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where programs are built and cached [the cache folder].")
    ] = None,
    sandbox: Annotated[
        str, typer.Option(metavar="bwrap|none", help="none: run programs with this user's rights, not in boxes.")
    ] = "bwrap",
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler, on whose workers the runners are.")
    ] = None,
    runners: Annotated[int, typer.Option(help="The number of runners on the Dask cluster.")] = 1,
) -> None:
    """Check and run the hosted bots of an arena, each match in a box.

    The arena is started with `--hosting`. A runner needs no open port.
    """
    from arena.commands import runner as command

    token = command.find_token(token_file)
    if dask is None:
        command.runner(server, client_url, slots, memory, folder, token, sandbox)
    else:
        from arena.commands import cluster_runners

        cluster_runners.run(dask, runners, server, client_url, slots, memory, token, sandbox)


@app.command(rich_help_panel=PLAYERS_HEADING)
def watch(
    match: Annotated[str | None, typer.Argument(metavar="[MATCH]", help="The id of the match [the newest].")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Show the next match afterwards.")] = False,
    url: Annotated[str | None, typer.Option(help="The arena [that of the data folder].")] = None,
    data: Data = None,
) -> None:
    """Show a match live until it is over."""
    from arena.commands import watch as command

    command.watch(data_folder(data), url, match, follow=follow)


def _match_filter_options(
    *,
    bot: Annotated[str | None, typer.Option(metavar="NAME", help="Only matches of this bot.")] = None,
    opponent: Annotated[str | None, typer.Option(metavar="NAME", help="Only against this bot.")] = None,
    game: Annotated[str | None, typer.Option(help="Only matches of this game.")] = None,
    won: Annotated[bool, typer.Option("--won", help="Only matches that the bot won.")] = False,
    lost: Annotated[bool, typer.Option("--lost", help="Only matches that the bot lost.")] = False,
    drawn: Annotated[bool, typer.Option("--drawn", help="Only matches that the bot drew.")] = False,
    reason: Annotated[
        str | None, typer.Option(metavar="WORD", help="Only matches that ended for this reason, like timeout.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="DATE", help="Only matches that ended since this day, like 2026-01-31.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="DATE", help="Only matches that ended on or before this day.")
    ] = None,
    tournament: Annotated[str | None, typer.Option(metavar="ID", help="Only matches of this tournament.")] = None,
) -> None:
    """Declare the options that select matches, with the field names of `Selection`."""


@app.command(rich_help_panel=PLAYERS_HEADING)
@with_options(parameters_of(_match_filter_options))
def matches(
    *,
    words: dict[str, Any],
    limit: Annotated[int | None, typer.Option(help="Maximum matches [50; with --json or --csv all].")] = None,
    to_json: Json = False,
    to_csv: Csv = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """List the matches, newest first."""
    from arena.commands import matches as command

    command.matches(database_of(db, data), command.Selection(**words), limit, to_json=to_json, to_csv=to_csv)


@app.command(rich_help_panel=ORGANISERS_HEADING)
@with_options(parameters_of(_match_filter_options))
def export(
    *,
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="Write the tables to this new folder.")],
    form: Annotated[str, typer.Option("--format", help="csv or parquet.")] = "csv",
    plies: Annotated[bool, typer.Option("--plies/--no-plies", help="Export every move, or only the matches.")] = True,
    words: dict[str, Any],
    db: Database = None,
    data: Data = None,
) -> None:
    """Export matches, seats and plies as tables.

    pandas, polars and spreadsheets can read them.
    """
    from arena.commands import export as command
    from arena.commands.matches import Selection

    command.export(database_of(db, data), to, form, Selection(**words), plies=plies)


def main() -> None:
    """Run the command."""
    command_line.run(app, "arena")
